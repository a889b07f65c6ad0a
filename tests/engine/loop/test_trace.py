"""The instrumented pass against transformers: the same gates and the same state, and nothing left behind."""

from __future__ import annotations

import base64
import threading

import msgspec
import numpy as np
import pytest
import torch
from transformers import Qwen3_5ForCausalLM

from engine import Engine, Request, SamplingParams
from engine.account import trace_record
from engine.account.record import End, Error, Run
from engine.loop.trace import TraceError
from kernels import dispatch

LAYER, HEAD = 2, 3


@pytest.fixture(scope="module")
def run(small_engine):
    return small_engine.run(Request("Once upon a time", SamplingParams(max_new_tokens=6, ignore_eos=True)))


@pytest.fixture(scope="module")
def trace(small_engine, run):
    return small_engine.trace(run, LAYER, HEAD)


@pytest.fixture(scope="module")
def oracle(small_model_folder, run):
    """Gates and one head's state after every token, from transformers in float32."""
    model = Qwen3_5ForCausalLM.from_pretrained(small_model_folder, dtype=torch.float32).eval()
    mixer = model.model.layers[LAYER].linear_attn
    heard: dict[str, list[torch.Tensor]] = {"a": [], "b": []}
    mixer.in_proj_a.register_forward_hook(lambda _m, _i, out: heard["a"].append(out[0]))
    mixer.in_proj_b.register_forward_hook(lambda _m, _i, out: heard["b"].append(out[0]))
    states, cache = [], None
    with torch.no_grad():
        for one in (i for p in run.passes for i in p.token_ids):
            cache = model(torch.tensor([[one]]), past_key_values=cache, use_cache=True).past_key_values
            states.append(cache.layers[LAYER].recurrent_states[0][0, HEAD].T.clone())
        a, b = torch.cat(heard["a"]), torch.cat(heard["b"])
        decay = torch.exp(-mixer.A_log.exp() * torch.nn.functional.softplus(a + mixer.dt_bias))
    return decay.numpy(), b.sigmoid().numpy(), torch.stack(states).numpy()


def halves(text, heads):
    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32).reshape(-1, heads)


def frames(state):
    raw = np.frombuffer(base64.b64decode(state.frames), dtype=np.int8).astype(np.float32)
    return raw.reshape(-1, state.values, state.keys) * np.array(state.scales, dtype=np.float32)[:, None, None]


def test_every_pass_is_timed_layer_by_layer(trace, run):
    assert [(p.number, p.phase, p.n_tokens) for p in trace.passes] == [
        (p.number, p.phase, len(p.token_ids)) for p in run.passes
    ]
    for one in trace.passes:
        assert len(one.layer_ns) == len(trace.layer_types) == 4
        assert min(one.embedding_ns, one.head_ns, *one.layer_ns) > 0


def test_decay_and_write_strength_are_those_of_transformers(trace, oracle):
    decay, strength, _ = oracle
    gates = next(g for g in trace.gates if g.layer == LAYER)
    assert halves(gates.decay, gates.heads) == pytest.approx(decay, abs=5e-3)
    assert halves(gates.write_strength, gates.heads) == pytest.approx(strength, abs=5e-3)
    assert [g.layer for g in trace.gates] == [0, 1, 2]


def test_the_state_after_every_token_is_that_of_transformers(trace, oracle):
    _, _, states = oracle
    shown = frames(trace.state)
    assert shown.shape == states.shape
    assert trace.state.token_indices == list(range(len(states)))
    largest = np.abs(states).max(axis=(1, 2))
    error = np.abs(shown - states).max(axis=(1, 2))
    # Half a step of the signed byte, and what bf16 in the KV cache of other layers may move.
    assert (error <= largest * (0.5 / 127 + 0.01)).all()


def test_the_tokens_are_those_that_went_in_and_the_label_says_instrumented(trace, run):
    assert [t.id for t in trace.tokens] == [i for p in run.passes for i in p.token_ids]
    assert trace.n_prompt == len(run.header.prompt_tokens)
    assert (trace.evidence, trace.schema) == ("instrumented", "twospeeds.trace/1")
    assert msgspec.json.decode(msgspec.json.encode(trace), type=trace_record.TraceRecord) == trace


def test_nothing_is_left_behind_and_the_next_run_is_the_same(small_engine, run, trace):
    runner = small_engine._runner
    assert list(runner.memory.holdings) == []
    runner.memory.check_integrity()
    assert set(dispatch.in_use().values()) == set(run.header.device.kernels.values())
    again = small_engine.run(Request("Once upon a time", SamplingParams(max_new_tokens=6, ignore_eos=True)))
    assert [e.token for e in again.emissions] == [e.token for e in run.emissions]


def test_a_long_trace_keeps_every_nth_state_and_the_last_one(small_engine, run, monkeypatch):
    monkeypatch.setattr(trace_record, "MAX_STATE_BYTES", 5 * 8 * 16)
    state = small_engine.trace(run, LAYER, HEAD).state
    assert state.stride == 6
    assert state.token_indices == [0, 6, 12, 18, 20]
    assert len(base64.b64decode(state.frames)) == 5 * 8 * 16


@pytest.mark.parametrize("n_tokens", [1, 2, 100, 2047, 50_000])
def test_state_frames_never_exceed_their_bound(n_tokens):
    for frame_bytes in (64, 4096, 16_384):
        stride = trace_record.state_stride(n_tokens, frame_bytes)
        kept = -(-n_tokens // stride) + 1
        assert kept * frame_bytes <= trace_record.MAX_STATE_BYTES


def refusal(engine, run, layer=LAYER, head=HEAD):
    with pytest.raises(TraceError) as caught:
        engine.trace(run, layer, head)
    return caught.value


def test_what_cannot_be_traced_is_said_plainly(small_engine, run):
    assert refusal(small_engine, run, layer=3).code == "no_such_layer"
    assert "0, 1, 2" in refusal(small_engine, run, layer=-1).message
    assert refusal(small_engine, run, head=4).code == "no_such_head"
    assert refusal(small_engine, Run(run.events[:-1])).code == "run_not_finished"
    assert refusal(small_engine, Run([*run.events[:2], End(2, "cancelled", 0)])).code == "nothing_to_trace"
    assert refusal(small_engine, Run([*run.events[:2], Error(2, "engine_failed", "x")])).code == "run_failed"
    other = msgspec.structs.replace(run.header, model=msgspec.structs.replace(run.header.model, name="other"))
    assert refusal(small_engine, Run([other, *run.events[1:]])).code == "other_model"


def test_a_trace_waits_for_requests_and_lets_those_in_that_come_meanwhile(small_model_folder, run):
    with Engine.load(small_model_folder, threads=1) as engine:
        engine.start()
        traces = []
        threads = [
            threading.Thread(target=lambda: traces.append(engine.trace(run, LAYER, HEAD).state)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        logs = [engine.submit(Request("x", SamplingParams(max_new_tokens=20, ignore_eos=True))) for _ in range(3)]
        assert all(log.wait(30) for log in logs)
        for thread in threads:
            thread.join(30)
        assert len(traces) == 2
        assert traces[0] == traces[1]
        assert all(len(log.run.passes) == 20 for log in logs)
        engine._runner.memory.check_integrity()


def test_closing_the_engine_gives_up_a_trace_that_waits(small_model_folder, run):
    from engine.loop.idle import EngineClosed

    engine = Engine.load(small_model_folder, threads=1)
    engine.close()
    with pytest.raises(EngineClosed):
        engine.trace(run, LAYER, HEAD)
