"""The second runner: the same scheduler on a virtual clock.

Nothing is computed. A step takes as long as a cost model says (`engine.account.step_time`), memory is counted, tokens
are numbers of tokens; who runs when is decided by the very `Scheduler` that the real engine uses. So a laptop plays out
a 27B model on eight H100s, and what it predicts for the laptop itself can be checked (`engine.loop.calibrate`).

    arrivals -> [ scheduler -> step -> records ] -> runs, step rows
                  one machine, or two with a link between them:
                  prefill -> transfer of KV pages and state -> decode

With two machines (Splitwise, arXiv 2311.18677; DistServe, arXiv 2401.09670) the first computes prompts and gives the
first token. Then the sequence waits until the second has room for all of it, its memory travels over the link, one
sequence at a time, and is free on the first when it has arrived.

Deterministic: the same arrivals give the same records, to the last byte.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial

import msgspec

from engine.account.cost import Rates
from engine.account.metrics import Timings, timings
from engine.account.presets import Link
from engine.account.record import Device, ModelShape, Run, Serving
from engine.account.step_record import Share, StepRow
from engine.account.step_time import StepClock, Work
from engine.loop.arrivals import Arrival
from engine.loop.counted_room import CountedRoom
from engine.loop.policy import Policy
from engine.loop.scheduler import Scheduler
from engine.loop.sequence import Sequence, StepPlan
from engine.loop.simulated_record import SimulatedRun

TOKEN = -1
"""Stands for any token."""
KEPT = Serving()


@dataclass(frozen=True)
class Machine:
    """One engine to be simulated: how long its steps take, what it holds, how it plans."""

    clock: StepClock
    room: CountedRoom
    policy: Policy = field(default_factory=Policy)


class Transfer(msgspec.Struct, frozen=True, gc=False):
    """A sequence's memory on its way from the first machine to the second; nanoseconds on the virtual clock."""

    ticket: int
    ready_ns: int
    """The prompt was computed."""
    start_ns: int
    """The second machine had room and the link was free."""
    end_ns: int
    n_bytes: int
    """Keys and values of the positions held, recurrent state and windows."""


@dataclass
class Simulation:
    """What happened."""

    runs: list[Run]
    """In order of arrival."""
    rows: list[StepRow]
    """Steps of the machine, or of the first of two."""
    decode_rows: list[StepRow]
    """Steps of the second machine."""
    transfers: list[Transfer]

    @property
    def end_ns(self) -> int:
        """When the last step ended."""
        return max((rows[-1].end_ns for rows in (self.rows, self.decode_rows) if rows), default=0)

    @cached_property
    def timings(self) -> list[Timings]:
        """Of each run, in their order."""
        return [timings(run) for run in self.runs]


class _Pool:
    """One machine at work: its scheduler, and the step under way."""

    def __init__(self, machine: Machine) -> None:
        self.clock = machine.clock
        self.room = machine.room
        self.scheduler = Scheduler(machine.policy, machine.room)
        self.rows: list[StepRow] = []
        self.busy = False


class Simulator:
    """Plays arrivals out, once: its rooms are used up. `decode` and `link` make two machines of it; both or neither."""

    def __init__(
        self, shape: ModelShape, machine: Machine, *, decode: Machine | None = None, link: Link | None = None,
        serving: Serving = KEPT,
    ) -> None:  # fmt: skip
        if (decode is None) != (link is None):
            raise ValueError("Two machines need a link between them, and a link needs two machines.")
        if decode is not None and serving.cache == "recomputed":
            raise ValueError("Without a cache there is nothing to hand from one machine to another.")
        if serving.drafts != "none" or serving.reuse_prefix:
            raise ValueError("Drafts and prefixes depend on what the tokens are; a simulation does not know it.")
        self._shape = shape
        self._rates = Rates.of(shape)
        self._serving = serving
        self._first = _Pool(machine)
        self._second = _Pool(decode) if decode is not None else None
        machine.room.whole_prompts = decode is not None
        self._link = link
        self._device = _device(machine, decode, link)
        self._agenda: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = itertools.count()
        self._runs: list[SimulatedRun] = []
        self._to_hand_over: deque[tuple[Sequence, int]] = deque()
        self._link_free_ns = 0
        self._transfers: list[Transfer] = []

    def run(self, arrivals: Iterable[Arrival]) -> Simulation:
        """Serve all of them to their end."""
        for ticket, arrival in enumerate(sorted(arrivals, key=lambda one: one.at_ns), start=1):
            self._at(arrival.at_ns, partial(self._arrive, ticket, arrival))
        while self._agenda:
            now = self._agenda[0][0]
            # Everything of this instant before anybody plans, so that no order of events decides who shares a step.
            while self._agenda and self._agenda[0][0] == now:
                heapq.heappop(self._agenda)[2](now)
            self._hand_over(now)
            for pool in (self._first, self._second):
                if pool is not None and not pool.busy:
                    self._start_step(pool, now)
        decode_rows = self._second.rows if self._second is not None else []
        return Simulation([one.run for one in self._runs], self._first.rows, decode_rows, self._transfers)

    def _at(self, at_ns: int, action: Callable[[int], None]) -> None:
        heapq.heappush(self._agenda, (at_ns, next(self._order), action))

    def _arrive(self, ticket: int, arrival: Arrival, _now: int) -> None:
        sequence = Sequence(
            f"simulated-{ticket}", [TOKEN] * arrival.n_prompt, arrival.n_prompt, arrival.n_new,
            serving=self._serving, ticket=ticket,
        )  # fmt: skip
        run = SimulatedRun(ticket, arrival, self._shape, self._rates, self._device, sequence)
        self._runs.append(run)
        refusal = self._refusal(arrival)
        if refusal:
            run.refused(refusal)
        else:
            run.queued(arrival.at_ns, self._first.scheduler.add(sequence))

    def _refusal(self, arrival: Arrival) -> str | None:
        """Why a request can never be served, in words; None if it can."""
        _, n_prompt, n_new = arrival
        context = self._shape.context_length
        if n_prompt < 1 or n_new < 1:
            return "A request has a prompt token and a new token at least."
        if n_prompt + n_new > context:
            return f"{n_prompt:,} prompt and {n_new:,} new tokens are more than the context's {context:,}."
        # The newest token is never fed back, and the first of two machines holds the prompt only.
        held = n_prompt + n_new - 1
        to_hold = [(self._first, held)] if self._second is None else [(self._first, n_prompt), (self._second, held)]
        for pool, positions in to_hold:
            if not pool.room.holds(positions):
                return f"The KV cache of {positions:,} positions does not fit into the memory beside the weights."
        return None

    def _start_step(self, pool: _Pool, now: int) -> None:
        plan = pool.scheduler.plan()
        for sequence in plan.admitted:
            # As the engine does: it tells something only of a request that comes back.
            if sequence.n_refill > sequence.n_prompt:
                self._run_of(sequence).admitted(now)
        for sequence, positions in plan.preempted:
            self._run_of(sequence).preempted(now, positions)
        if plan.parts:
            pool.busy = True
            works = [Work(part.n_tokens, part.start, part.n_logits) for part in plan.parts]
            self._at(now + pool.clock.ns(works), partial(self._end_step, pool, plan, works, now))

    def _end_step(self, pool: _Pool, plan: StepPlan, works: list[Work], start: int, end: int) -> None:
        pool.busy = False
        for part in plan.parts:
            if part.sequence.recomputes:
                pool.room.clear(part.sequence)
        pool.rows.append(_row(len(pool.rows), plan, works, start, end, pool.room))
        weight_bytes = self._rates.weight_bytes(sum(one.n_tokens for one in works), sum(one.n_logits for one in works))
        for part, work in zip(plan.parts, works, strict=True):
            sequence = part.sequence
            self._run_of(sequence).passed(part, work, start, end, len(works), weight_bytes)
            sequence.advance(work.n_tokens, (TOKEN,) if work.n_logits else ())
            if not work.n_logits:
                continue
            if sequence.n_new >= sequence.max_new_tokens:
                pool.scheduler.finish(sequence)
                self._run_of(sequence).ended(end)
            elif pool is self._first and self._second is not None:
                pool.room.hand_over(sequence)
                pool.scheduler.finish(sequence)
                self._to_hand_over.append((sequence, end))

    def _hand_over(self, now: int) -> None:
        """Send whoever waits for the second machine, in order, as far as it has room."""
        while self._second is not None and self._to_hand_over and self._second.room.expect(self._to_hand_over[0][0]):
            assert self._link is not None
            sequence, ready = self._to_hand_over.popleft()
            n_bytes = sequence.n_held * self._rates.kv_per_position + self._rates.state + self._rates.window
            start = max(now, self._link_free_ns)
            self._link_free_ns = end = start + self._link.transfer_ns(n_bytes)
            self._transfers.append(Transfer(sequence.ticket, ready, start, end, n_bytes))
            self._at(end, partial(self._receive, sequence))

    def _receive(self, sequence: Sequence, _now: int) -> None:
        assert self._second is not None
        self._first.room.handed_over(sequence)
        self._second.scheduler.add(sequence)

    def _run_of(self, sequence: Sequence) -> SimulatedRun:
        return self._runs[sequence.ticket - 1]


def _row(number: int, plan: StepPlan, works: list[Work], start: int, end: int, room: CountedRoom) -> StepRow:
    """Planning takes no virtual time of its own: it is part of the overhead of a step."""
    shares = [
        Share(part.sequence.ticket, part.phase, work.n_tokens, 0, work.n_logits)
        for part, work in zip(plan.parts, works, strict=True)
    ]
    preempted = [sequence.ticket for sequence, _ in plan.preempted]
    return StepRow(number, start, end, 0, shares, plan.waiting, *room.usage(), plan.n_queued, preempted)


def _device(machine: Machine, decode: Machine | None, link: Link | None) -> Device:
    """What the record says of where it ran: no processor, but the cost models in words."""
    if decode is None or link is None:
        return Device("simulated", machine.clock.name, 0, "none", {"step": machine.clock.how})
    kernels = {
        "prefill step": machine.clock.how,
        "decode step": decode.clock.how,
        "transfer": f"{link.name}: {link.source}",
    }
    return Device("simulated", f"{machine.clock.name} and {decode.clock.name}", 0, "none", kernels)
