"""A long prompt that comes to the real engine while the visitor's own prompt is being answered: measured, or as kept.

The engine's policy is the one that it started with; usually that cuts long prompts into chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.account.record import Sampling
from lessons import catalogue
from lessons.playback import Playback
from views import engine_calls
from views.collision_scene import Outcome, measured, of_chunk, outcome
from views.engine_runs import EngineRuns, Trouble
from views.measuring import recorded_on
from views.words import _

DECODERS = 3
"""Copies of the visitor's prompt, each with a seed of its own."""
REPLY_TOKENS, BEFORE = 240, 16
"""New tokens of each, and how many it has when the long prompt comes."""
LONG_REPLY = 8
KEPT_CHUNK = 64
"""Of the kept playbacks, the one in chunks as the engine cuts them unless told otherwise."""


@dataclass(frozen=True)
class Collided:
    """What happened, and how it is known."""

    playback: Playback
    is_own: bool
    """Measured here, just now; otherwise the kept measurement."""
    how: str

    @property
    def outcome(self) -> Outcome:
        """Waits and gaps."""
        return outcome(self.playback)


def long_text() -> str:
    """The book that somebody pastes: the quiet day, three times over."""
    return " ".join([catalogue.prompt_text("@a-quiet-day").strip()] * 3)


def collide(prompt: str, tell: Callable[[float], None]) -> Collided:
    """Have the long prompt come while this one is being answered; `tell` gets the share done. Raises `Trouble`."""
    reply, short = (Sampling(max_new_tokens=n, ignore_eos=True) for n in (REPLY_TOKENS, LONG_REPLY))
    if problem := engine_calls.too_much(long_text(), reply, DECODERS + 1):
        raise Trouble(problem)
    with EngineRuns(tell) as runs:
        runs.begin_together(prompt, reply, DECODERS)
        runs.wait_for_tokens(BEFORE)
        runs.begin(long_text(), short)
        runs.wait()
        found = runs.playback(_("a long prompt comes"))
    if not _overlapped(found):
        raise Trouble(_("The replies were over before the long prompt had been read. Try it again."))
    how = _("Measured on this engine: {n} copies of your prompt, {tokens} new tokens each, and then the long prompt.")
    return Collided(found, is_own=True, how=how.format(n=DECODERS, tokens=REPLY_TOKENS))


def kept() -> Collided | None:
    """The kept measurement in chunks; None if there is none."""
    taken = measured()
    if taken is None:
        return None
    return Collided(of_chunk(taken.playbacks, KEPT_CHUNK), is_own=False, how=recorded_on(taken))


def own_results(found: Collided) -> dict[str, float | int | None]:
    """What prose and questions may use."""
    told = found.outcome
    return {
        "own_decoders": len(found.playback.arrivals) - 1,
        "own_prompt": list(found.playback.prompts.values())[-1],
        "own_chunk": found.playback.policy.chunk,
        "own_steps": told.n_prefills,
        "own_plain_gap": told.plain_gap_ns,
        "own_stall": told.stall_ns,
        "own_stall_ratio": told.stall_ns / told.plain_gap_ns,
        "own_ttft": told.ttft_ns,
    }


def _overlapped(one: Playback) -> bool:
    """Whether all decoders had two tokens before the long prompt came, and one left when it had been read."""
    *decoders, long = one.arrivals
    read = one.token_ns(long)
    each = [one.token_ns(ticket) for ticket in decoders]
    return bool(read) and all(len(at) > 1 and at[1] <= one.arrivals[long] and at[-1] > read[0] for at in each)
