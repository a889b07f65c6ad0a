"""What-if runs on the virtual clock: played once by a worker of their own, kept by their settings, seen and stopped.

A page asks for a simulation by its whole setup. What is kept is there at once; what takes longer than a glance shows
how far it is and can be stopped. One thread plays, so that a class of thirty what-ifs queues instead of fighting the
pages for the interpreter. Nothing here imports torch.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

import streamlit as st

from engine.account.presets import LINKS
from engine.account.record import ModelShape
from engine.account.step_time import StepClock, Work
from engine.loop.arrivals import Arrival
from engine.loop.counted_room import CountedRoom, DoesNotFit
from engine.loop.policy import Policy
from engine.loop.simulator import Machine, Simulation, Simulator
from views.engine_words import told
from views.virtual_machines import clock_of, memory_of, what_if_shape
from views.words import _

GLANCE_S = 0.3
"""A simulation that is ready within this needs no bar."""
KEPT = 48
"""Simulations held in memory; of those that are over, the one used longest ago goes first."""
MOST_TOKENS = 250_000
"""Of one simulation: about a minute's work."""


@dataclass(frozen=True)
class Setup:
    """All that decides what happens. Keys are those of lessons.named_shapes; `machine` may be "machine", this one.

    With a `link` there are two machines of the kind: the first reads prompts, the second writes replies.
    """

    shape: str
    machine: str
    policy: Policy
    arrivals: tuple[Arrival, ...]
    link: str | None = None

    @property
    def n_tokens(self) -> int:
        """New tokens that are asked for."""
        return sum(one.n_new for one in self.arrivals)


class Stopped(Exception):
    """Somebody asked the simulation to stop."""


class _Watched:
    """A cost model that tells how far the simulation is and ends it when asked."""

    def __init__(self, clock: StepClock, job: Job) -> None:
        self.name, self.how = clock.name, clock.how
        self._clock = clock
        self._job = job

    def ns(self, parts: Sequence[Work]) -> int:
        """See `StepClock`."""
        if self._job.stopping.is_set():
            raise Stopped
        self._job.n_tokens += sum(part.n_logits for part in parts)
        return self._clock.ns(parts)


class Job:
    """One simulation, waiting, under way or ended."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.n_tokens = 0
        """New tokens so far."""
        self.stopping = threading.Event()
        self.future: Future[Simulation] = Future()

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""
        return min(1.0, self.n_tokens / max(1, self.setup.n_tokens))

    def play(self) -> Simulation:
        """Play it out; raises `Stopped`, or ValueErrors for people."""
        return play(self.setup, self)


def play(setup: Setup, job: Job | None = None) -> Simulation:
    """Play a setup out from beginning to end; raises `DoesNotFit` if the model is too large for the machine."""
    shape = what_if_shape(setup.shape)
    machines = [_machine(shape, setup, job) for _ in range(2 if setup.link else 1)]
    if setup.link is None:
        return Simulator(shape, machines[0]).run(setup.arrivals)
    return Simulator(shape, machines[0], decode=machines[1], link=LINKS[setup.link]).run(setup.arrivals)


def _machine(shape: ModelShape, setup: Setup, job: Job | None) -> Machine:
    clock = clock_of(shape, setup.machine)
    room = CountedRoom.for_budget(shape, memory_of(shape, setup.machine), setup.policy.max_running)
    return Machine(_Watched(clock, job) if job else clock, room, setup.policy)


class Worker:
    """Plays setups one after another and keeps what came out. Any thread may ask."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="virtual-clock")
        self._jobs: OrderedDict[Setup, Job] = OrderedDict()
        self._lock = threading.Lock()

    def job(self, setup: Setup) -> Job:
        """The job of a setup: the one that is there, or a new one that waits for its turn."""
        with self._lock:
            job = self._jobs.get(setup)
            if job is None:
                job = self._jobs[setup] = Job(setup)
                job.future = self._pool.submit(job.play)
            self._jobs.move_to_end(setup)
            over = [old for old, one in self._jobs.items() if one.future.done() and one is not job]
            for old in over[: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old]
            return job

    def stop(self, setup: Setup) -> None:
        """Stop it if it is not over; asking for it again afterwards begins anew."""
        with self._lock:
            if (job := self._jobs.get(setup)) is not None:
                job.stopping.set()
                job.future.cancel()

    def forget(self, setup: Setup) -> None:
        """Drop a job, so that the next call begins anew."""
        with self._lock:
            self._jobs.pop(setup, None)

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            for job in self._jobs.values():
                job.stopping.set()
        self._pool.shutdown(cancel_futures=True)


@st.cache_resource(show_spinner=False, on_release=Worker.close)
def worker() -> Worker:
    """The process's one worker."""
    return Worker()


def simulated(setups: Sequence[Setup], key: str) -> list[Simulation] | None:
    """What these setups come to. None while they are under way, with a bar and a button to stop them; None, too, with
    the reason on the page, if they cannot be played or were stopped.
    """
    if too_long := max((one.n_tokens for one in setups), default=0) > MOST_TOKENS:
        st.error(_("That is more than {most} new tokens to simulate. Take fewer or shorter requests.").format(
            most=f"{MOST_TOKENS:,}"))  # fmt: skip
    if too_long or not setups:
        return None
    jobs = [worker().job(setup) for setup in setups]
    until = time.monotonic() + GLANCE_S
    try:
        return [job.future.result(max(0.0, until - time.monotonic())) for job in jobs]
    except NotYet:
        st.fragment(_wait, run_every=GLANCE_S, key=f"wait-{key}")(jobs, key)
    except (Stopped, CancelledError):
        st.info(_("Stopped before its end."))
        if st.button(_("Simulate it again"), key=f"again-{key}"):
            for setup in setups:
                worker().forget(setup)
            st.rerun()
    except (DoesNotFit, ValueError) as no:
        st.error(told(str(no)))
    return None


def _wait(jobs: Sequence[Job], key: str) -> None:
    """How far they are; the page is drawn again when they have ended."""
    if all(job.future.done() for job in jobs):
        st.rerun()
    share = sum(job.share for job in jobs) / len(jobs)
    with st.container(horizontal=True, vertical_alignment="center", key=f"progress-{key}"):
        st.progress(share, _("Simulating: {percent} of the new tokens").format(percent=f"{share:.0%}"))
        if st.button(_("Stop"), key=f"stop-{key}", icon=":material/stop:"):
            for job in jobs:
                worker().stop(job.setup)
