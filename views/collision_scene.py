"""One long prompt among decoders, with and without chunks: simulated, or as it was measured; and what came of it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from engine.account.step_time import Work
from engine.loop.arrivals import Arrival
from engine.loop.policy import Policy
from engine.loop.simulator import Simulation
from lessons import playback
from lessons.playback import Measurement, Playback
from views.virtual_clock import Setup
from views.virtual_machines import clock_of, what_if_shape
from views.what_if_load import playback_of
from views.words import N_, _

CHUNKS = (64, 256, 1024, 4096)
"""Prompt tokens a step that the curve is drawn over, besides the whole prompt."""
SHORT_PROMPT, LONG_REPLY = 200, 8
SINCE = N_("ms since a few steps before the long prompt came")
BEFORE = 16
"""Tokens that the decoders have when the long prompt comes, about."""
MEASUREMENT = "collision"


class Chosen(msgspec.Struct, frozen=True):
    """What collides with what."""

    shape: str = "qwen27b"
    machine: str = "h100"
    prompt_tokens: int = 8192
    decoders: int = 4
    chunk: int = 512

    def setup(self, chunk: int | None) -> Setup:
        """The scene with prompts cut into chunks of so many tokens, or whole."""
        # Long enough that they still decode when the last of the smallest chunks has been read.
        reply = 2 * BEFORE + self.prompt_tokens // min(self.chunk, CHUNKS[0])
        decoders = [Arrival(0, SHORT_PROMPT, reply)] * self.decoders
        asked = [*decoders, Arrival(self._long_comes_ns(), self.prompt_tokens, LONG_REPLY)]
        budget = self.decoders * SHORT_PROMPT + self.prompt_tokens
        policy = Policy("continuous" if chunk is None else "decode_first", self.decoders + 1, budget, chunk)
        return Setup(self.shape, self.machine, policy, tuple(asked))

    def _long_comes_ns(self) -> int:
        clock = clock_of(what_if_shape(self.shape), self.machine)
        prefill = clock.ns([Work(SHORT_PROMPT, 0)] * self.decoders)
        return prefill + BEFORE * clock.ns([Work(1, SHORT_PROMPT)] * self.decoders)

    def setups(self) -> list[Setup]:
        """Whole, then every chunk size of the curve and the chosen one, ascending."""
        sizes = sorted({self.chunk, *(chunk for chunk in CHUNKS if chunk < self.prompt_tokens)})
        return [self.setup(chunk) for chunk in (None, *sizes)]


def played(setups: Sequence[Setup], simulations: Sequence[Simulation]) -> list[Playback]:
    """Each simulated scene as a playback."""
    return [
        playback_of(heading(setup.policy.chunk), setup.policy, one, setup.arrivals)
        for setup, one in zip(setups, simulations, strict=True)
    ]


def measured() -> Measurement | None:
    """The kept measurement of the real engine; None if there is none."""
    try:
        taken = playback.measurement(MEASUREMENT)
    except (OSError, msgspec.DecodeError):
        return None
    named = [msgspec.structs.replace(one, name=heading(one.policy.chunk)) for one in taken.playbacks]
    return msgspec.structs.replace(taken, playbacks=named)


def heading(chunk: int | None) -> str:
    """Over one scene's steps."""
    return _("the prompt taken whole") if chunk is None else _("in chunks of {n}").format(n=chunk)


def of_chunk(scenes: Sequence[Playback], chunk: int | None) -> Playback:
    """The scene with this chunk size; raises StopIteration where there is none."""
    return next(one for one in scenes if one.policy.chunk == chunk)


def close_up(one: Playback) -> Playback:
    """The steps around the collision: a few before the long prompt comes, to a few after it has been read."""
    gap = outcome(one).plain_gap_ns
    at = list(one.arrivals.values())[-1]
    return one.between(round(at - 5 * gap), round(at + outcome(one).ttft_ns + 5 * gap))


class Outcome(msgspec.Struct, frozen=True):
    """What a scene came to; nanoseconds."""

    chunk: int | None
    stall_ns: int
    """The longest that a decoder waited for its next token."""
    plain_gap_ns: float
    """The median gap of the decoders before the long prompt came."""
    ttft_ns: int
    """Until the long prompt's first token."""
    n_prefills: int
    """Steps that the long prompt took to be read."""


def outcome(one: Playback) -> Outcome:
    """Of a scene in which everybody got at least two tokens, the decoders two before the long prompt came."""
    *decoders, long = one.arrivals
    at = one.arrivals[long]
    gaps = [gap for ticket in decoders for gap in one.gaps_ns(ticket)]
    before = [
        later - earlier
        for ticket in decoders
        for tokens in [one.token_ns(ticket)]
        for earlier, later in pairwise(tokens)
        if later <= at
    ]
    wait = one.ttft_ns(long)
    assert wait is not None
    reads = sum(share.phase == "prefill" for _row, share in one.shares_of(long))
    return Outcome(one.policy.chunk, max(gaps), statistics.median(before), wait, reads)


def results(scenes: Sequence[Playback], chunk: int) -> dict[str, float | int | None]:
    """What prose and questions may use: the prompt whole against in chunks of this size."""
    whole, cut = outcome(of_chunk(scenes, None)), outcome(of_chunk(scenes, chunk))
    one = scenes[0]
    small = outcome(of_chunk(scenes, min(size for each in scenes if (size := each.policy.chunk))))
    return {
        "decoders": len(one.arrivals) - 1,
        "prompt": list(one.prompts.values())[-1],
        "chunk": chunk,
        "steps": cut.n_prefills,
        "plain_gap": whole.plain_gap_ns,
        "stall_whole": whole.stall_ns,
        "stall_chunk": cut.stall_ns,
        "stall_ratio": whole.stall_ns / cut.stall_ns,
        "lost": whole.stall_ns / whole.plain_gap_ns,
        "ttft_whole": whole.ttft_ns,
        "ttft_chunk": cut.ttft_ns,
        "ttft_ratio": cut.ttft_ns / whole.ttft_ns,
        "small": small.chunk,
        "small_steps": small.n_prefills,
        "small_stall": small.stall_ns,
        "small_ttft": small.ttft_ns,
        "small_ratio": small.ttft_ns / whole.ttft_ns,
    }
