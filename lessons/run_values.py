"""The names that a lesson may use, what kind of value each is, and their values for a given run.

`asked.*` is what was asked for, `run.*` what happened, `model.*` what ran; `other.*` is `run.*` of a lesson's second
run, and `check.<name>` a number that a check question gives. Every name of a run is in `KINDS`, and `values_of` gives
each; those that need no run are in `named_shapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from engine.account import cost
from engine.account.metrics import Timings, timings
from engine.account.record import ModelShape, Run
from lessons import named_shapes
from lessons.expressions import Value

KINDS: dict[str, str] = {
    "asked.prompt": "text",
    "asked.prompt_tokens": "count",
    "asked.new_tokens": "count",
    "run.passes": "count",
    "run.prefill_passes": "count",
    "run.decode_passes": "count",
    "run.prompt_tokens": "count",
    "run.new_tokens": "count",
    "run.first_new_token": "text",
    "run.last_new_token": "text",
    "run.positions_held": "count",
    "run.kv_bytes": "bytes",
    "run.queue": "time",
    "run.prefill": "time",
    "run.ttft": "time",
    "run.e2e": "time",
    "run.itl.n": "count",
    "run.itl.p50": "time",
    "run.itl.p95": "time",
    "run.tpot": "time",
    "run.prompt_tokens_per_s": "rate",
    "run.output_tokens_per_s": "rate",
    "model.name": "text",
    "model.layers": "count",
    "model.full_layers": "count",
    "model.linear_layers": "count",
    "model.parameters": "count",
    "model.weight_bytes": "bytes",
    "model.context_length": "count",
    "model.kv_bytes_per_position": "bytes",
    "model.state_bytes": "bytes",
    "model.window_bytes": "bytes",
    "model.crossover": "count",
}
"""Every fixed name and its kind; the kind says which filters fit."""


def values_of(run: Run) -> dict[str, Value]:
    """The value of every name in `KINDS` for a run; None for what it does not tell (yet)."""
    header = run.header
    asked: dict[str, Value] = {
        "asked.prompt": header.prompt,
        "asked.prompt_tokens": len(header.prompt_tokens),
        "asked.new_tokens": header.sampling.max_new_tokens,
    }
    return {**asked, **_run_values(run), **_timing_values(timings(run)), **_model_values(header.model)}


OTHER_KINDS: dict[str, str] = {
    **{name.replace("run.", "other.", 1): kind for name, kind in KINDS.items() if name.startswith("run.")},
    "other.same_tokens": "count",
}
"""The names of a second run, for lessons that have one; `same_tokens` of its text are the first run's as well."""


def other_values_of(run: Run | None, first: Run | None) -> dict[str, Value]:
    """The value of every name in `OTHER_KINDS`; None for each while there is no second run."""
    values = values_of(run) if run else {}
    values["other.same_tokens"] = _same_tokens(first, run) if first and run else None
    return {name: values.get(name, values.get(name.replace("other.", "run.", 1))) for name in OTHER_KINDS}


def _same_tokens(first: Run, second: Run) -> int:
    """With how many of the same tokens both texts begin."""
    pairs = zip(first.emissions, second.emissions, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].token.id == pair[1].token.id, pairs))


def kind_of(name: str, own_names: Mapping[str, str]) -> str | None:
    """The kind of a name, fixed or the lesson's own (`check.*`, an instrument's); None if there is no such name."""
    return KINDS.get(name) or named_shapes.KINDS.get(name) or own_names.get(name)


def _run_values(run: Run) -> dict[str, Value]:
    passes, emissions = run.passes, run.emissions
    return {
        "run.passes": len(passes),
        "run.prefill_passes": sum(one.phase == "prefill" for one in passes),
        "run.decode_passes": sum(one.phase == "decode" for one in passes),
        "run.prompt_tokens": len(run.header.prompt_tokens),
        "run.new_tokens": len(emissions),
        "run.first_new_token": emissions[0].token.text if emissions else None,
        "run.last_new_token": emissions[-1].token.text if emissions else None,
        "run.positions_held": passes[-1].positions_held if passes else None,
        "run.kv_bytes": passes[-1].kv_bytes_held if passes else None,
    }


def _timing_values(measured: Timings) -> dict[str, Value]:
    return {
        "run.queue": measured.queue_ns,
        "run.prefill": measured.prefill_ns,
        "run.ttft": measured.ttft_ns,
        "run.e2e": measured.e2e_ns,
        "run.itl.n": len(measured.itl_ns),
        "run.itl.p50": measured.itl_p50_ns,
        "run.itl.p95": measured.itl_p95_ns,
        "run.tpot": measured.tpot_ns,
        "run.prompt_tokens_per_s": measured.prompt_tokens_per_s,
        "run.output_tokens_per_s": measured.output_tokens_per_s,
    }


def _model_values(shape: ModelShape) -> dict[str, Value]:
    return {
        "model.name": shape.name,
        "model.layers": len(shape.layer_types),
        "model.full_layers": shape.layer_types.count("full_attention"),
        "model.linear_layers": shape.layer_types.count("linear_attention"),
        "model.parameters": shape.parameters,
        "model.weight_bytes": shape.weight_bytes,
        "model.context_length": shape.context_length,
        "model.kv_bytes_per_position": cost.kv_bytes_per_position(shape),
        "model.state_bytes": cost.recurrent_state_bytes(shape),
        "model.window_bytes": cost.window_bytes(shape),
        "model.crossover": cost.crossover_positions(shape),
    }
