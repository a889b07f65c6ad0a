"""The engine: one model, its memory, and the loop that turns requests into tokens.

    Request -> Batch -> logits -> token -> Request

`step()` is three calls: the scheduler plans, the runner computes logits, and the results are sampled and recorded.
(Where drafts are wanted, they are guessed before the plan, and what was right is settled after the sampling.)
Anyone may submit and cancel from any thread; one thread at a time steps, the caller of `run()` or the worker that
`start()` starts.
"""

from __future__ import annotations

import gc
import itertools
import logging
import os
import secrets
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from engine.account.cost import Rates
from engine.account.record import Device, ModelShape, Run
from engine.account.trace_record import TraceRecord
from engine.loop.choosing import choose_all
from engine.loop.drafting.drafters import Drafters
from engine.loop.idle import IdleJobs
from engine.loop.leg import WHOLE, Leg
from engine.loop.line import Line
from engine.loop.live_run import LiveRun
from engine.loop.parts import Computes, Drafts, Tokenizes
from engine.loop.policy import Policy
from engine.loop.queueing import Reserved, Served
from engine.loop.recorder import Recorder, Reused
from engine.loop.request import Request, RequestError, SamplingParams, read_prompt
from engine.loop.result import Result
from engine.loop.room import Usage
from engine.loop.run_log import Bell, RunLog
from engine.loop.scheduler import BatchRow, Scheduler
from engine.loop.sequence import Sequence, StepPlan
from engine.loop.step_log import StepLog
from engine.loop.threads import Neighbours
from engine.loop.variant import split_variant

if TYPE_CHECKING:
    from engine.loop.runner import Runner

SWITCH_S = 0.0001
"""How long another thread of this process may keep the interpreter while the worker wants it."""
IDLE_S = 0.25
"""Without work for so long, the engine checks its memory's books once."""
NOTES_BYTES = 4 << 20
"""Bound on the logits that one run's record holds until someone reads them."""

_tickets = itertools.count(1)
"""One row of numbers for all engines of a process: a model and its variants stand in one batch table."""

clock = time.perf_counter_ns

_log = logging.getLogger(__name__)


class Engine:
    """One model that serves requests. `Engine.load` is the usual way to get one."""

    condition: str | None = None
    """What to tell people of it while it is ready; there is something where it stands for several."""

    def __init__(
        self, runner: Computes, tokenizer: Tokenizes, shape: ModelShape, *,
        context_length: int | None = None, policy: Policy | None = None, draft_model: Drafts | None = None,
        record: bool = True,
    ) -> None:  # fmt: skip
        """Take the parts. `context_length` may be less than the model's, if memory holds less.

        Without `record` no passes are written: only for measuring what recording costs.
        """
        self.tokenizer = tokenizer
        self.shape = shape
        self.context_length = context_length or shape.context_length
        self._runner = runner
        self._rates = Rates.of(shape)
        self._scheduler = Scheduler(policy, runner)
        self._drafters = Drafters(draft_model)
        self._record_passes = record
        self.steps = StepLog(clock)
        self._live: dict[str, LiveRun] = {}
        self._line = Line(self._scheduler, self._live, clock)
        self._bell = Bell()
        self._idle = IdleJobs()
        self._lock = threading.RLock()
        """Guards scheduler, `_live` and the line; held for microseconds."""
        self._stepping = threading.Lock()
        """Held by whoever computes, for a whole step."""
        self._work_waits = threading.Event()
        self._worker: threading.Thread | None = None
        self._neighbours: Neighbours | None = None
        self._closed = False

    @classmethod
    def load(
        cls, model: str | os.PathLike[str] = "story", *, threads: int | None = None, policy: Policy | None = None,
        draft_model: str | os.PathLike[str] | None = None, record: bool = True, device: str = "cpu",
    ) -> Self:  # fmt: skip
        """Load a model by name (`models/<name>`) or folder, and warm it up so that no first request pays for it.

        `threads` is the number of compute threads; by default two, or one on a machine with a single core. A
        `draft_model` must have the model's vocabulary; `device` is cpu, cuda, cuda:1 and so on. Raises `ModelNotFound`
        (engine.loop.model_folder), `CheckpointError` (engine.model), `OtherVocabulary` or `NoSuchDevice`
        (engine.loop.loading), ValueErrors for people.
        """
        from engine.loop.loading import load_parts  # brings in torch: only whoever loads a model pays for that

        policy = policy or Policy()
        parts = load_parts(
            model, threads=threads, max_running=policy.max_running, draft_model=draft_model, device=device
        )
        engine = cls(
            parts.runner, parts.tokenizer, parts.shape, context_length=parts.context_length, policy=policy,
            draft_model=parts.draft_model, record=record,
        )  # fmt: skip
        engine.warm_up()
        # What is loaded stays. A full collection that walked over all of it would stop a decode step for tens of ms.
        gc.freeze()
        return engine

    @property
    def policy(self) -> Policy:
        """How steps are put together; may be set at any time, and the next step follows it."""
        return self._scheduler.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._scheduler.policy = policy

    @property
    def device(self) -> Device:
        """Where it runs."""
        return self._runner.device(drafts=False)

    @property
    def usage(self) -> Usage:
        """Pages and slots in use."""
        return self._runner.usage()

    @property
    def working(self) -> bool:
        """Whether a worker steps the engine."""
        return self._worker is not None and self._worker.is_alive()

    def warm_up(self) -> None:
        """Serve a short request, so that what the libraries do at their first call is done."""
        self.run(Request("Once upon a time", SamplingParams(max_new_tokens=8, ignore_eos=True)))
        self._line.served = Served()

    @property
    def models(self) -> dict[str, ModelShape]:
        """The models that this engine serves, by name."""
        return {self.shape.name: self.shape}

    def run(self, request: Request) -> Run:
        """Serve one request to its end and return its record; works with or without a worker. Raises `RequestError`."""
        log = self.submit(request)
        try:
            while not log.ended:
                if self._worker is None:
                    self.step()
                else:
                    log.wait(1.0)
        except BaseException:
            log.cancel()
            raise
        return log.run

    def submit(self, request: Request, *, in_lane: bool = False, leg: Leg = WHOLE) -> RunLog:
        """Queue a request and return its log at once; header and first `Queued` event are already in it. Any thread.

        `in_lane`: it comes from whoever has reserved the engine. `leg`: this engine's share, if others have one. Raises
        `RequestError`. Tokenises here, on the caller's thread.
        """
        arrival_ns = clock()
        tokenizer = self.tokenizer
        prompt_ids = read_prompt(request, tokenizer.encode, tokenizer.longest_token_bytes, self.context_length)
        self._drafters.check(request)
        self._check_weights(request)
        run_id = request.request_id or secrets.token_hex(16)
        sequence = self._sequence(run_id, request, prompt_ids, leg, in_lane)
        max_notes = max(1, NOTES_BYTES // (4 * self.shape.vocab_size))
        log = RunLog(run_id, self._bell, lambda: self._stop(sequence), max_notes)
        recorder = Recorder(log, request, arrival_ns, self._rates, tokenizer.token)
        if self._neighbours is not None and not self._live:
            self._runner.threads = self._neighbours.threads()
        recorder.header(
            prompt_ids, self.shape, self._runner.device(drafts=request.serving.drafts != "none"), sequence.ticket
        )
        with self._lock:
            self._check_open(run_id)
            self._live[run_id] = LiveRun(request, sequence, recorder, arrived=leg.arrived, hand_over=leg.hand_over)
            self._scheduler.add(sequence)
            self._line.tell()
        self._work_waits.set()
        return log

    def cancel(self, run_id: str) -> bool:
        """Stop a waiting or running request within one step; False if no such run is live. Any thread."""
        live = self._live.get(run_id)
        if live is not None:
            self._stop(live.sequence)
        return live is not None

    def batch_table(self) -> list[BatchRow]:
        """The live rows, running first, then waiting in order; no run ids. Any thread, never waits for a step."""
        with self._lock:
            return self._line.rows()

    def reserve(self, reserved: Reserved) -> None:
        """From now on, let only requests of the lane join, after all who are here already; see the scheduler.

        Whoever reserves must `release`: the engine itself does not look at the time. Any thread.
        """
        with self._lock:
            self._line.reserve(reserved)

    def release(self) -> None:
        """The reservation is over: who was held goes on. Idempotent; any thread."""
        with self._lock:
            self._line.release()
        self._work_waits.set()

    def trace(self, run: Run, layer: int, head: int) -> TraceRecord:
        """Replay a finished run with instruments, between requests, and wait. `layer` counts over the whole model.

        Raises `TraceError` (engine.loop.trace).
        """
        from engine.loop.runner import Runner
        from engine.loop.trace import trace_run

        assert isinstance(self._runner, Runner)
        job = self._idle.add(trace_run(self._runner, self.tokenizer.token, run, layer, head))
        self._work_waits.set()
        while not job.done.is_set():
            if self._worker is not None:
                job.done.wait(1.0)
            elif not self.step():
                self._advance_idle()
        return job.result()

    def step(self) -> bool:
        """One step: plan, compute, sample and record. False when there was nothing to do."""
        with self._stepping:
            planning_ns = clock()
            self._drafters.guess(self._scheduler.running)
            plan = self._plan()
            start_ns = clock()
            if not plan.parts:
                return bool(plan.cancelled or plan.preempted)
            try:
                results = choose_all(plan, self._runner.compute(plan), self._ends, clock)
                self._runner.settle(plan, [result.accepted for result in results])
                self.steps.note(plan, results, self._runner.usage(), planning_ns, start_ns)
                self._record(plan, results, start_ns)
            except Exception:
                _log.exception("a step failed")
                self._fail(plan, "The engine failed while computing this request; the engine's log has the details.")
            return True

    def mind_neighbours(self) -> None:
        """From now on, compute with one thread while other programs keep the second core busy."""
        self._neighbours = self._neighbours or Neighbours()

    def start(self) -> None:
        """Start the worker thread, which steps whenever there is work. Idempotent."""
        with self._lock:
            if self._worker is None and not self._closed:
                # The worker lets go of the interpreter at every kernel call. From a thread that is busy encoding it
                # would get it back only after Python's usual 5 ms, some thirty times a step.
                sys.setswitchinterval(SWITCH_S)
                self._worker = threading.Thread(target=self._work, name="engine-worker", daemon=True)
                self._worker.start()

    def close(self) -> None:
        """Stop the worker and end live runs as cancelled. Idempotent; leaving `with Engine.load(...)` does it, too."""
        with self._lock:
            self._closed = True
            for live in self._live.values():
                live.sequence.cancelled = True
        self._work_waits.set()
        if self._worker is not None and self._worker is not threading.current_thread():
            self._worker.join()
        self.step()
        if self._neighbours is not None:
            self._neighbours.close()
        self._idle.close()
        self._bell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sequence(self, run_id: str, request: Request, prompt_ids: list[int], leg: Leg, in_lane: bool) -> Sequence:
        """The tokens that are known, and how many more this engine should give. Raises RequestError."""
        tokens = [*prompt_ids, *leg.emitted]
        limit, exported = request.sampling.max_new_tokens, None
        if leg.arrived is not None:
            exported = leg.arrived.exported
            self._hands_over().check_arrived(exported, tokens)
        # Without a cache there is nothing to hand over: such a run stays.
        if leg.hand_over is not None and request.serving.cache == "kept":
            limit = min(limit, len(leg.emitted) + 1)
        return Sequence(
            run_id, tokens, len(prompt_ids), limit, sampling=request.sampling, serving=request.serving,
            ticket=next(_tickets), n_refill=exported.length if exported else len(tokens), arrived=exported,
            in_lane=in_lane,
        )  # fmt: skip

    def _hands_over(self) -> Runner:
        """The runner, where memory comes from another engine or goes there: only the real one has any."""
        from engine.loop.runner import Runner

        assert isinstance(self._runner, Runner)
        return self._runner

    def _stop(self, sequence: Sequence) -> None:
        sequence.cancelled = True
        self._work_waits.set()

    def _work(self) -> None:
        checked = True
        while not self._closed:
            if self.step():
                checked = False
            elif not self._advance_idle():
                if not self._work_waits.wait(None if checked else IDLE_S):
                    self._check_memory()
                    checked = True
                self._work_waits.clear()

    def _check_memory(self) -> None:
        """Look whether a page or a slot has been lost, while nobody waits."""
        with self._stepping:
            try:
                self._runner.check()
            except AssertionError:
                _log.exception("the memory's books do not balance")

    def _advance_idle(self) -> bool:
        """One pass of a trace that waits, if there is one; requests go first, and a reserved engine is left alone."""
        with self._stepping:
            return not self._line.reserved and self._idle.advance()

    def _plan(self) -> StepPlan:
        with self._lock:
            plan = self._scheduler.plan()
            now = clock()
            for sequence in plan.cancelled:
                self._leave(sequence).recorder.ended("cancelled", now)
            for sequence in plan.admitted:
                self._admitted(sequence, now)
            for sequence, positions in plan.preempted:
                live = self._live[sequence.run_id]
                live.joined_ns = None
                live.recorder.preempted(now, positions)
            return plan

    def _admitted(self, sequence: Sequence, now: int) -> None:
        """Written where it tells something: a prefix was looked for, or the request comes back."""
        live = self._live[sequence.run_id]
        comes_back = sequence.n_refill > sequence.n_prompt
        if not comes_back:
            live.joined_ns = now
        arrived, live.arrived = live.arrived, None
        if arrived is not None:
            live.recorder.transferred(now, arrived)
        elif sequence.serving.reuse_prefix:
            held = sequence.n_held
            copied = self._rates.state + self._rates.window if held else 0
            reused = Reused(held, held * self._rates.kv_per_position, copied)
            live.recorder.admitted(now, reused)
        elif comes_back:
            live.recorder.admitted(now, None)

    def _ends(self, sequence: Sequence, token_id: int, n_new: int) -> bool:
        return self._live[sequence.run_id].finish_reason(token_id, n_new, self.tokenizer.eos_ids) is not None

    def _record(self, plan: StepPlan, results: list[Result], start_ns: int) -> None:
        step_weight_bytes = self._rates.weight_bytes(plan.n_tokens, plan.n_logits)
        for part, result in zip(plan.parts, results, strict=True):
            live = self._live[part.sequence.run_id]
            if result.failure:
                self._fail(StepPlan([part]), result.failure)
                continue
            if self._record_passes:
                live.recorder.passed(part, result.choices, start_ns, result.end_ns, len(plan.parts), step_weight_bytes)
            part.sequence.advance(part.n_tokens + result.accepted, [choice.token_id for choice in result.choices])
            if result.choices:
                newest = part.sequence.tokens[-1]
                reason = live.finish_reason(newest, part.sequence.n_new, self.tokenizer.eos_ids)
                if reason:
                    if live.hand_over is not None and live.goes_on_elsewhere(reason):
                        live.hand_over(self._hands_over().export(part.sequence))
                    if live.joined_ns is not None:
                        self._line.served.note(result.end_ns - live.joined_ns, part.sequence.n_new)
                    self._finish(live.sequence).recorder.ended(reason, clock())

    def _finish(self, sequence: Sequence) -> LiveRun:
        with self._lock:
            self._scheduler.finish(sequence)
            return self._leave(sequence)

    def _fail(self, plan: StepPlan, message: str) -> None:
        for part in plan.parts:
            if part.sequence.run_id in self._live:
                self._finish(part.sequence).recorder.failed("engine_failed", message, clock())

    def _leave(self, sequence: Sequence) -> LiveRun:
        """Tell those behind a sequence that it has left; its last event is written by the caller."""
        self._drafters.forget(sequence)
        live = self._live.pop(sequence.run_id)
        self._line.tell()
        return live

    def _check_weights(self, request: Request) -> None:
        _, own = split_variant(self.shape.name)
        if request.serving.weights not in (None, own):
            raise RequestError(
                "other_weights", f"This engine holds the model's weights as {own}, not as {request.serving.weights}."
            )

    def _check_open(self, run_id: str) -> None:
        if self._closed:
            raise RequestError("engine_closed", "The engine is shutting down.")
        if run_id in self._live:
            raise RequestError("duplicate_request_id", f"A request with the id {run_id} is already here.")
