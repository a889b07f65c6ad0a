r"""Who takes part in the next step, decided in plain Python: no tensors, no clock, no torch.

The scheduler keeps two lines of sequences, waiting and running. Each `plan()` lets in whom the policy and the memory
allow, and says which of the running ones take part in the next step and with how many tokens.

    add -> waiting --plan admits--> running --finish--> gone
              ^  \____________ cancel: leaves at the next plan _______/
              |_________________/
           memory ran out: the youngest gives its own back and is first in line again

Nobody starves: the line is served in order of arrival, only the youngest is ever preempted, and the oldest can always
take what the others hold. A policy chooses the order within a step (`engine.loop.policy`).

The engine may be reserved for a while. Whoever was there before is served as ever; then the lane's own requests run
with nobody beside them, and who arrives meanwhile is held until the reservation ends. So a request is passed over by
one reservation at most, the one that it arrived in.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable

import msgspec

from engine.account.record import Phase
from engine.account.step_record import Wait
from engine.loop.policy import Policy
from engine.loop.room import Plenty, Room
from engine.loop.sequence import Part, Sequence, StepPlan

FULL_BATCH = "as many run as may at once"
STATIC_BATCH = "a batch is under way, and nobody joins a static one"
NO_MEMORY = "too little memory is free for it"
BEHIND = "others are before it"
PROMPTS_FIRST = "prompts go first"
BUDGET = "the step is full"
RESERVED = "the engine is reserved for a timing experiment"
NOT_EMPTY = "it runs alone, and others still run"

MAX_LISTED = 32
"""Of a long queue a step row names so many and counts the rest: writing out all would take longer than planning."""


class BatchRow(msgspec.Struct, frozen=True):
    """One live request as anyone may see it: how far it is, not whose it is nor what it says."""

    phase: Phase | None
    """What the next step does for it; None while it waits."""
    prompt_tokens: int
    new_tokens: int
    max_new_tokens: int
    positions_held: int
    waiting_for: str | None = None
    """Why it waits, in words; None if it runs."""
    ticket: int = 0
    """Its number at the engine; its own record has it, too, so that its owner can find the row."""
    place: int | None = None
    """Its place in the queue, from 1; None if it runs."""
    expected_wait_ns: int | None = None
    """Estimated from the pace of `estimated_from` finished runs; None without a basis, or if it runs."""
    estimated_from: int | None = None


class Scheduler:
    """The two lines and the rules. Changed by one thread at a time; the engine holds a lock around every call."""

    def __init__(self, policy: Policy | None = None, room: Room | None = None) -> None:
        self.policy = policy or Policy()
        """May be replaced at any time; the next plan follows it."""
        self.room: Room = room or Plenty()
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._blocked: str | None = None
        """Why the first in line waits; None before a plan has looked."""
        self.reserved = False
        """Whether only the lane's own requests get in of those that arrive now."""

    def add(self, sequence: Sequence) -> int:
        """Put a sequence at the end of the line; returns how many requests are before it, running ones included."""
        sequence.held = self.reserved and not sequence.in_lane
        self._waiting.append(sequence)
        if self.reserved:
            return next(ahead for waiting, ahead in self.waiting() if waiting is sequence)
        return len(self._running) + len(self._waiting) - 1

    def reserve(self) -> None:
        """From now on, who arrives is held, but for the lane's own."""
        self.reserved = True

    def release(self) -> None:
        """The reservation is over: everybody is in line again, in order of arrival."""
        self.reserved = False
        for sequence in (*self._running, *self._waiting):
            # What is left of the lane has no claim on the next one.
            sequence.held = sequence.in_lane = False

    def plan(self) -> StepPlan:
        """The next step; without parts if there is nothing to compute. Takes the room that its parts need."""
        cancelled = self._drop_cancelled()
        admitted = self._admit()
        preempted: list[tuple[Sequence, int]] = []
        parts = self._fill(preempted)
        while self._running and not parts:
            # Those whom the policy would have served gave their memory up; the others need not wait for the next plan.
            parts = self._fill(preempted)
        return StepPlan(parts, cancelled, admitted, preempted, self._waits(parts), len(self._waiting))

    def finish(self, sequence: Sequence) -> None:
        """A running sequence has all its tokens, or has failed: its memory is free again."""
        self._running.remove(sequence)
        self.room.leave(sequence)

    @property
    def running(self) -> list[Sequence]:
        """Who takes part in steps now, oldest first."""
        return self._running

    @property
    def places(self) -> int:
        """How many may run at once, as things stand: fewer than the policy allows while memory is short."""
        short = self._blocked == NO_MEMORY and self._running
        return len(self._running) if short else self.policy.max_running

    def waiting(self) -> list[tuple[Sequence, int]]:
        """Who waits, in the order in which they get in, each with the number of requests before it."""
        before = len(self._running)
        # Sorting is stable: within each half the order of arrival stays.
        line = sorted(self._waiting, key=lambda sequence: sequence.held) if self.reserved else self._waiting
        return [(sequence, before + place) for place, sequence in enumerate(line)]

    def rows(self) -> list[BatchRow]:
        """The live table: running sequences, then waiting ones in order."""
        running = [_row(sequence, sequence.phase, None) for sequence in self._running]
        return running + [_row(sequence, None, self._reason(sequence, ahead)) for sequence, ahead in self.waiting()]

    def _admit(self) -> list[Sequence]:
        admitted: list[Sequence] = []
        joining_allowed = self.policy.name != "static" or not self._running
        self._blocked = None
        while (sequence := self._next_in_line()) is not None:
            self._blocked = STATIC_BATCH if not joining_allowed else self._hindrance(sequence)
            if self._blocked:
                break
            self._waiting.remove(sequence)
            self._running.append(sequence)
            admitted.append(sequence)
        return admitted

    def _next_in_line(self) -> Sequence | None:
        """The first that is not held back."""
        if not self.reserved:
            return self._waiting[0] if self._waiting else None
        return next((sequence for sequence in self._waiting if not sequence.held), None)

    def _hindrance(self, sequence: Sequence) -> str | None:
        """Why the next in line cannot join; None if it can, and then it has entered the memory."""
        if self.reserved and sequence.in_lane and not all(one.in_lane for one in self._running):
            return NOT_EMPTY
        if len(self._running) >= self.policy.max_running:
            return FULL_BATCH
        return None if self.room.enter(sequence) else NO_MEMORY

    def _fill(self, preempted: list[tuple[Sequence, int]]) -> list[Part]:
        """Go through the running sequences in the policy's order and give each what budget and memory allow."""
        budget = self.policy.token_budget
        order, prompt_budget = self._order()
        parts: list[Part] = []
        gone: set[Sequence] = set()
        for sequence in order:
            if sequence in gone:
                continue
            bound = min(budget, prompt_budget) if sequence.phase == "prefill" else budget
            wanted = _wanted(sequence, bound, first=not parts)
            if not wanted:
                continue
            if not self._take_room(sequence, wanted, parts, preempted, gone):
                continue
            parts.append(wanted)
            budget -= wanted.n_rows
            if wanted.phase == "prefill":
                prompt_budget -= wanted.n_rows
        return parts

    def _order(self) -> tuple[Iterable[Sequence], int]:
        """The sequences that this step may serve, in order, and the most prompt tokens that it may take in."""
        policy, running = self.policy, self._running
        decoding = [sequence for sequence in running if sequence.phase == "decode"]
        if len(decoding) in (0, len(running)):
            return running, policy.token_budget
        prefilling = [sequence for sequence in running if sequence.phase == "prefill"]
        if policy.name == "prefill_first":
            return prefilling, policy.token_budget
        if policy.name == "decode_first":
            return decoding + prefilling, policy.prompt_bound
        return running, policy.prompt_bound

    def _take_room(
        self, sequence: Sequence, part: Part, parts: list[Part], preempted: list[tuple[Sequence, int]],
        gone: set[Sequence],
    ) -> bool:  # fmt: skip
        """Take the memory of a part; the youngest sequences give theirs back until there is enough.

        False if the sequence itself was the youngest.
        """
        while not self.room.reserve(sequence, part.n_rows):
            victim = self._running.pop()
            self.room.leave(victim)
            gone.add(victim)
            preempted.append((victim, victim.n_held))
            victim.start_over()
            self._waiting.appendleft(victim)
            parts[:] = [one for one in parts if one.sequence is not victim]
            if victim is sequence:
                return False
        return True

    def _drop_cancelled(self) -> list[Sequence]:
        leaving = [sequence for sequence in (*self._running, *self._waiting) if sequence.cancelled]
        if leaving:
            self._running = [sequence for sequence in self._running if not sequence.cancelled]
            self._waiting = deque(sequence for sequence in self._waiting if not sequence.cancelled)
            for sequence in leaving:
                self.room.leave(sequence)
        return leaving

    def _waits(self, parts: list[Part]) -> list[Wait]:
        """Why whoever takes no part in the step does not."""
        waits: list[Wait] = []
        if len(parts) < len(self._running):
            served = {part.sequence for part in parts}
            reason = PROMPTS_FIRST if self.policy.name == "prefill_first" else BUDGET
            waits = [Wait(sequence.ticket, reason) for sequence in self._running if sequence not in served]
        blocked = self._blocked or BEHIND
        for sequence in itertools.islice(self._waiting, MAX_LISTED):
            waits.append(Wait(sequence.ticket, RESERVED if sequence.held else blocked))
            blocked = blocked if sequence.held else BEHIND
        return waits

    def _reason(self, sequence: Sequence, ahead: int) -> str:
        if sequence.held:
            return RESERVED
        return "the next step" if ahead < self.policy.max_running else f"{ahead} before it"


def _wanted(sequence: Sequence, bound: int, *, first: bool) -> Part | None:
    """What the next step would do for a sequence within `bound` tokens; None if that is nothing."""
    phase = sequence.phase
    known = len(sequence.tokens) - sequence.n_held
    if sequence.recomputes:
        # A whole prefix cannot be cut: nothing would be kept of its first half.
        return Part(sequence, known, phase) if known <= bound or first else None
    if bound < 1:
        return None
    if phase == "decode":
        return Part(sequence, known, phase, sequence.drafts[: bound - known])
    stop = next((at - sequence.n_held for at in sequence.checkpoint_at if at > sequence.n_held), known)
    return Part(sequence, min(known, bound, stop), phase)


def _row(sequence: Sequence, phase: Phase | None, reason: str | None) -> BatchRow:
    return BatchRow(
        phase, sequence.n_prompt, sequence.n_new, sequence.max_new_tokens, sequence.n_held, reason, sequence.ticket
    )
