"""The second, labelled pass: replay a finished run's tokens with instruments, and look inside.

The timed path stays free of hooks. The replay walks through the model's layers itself to read the clock between them,
and listens at the one operation that knows a head's decay and write strength. It runs in pieces, one pass each, so that
the engine can serve requests in between; its sequences own memory of their own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Generator
from typing import Any, Literal

import torch
from torch import Tensor

from engine.account.record import Error, Pass, Run, Token
from engine.account.trace_record import LayerGates, PassTimes, StateTrace, TraceRecord, pack, state_stride
from engine.loop.runner import Runner
from engine.memory.memory import Holding
from engine.model.batch import Batch, Span
from engine.model.model import Model
from kernels import dispatch
from kernels.reference import decay_and_write_strength

clock = time.perf_counter_ns


class TraceError(ValueError):
    """This run, layer or head cannot be traced; `code` for programs, `message` for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def trace_run(
    runner: Runner, token: Callable[[int], Token], run: Run, layer: int, head: int
) -> Generator[None, None, TraceRecord]:
    """Check what is asked, then return the replay as a generator: each `next` does one pass, the result is the trace.

    `layer` counts from 0 over the whole model and must be a Gated DeltaNet layer; `head` is one of its value heads.
    Raises `TraceError` at once: `run_not_finished`, `run_failed`, `nothing_to_trace`, `other_model`, `no_such_layer`,
    `no_such_head`.
    """
    _check(runner, run, layer, head)
    return _replay(runner, token, run, layer, head)


def _check(runner: Runner, run: Run, layer: int, head: int) -> None:
    config = runner.model.config
    if run.end is None:
        raise TraceError("run_not_finished", "The run has not ended yet. Trace it when it has.")
    if isinstance(run.end, Error):
        raise TraceError("run_failed", "The run failed, so there is nothing whole to look into.")
    if not run.passes:
        raise TraceError("nothing_to_trace", "The run was stopped before its first pass.")
    if run.header.model != runner.model.shape:
        raise TraceError(
            "other_model", f"The run was made with another model ({run.header.model.name}) than is loaded."
        )
    if not config.linear_layers:
        raise TraceError("no_such_layer", "Every layer of this model is full attention: it has no recurrent state.")
    if layer not in config.linear_layers:
        layers = ", ".join(map(str, config.linear_layers))
        raise TraceError("no_such_layer", f"Layer {layer} has no recurrent state. Gated DeltaNet layers are {layers}.")
    if not 0 <= head < config.linear_num_value_heads:
        last = config.linear_num_value_heads - 1
        raise TraceError("no_such_head", f"There is no head {head}: the heads of layer {layer} are 0 to {last}.")


def _replay(
    runner: Runner, token: Callable[[int], Token], run: Run, layer: int, head: int
) -> Generator[None, None, TraceRecord]:
    ids = _held_tokens(run)
    passes = yield from _time_layers(runner, run.passes, ids)
    gates, state = yield from _watch_tokens(runner, ids, layer, head)
    return TraceRecord(
        run_id=run.header.run_id,
        model=run.header.model.name,
        device=runner.device(drafts=False),
        layer_types=run.header.model.layer_types,
        tokens=[token(i) for i in ids],
        n_prompt=len(run.header.prompt_tokens),
        passes=passes,
        gates=gates,
        state=state,
    )


def _held_tokens(run: Run) -> list[int]:
    """All tokens that went through the model and counted: the prompt and every emitted one but the last."""
    prompt = [token.id for token in run.header.prompt_tokens]
    known = prompt + [emission.token.id for emission in run.emissions]
    return known[: max(one.start_position + len(one.token_ids) - one.drafted + one.accepted for one in run.passes)]


def _time_layers(runner: Runner, passes: list[Pass], ids: list[int]) -> Generator[None, None, list[PassTimes]]:
    """Replay pass by pass, as the run went, reading the clock at every layer. Rejected drafts are left out: they left
    nothing behind.
    """
    holding = runner.memory.open()
    try:
        times = []
        for one in passes:
            _bring_to(runner, holding, ids[: one.start_position])
            kept = ids[one.start_position :][: len(one.token_ids) - one.drafted + one.accepted]
            runner.memory.extend(holding, len(kept))
            times.append(_timed_pass(runner, one, kept, holding))
            yield
        return times
    finally:
        runner.memory.close(holding)


def _bring_to(runner: Runner, holding: Holding, ids: list[int]) -> None:
    """Untimed: have the holding hold just these tokens. It does already, unless the run began from a reused prefix,
    was preempted, or kept nothing between passes.
    """
    if holding.length == len(ids):
        return
    runner.memory.clear(holding)
    if ids:
        runner.memory.extend(holding, len(ids))
        runner.model.forward([Span(ids, 0, "prefill", holding, "none")], runner.memory)


@torch.inference_mode()
def _timed_pass(runner: Runner, one: Pass, token_ids: list[int], holding: Holding) -> PassTimes:
    model, memory = runner.model, runner.memory
    logits: Literal["last", "none"] = "last" if one.emitted else "none"
    batch = Batch.of([Span(token_ids, one.start_position, one.phase, holding, logits)]).on(model.device)
    instants = [_now(model)]
    x = model.embed(batch)
    rotary = model.rotary(batch)
    instants.append(_now(model))
    for block in model.layers:
        block.apply(x, batch, memory, rotary)
        instants.append(_now(model))
    model.logits(x, batch)
    instants.append(_now(model))
    embedding, *layers, head = [end - start for start, end in itertools.pairwise(instants)]
    return PassTimes(one.number, one.phase, len(token_ids), embedding, layers, head)


def _now(model: Model) -> int:
    """The clock, once all that was asked of the device is done."""
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)
    return clock()


def _watch_tokens(
    runner: Runner, ids: list[int], layer: int, head: int
) -> Generator[None, None, tuple[list[LayerGates], StateTrace]]:
    """Replay token by token, noting every DeltaNet head's gates and, after each token, one head's state."""
    memory, linear_layers = runner.memory, runner.model.config.linear_layers
    holding = memory.open()
    states = memory.slots.states[linear_layers.index(layer), holding.slot, head]
    stride = state_stride(len(ids), states.numel())
    kept = [i for i in range(len(ids)) if i % stride == 0 or i == len(ids) - 1]
    listener = _GateListener()
    frames: list[Tensor] = []
    try:
        for i, token_id in enumerate(ids):
            memory.extend(holding, 1)
            with dispatch.override(gated_delta_net=listener):
                runner.model.forward([Span([token_id], i, "decode", holding, "none")], memory)
            if i in kept[len(frames) : len(frames) + 1]:
                frames.append(states.clone())
            yield
    finally:
        memory.close(holding)
    return listener.gates(linear_layers), _state_trace(layer, head, stride, kept, torch.stack(frames))


class _GateListener:
    """Stands in for every DeltaNet layer's operation: notes decay and write strength, then has it computed as usual."""

    def __init__(self) -> None:
        self._operation = dispatch.table.gated_delta_net
        # A request that arrives during a traced pass must not record this stand-in as its kernel.
        self.__name__ = dispatch.in_use()["gated_delta_net"]
        self._heard: list[tuple[Tensor, Tensor]] = []

    def __call__(self, projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, *rest: Any) -> Any:
        b, a = projected[:, -2 * len(dt_bias) :].chunk(2, dim=1)
        log_decay, write_strength = decay_and_write_strength(a, b, decay_rate, dt_bias)
        self._heard.append((log_decay.exp().half(), write_strength.half()))
        return self._operation(projected, taps, decay_rate, dt_bias, *rest)

    def gates(self, linear_layers: tuple[int, ...]) -> list[LayerGates]:
        """What was heard, layer by layer: calls come in the order of the layers, over and over."""
        result = []
        for place, layer in enumerate(linear_layers):
            heard = self._heard[place :: len(linear_layers)]
            decay, strength = (torch.cat(column) for column in zip(*heard, strict=True))
            result.append(LayerGates(layer, decay.shape[1], _packed(decay), _packed(strength)))
        return result


def _state_trace(layer: int, head: int, stride: int, kept: list[int], frames: Tensor) -> StateTrace:
    """Frames [n, V, K] float32, each scaled to signed bytes by its own largest magnitude."""
    scales = frames.abs().amax(dim=(1, 2)) / 127
    whole = (frames / scales.clamp_min(1e-30)[:, None, None]).round().to(torch.int8)
    values, keys = frames.shape[1:]
    return StateTrace(layer, head, values, keys, stride, kept, scales.tolist(), _packed(whole))


def _packed(tensor: Tensor) -> str:
    return pack(tensor.cpu().contiguous().numpy().tobytes())
