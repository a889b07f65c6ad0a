"""Small runs for the flipbook's tests, built with the record's own types. The model's numbers are simple on purpose."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.account.record import (
    SCHEMA,
    Candidate,
    Device,
    Emission,
    End,
    Header,
    ModelShape,
    Pass,
    Queued,
    Run,
    Sampling,
    Token,
)
from tests.engine.builders import TINY

KV_BYTES = 1024
"""A token, over all attention layers."""
STATE_BYTES = 24 * 1024
MS = 1_000_000
LAYERS = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 2


def shape(layers: list[str] | None = None) -> ModelShape:
    return msgspec.structs.replace(
        TINY, name="small", layer_types=layers or LAYERS, vocab_size=1000, context_length=2048,
        parameters=1_000_000, weight_bytes=2_000_000,
    )  # fmt: skip


def token(text: str | bytes, number: int) -> Token:
    return Token.of(number, text.encode() if isinstance(text, str) else text)


def emission(chosen: Token, position: int) -> Emission:
    other = Token.of(999, b" other")
    candidates = [Candidate(chosen, 0.75, 0.75, 1.0), Candidate(other, 0.125, 0.125, 0.0)]
    return Emission(chosen, position, candidates, 0)


def run_of(
    prompt: list[str | bytes],
    new: list[str | bytes],
    *,
    reason: str = "length",
    layers: list[str] | None = None,
    prefill_ms: int = 8,
    decode_ms: int = 4,
) -> Run:
    """A greedy run: one prefill pass, then one decode pass for each new token but the last, back to back."""
    prompt_tokens = [token(text, 100 + i) for i, text in enumerate(prompt)]
    header = Header(
        index=0,
        run_id="ab" * 16,
        created="2026-03-05T10:00:00Z",
        evidence="measured",
        model=shape(layers),
        device=Device("cpu", "Test CPU", 2, "2.13.0", {}),
        prompt=b"".join(each.raw for each in prompt_tokens).decode(errors="replace"),
        prompt_tokens=prompt_tokens,
        sampling=Sampling(max_new_tokens=len(new)),
        engine_version="0.1.0",
    )
    events: list[Any] = [header, Queued(index=1, at_ns=0, ahead=0)]
    ids, position, now = [each.id for each in prompt_tokens], 0, MS
    for number, text in enumerate(new):
        end = now + (prefill_ms if number == 0 else decode_ms) * MS
        held = position + len(ids)
        chosen = token(text, 500 + number)
        events.append(
            Pass(
                index=len(events),
                number=number,
                phase="decode" if number else "prefill",
                token_ids=ids,
                start_position=position,
                shared_by=1,
                start_ns=now,
                end_ns=end,
                weight_bytes_read=1_900_000,
                kv_bytes_read=position * KV_BYTES,
                kv_bytes_written=len(ids) * KV_BYTES,
                state_bytes_read=STATE_BYTES,
                state_bytes_written=STATE_BYTES,
                operations=None,
                positions_held=held,
                kv_bytes_held=held * KV_BYTES,
                state_bytes_held=STATE_BYTES,
                window_bytes_held=512,
                emitted=[emission(chosen, held)],
            )
        )
        ids, position, now = [chosen.id], held, end
    events.append(End(index=len(events), reason=reason, at_ns=now))
    return Run(events)


def story(new: int = 10) -> Run:
    """Eight prompt tokens and some new ones."""
    prompt = ["Once", " upon", " a", " time", ",", " there", " was", " a"]
    return run_of(prompt, [f" w{i}" for i in range(new)])


def drafted(guesses: int = 4, right: int = 2) -> Run:
    """The story's first eleven tokens as usual; then one pass checks guesses, and a last one takes the token after."""
    new = [f" w{i}" for i in range(3 + right + 1 + 1)]
    run = run_of(["Once", " upon", " a", " time", ",", " there", " was", " a"], new)
    first, emitted = run.passes[3], [one.emitted[0] for one in run.passes[3 : 4 + right]]
    held = first.start_position + 1 + right
    ids = [*first.token_ids, *(one.token.id for one in emitted[:-1]), *([100] * (guesses - right))]
    checked = msgspec.structs.replace(
        first, token_ids=ids, emitted=emitted, drafted=guesses, accepted=right, positions_held=held,
        kv_bytes_held=held * KV_BYTES,
    )  # fmt: skip
    last = msgspec.structs.replace(run.passes[4 + right], index=checked.index + 1, number=4)
    end = msgspec.structs.replace(run.events[-1], index=last.index + 1)
    return Run([*run.events[: checked.index], checked, last, end])


def recomputed(new: int = 10) -> Run:
    """The story, every pass from the first token on and nothing kept."""
    run = story(new)
    events = [
        msgspec.structs.replace(
            one, token_ids=[1] * (8 + one.number), start_position=0, positions_held=0, kv_bytes_held=0,
            state_bytes_held=0, window_bytes_held=0,
        )
        if isinstance(one, Pass)
        else one
        for one in run.events
    ]  # fmt: skip
    return Run(events)


def saved(run: Run) -> dict[str, Any]:
    """The saved form as the component gets it."""
    return {"schema": SCHEMA, "events": msgspec.to_builtins(run.events)}
