"""Story-shaped runs that were served in another way: recomputed at every step, with drafts, or in fewer bits."""

from __future__ import annotations

import msgspec

from engine.account.record import Emission, Event, Pass, Run, Serving, WeightFormat
from tests.lessons.story_run import DECODE_NS, REPLY, story_run

STEP_MORE_NS = 500_000
"""How much longer each recomputed pass takes than the one before."""


def served(run: Run, serving: Serving, events: list[Event]) -> Run:
    """The run's header with another serving, and other events after the queue."""
    header = msgspec.structs.replace(run.header, serving=serving)
    return Run([header, run.events[1], *events])


def recomputed_run(reply: list[str] = REPLY) -> Run:
    """The same tokens, every pass from the first token on, each a little longer than the one before."""
    run = story_run(reply=reply)
    n_prompt, start = len(run.header.prompt_tokens), run.passes[0].start_ns
    events: list[Event] = []
    for number, one in enumerate(run.passes):
        end = start + DECODE_NS * 3 + number * STEP_MORE_NS
        ids = [1] * (n_prompt + number)
        events.append(
            msgspec.structs.replace(
                one, token_ids=ids, start_position=0, start_ns=start, end_ns=end, positions_held=0, kv_bytes_held=0,
                state_bytes_held=0, window_bytes_held=0,
            )
        )  # fmt: skip
        start = end
    return served(run, Serving(cache="recomputed"), [*events, run.events[-1]])


def rounded_run(reply: list[str], weights: WeightFormat = "int4") -> Run:
    """The story as a variant of the model with fewer bits tells it."""
    run = story_run(reply=reply)
    model = msgspec.structs.replace(
        run.header.model, name=f"story:{weights}", weight_dtype="int4/64", weight_bytes=4_531_392
    )
    asked = story_run().header.sampling
    header = msgspec.structs.replace(run.header, model=model, serving=Serving(weights=weights), sampling=asked)
    return Run([header, *run.events[1:]])


def drafted_run(shape: list[tuple[int, int]], reply: list[str] = REPLY, pass_ns: int = DECODE_NS) -> Run:
    """A prefill, then a decode for each (drafted, accepted); each emits one more token than it accepted.

    The reply must have as many tokens as that makes.
    """
    run = story_run(reply=reply)
    prefill, emissions = run.passes[0], run.emissions
    assert 1 + sum(accepted + 1 for _, accepted in shape) == len(reply)
    events: list[Event] = [prefill]
    start, done = prefill.end_ns, 1
    for number, (drafted, accepted) in enumerate(shape, 1):
        out = emissions[done : done + accepted + 1]
        events.append(_checked(run.passes[1], number, start, pass_ns, drafted, accepted, out))
        start, done = start + pass_ns, done + accepted + 1
    end = msgspec.structs.replace(run.events[-1], index=len(events) + 2, at_ns=start)
    return served(run, Serving(drafts="prompt_lookup"), [*events, end])


def _checked(
    like: Pass, number: int, start: int, length: int, drafted: int, accepted: int, out: list[Emission]
) -> Pass:
    first = out[0].position - 1
    return msgspec.structs.replace(
        like, index=number + 2, number=number, token_ids=[1] * (1 + drafted), start_position=first, start_ns=start,
        end_ns=start + length, positions_held=first + 1 + accepted, emitted=out, drafted=drafted, accepted=accepted,
    )  # fmt: skip
