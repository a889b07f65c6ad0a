"""Does the virtual clock tell this machine's time? Real steps are measured, half are fitted, the other half foretold.

A small model lies in the caches and spends its steps on calls: neither roof of the roofline is near (law 13). So the
times of a step's ingredients (`engine.account.step_time.FittedTimes`) are fitted to measured steps, none of them
negative, by least squares of the relative errors. Every other point is left out of the fit, and its error is reported.

A point is many steps of one kind. Rounds go through all points in turn, so that a busy moment of the machine hits all
alike. Of each point the fastest step is fitted and foretold, since other work on the machine only ever adds time; the
median is kept beside it, and the error against medians is reported, too. Where others keep the machine busy, steps on
one thread can be timed by the processor time that the thread got: what a wall would show if nobody else were there.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.account.hardware import cpu_name
from engine.account.probe import kept_at as probe_kept_at
from engine.account.record import Phase, Run
from engine.account.step_record import StepRow
from engine.account.step_time import Fitted, FittedTimes, StepClock, Work, ingredients
from engine.loop.request import Request, SamplingParams

if TYPE_CHECKING:
    from engine.loop.engine import Engine

Kind = Literal["prefill", "decode"]
TimedBy = Literal["wall", "processor"]
CLOCKS: dict[TimedBy, Callable[[], int]] = {"wall": time.perf_counter_ns, "processor": time.thread_time_ns}

PROMPT_TOKENS = (8, 16, 32, 64, 128, 256, 512, 1024, 1500)
SEQUENCES = (1, 2, 4, 8, 16)
MOST_TOKENS = 2048
"""Of a prefill step; the engine's budget must allow it."""
DECODE_STEPS = 8
ROUNDS = 6


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps of one kind, all sequences alike: measured nanoseconds, planning, sampling and recording included."""

    kind: Kind
    n_sequences: int
    n_tokens: int
    """Tokens that each takes in."""
    start_position: int
    ns: int
    """The fastest."""
    median_ns: float
    n: int

    @property
    def works(self) -> list[Work]:
        """The step as the cost model sees it."""
        return [Work(self.n_tokens, self.start_position)] * self.n_sequences


class Errors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Relative errors of what was foretold, without sign."""

    median: float
    worst: float
    median_against_medians: float
    """The median error against the points' medians instead of their fastest steps: the machine as busy as it was."""
    n: int

    @classmethod
    def of(cls, clock: StepClock, points: Sequence[Point]) -> Errors:
        """Of at least one point."""
        errors = [abs(clock.ns(point.works) / point.ns - 1) for point in points]
        against_medians = [abs(clock.ns(point.works) / point.median_ns - 1) for point in points]
        return cls(statistics.median(errors), max(errors), statistics.median(against_medians), len(errors))


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fitted times of one model on this machine, and how well they foretell the points that they have not seen."""

    model: str
    cpu: str
    threads: int
    timed_by: TimedBy
    created: str
    times: FittedTimes
    n_fitted: int
    prefill: Errors
    decode: Errors

    def clock(self) -> Fitted:
        """For the simulator."""
        return Fitted(self.times, f"{self.cpu}, {self.threads} thread{'s' if self.threads > 1 else ''}", self.how)

    @property
    def how(self) -> str:
        """How durations are made, in words."""
        return (
            f"simulated: times fitted to {self.n_fitted} kinds of steps of {self.model} measured here by "
            f"{self.timed_by} time ({self.created[:10]}); median error on others "
            f"{self.prefill.median:.0%} for prefill and {self.decode.median:.0%} for decode"
        )


def calibrate(
    points: Sequence[Point], model: str, threads: int, timed_by: TimedBy = "wall"
) -> tuple[Calibration, list[Point]]:
    """Fit every other point of each kind and check with the rest, which are returned, too.

    Raises ValueError if a kind has fewer than two points.
    """
    fitted, held_out = split(points)
    times = fit(fitted)
    clock = Fitted(times, model, "being checked")
    of_kind = {kind: [point for point in held_out if point.kind == kind] for kind in ("prefill", "decode")}
    if not all(of_kind.values()):
        raise ValueError("A calibration needs two points of prefill and two of decode at least.")
    result = Calibration(
        model=model,
        cpu=cpu_name(),
        threads=threads,
        timed_by=timed_by,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        times=times,
        n_fitted=len(fitted),
        prefill=Errors.of(clock, of_kind["prefill"]),
        decode=Errors.of(clock, of_kind["decode"]),
    )
    return result, held_out


def split(points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """Those to fit and those to check with: alternately, in order of kind, sequences and length."""
    in_order = sorted(points, key=lambda one: (one.kind, one.n_sequences, one.n_tokens, one.start_position))
    return in_order[::2], in_order[1::2]


def fit(points: Sequence[Point]) -> FittedTimes:
    """The times that make the sum of the squared relative errors least, none of them below 0."""
    wanted = np.array([point.ns for point in points], dtype=float)
    counts = np.array([ingredients(point.works) for point in points], dtype=float)
    return FittedTimes(*least_squares_above_zero(counts / wanted[:, None], np.ones(len(points))).tolist())


def least_squares_above_zero(A: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x >= 0 with the least |A x - b|, by trying which of its n entries are above 0; exact, for n up to ten.

    A is [m, n], b is [m].
    """
    scale = np.linalg.norm(A, axis=0)
    scaled = A / np.where(scale > 0, scale, 1.0)
    n = A.shape[1]
    best, least = np.zeros(n), float(np.linalg.norm(b))
    for size in range(1, n + 1):
        for chosen in map(list, itertools.combinations(range(n), size)):
            x, *_ = np.linalg.lstsq(scaled[:, chosen], b, rcond=None)
            residual = float(np.linalg.norm(scaled[:, chosen] @ x - b))
            if (x >= 0).all() and residual < least * (1 - 1e-12):
                best, least = np.zeros(n), residual
                best[chosen] = x
    return best / np.where(scale > 0, scale, 1.0)


def measure(
    engine: Engine, *, prompt_tokens: Iterable[int] = PROMPT_TOKENS, sequences: Iterable[int] = SEQUENCES,
    rounds: int = ROUNDS, timed_by: TimedBy = "wall",
) -> list[Point]:  # fmt: skip
    """Let an engine without a worker serve batches of prompts, and time its steps.

    Its policy must take in `MOST_TOKENS` prompt tokens at once and run as many sequences as there are in a batch.
    Processor time means something only if the engine computes on one thread.
    """
    plans = [
        (n, length)
        for n, length in itertools.product(sorted(sequences), sorted(prompt_tokens))
        if n * length <= MOST_TOKENS and length + DECODE_STEPS + 2 <= engine.context_length
    ]
    seen: dict[tuple[Kind, int, int, int], list[int]] = {}
    for _ in range(rounds):
        for n_sequences, length in plans:
            for key, ns in _batch(engine, n_sequences, length, timed_by):
                seen.setdefault(key, []).append(ns)
    return [Point(*key, min(values), statistics.median(values), len(values)) for key, values in seen.items()]


def serve(
    engine: Engine, requests: Iterable[tuple[int, int]], timed_by: TimedBy
) -> tuple[list[Run], list[tuple[StepRow, int]]]:
    """Serve requests (prompt tokens, new tokens) that come at once; their records, and each step with its time."""
    clock, first = CLOCKS[timed_by], engine.steps.count
    logs = [
        engine.submit(Request(prompt_of(engine, n_prompt), SamplingParams(max_new_tokens=n_new, ignore_eos=True)))
        for n_prompt, n_new in requests
    ]
    durations = []
    while not all(log.ended for log in logs):
        start = clock()
        engine.step()
        durations.append(clock() - start)
    return [log.run for log in logs], list(zip(engine.steps.since(first), durations, strict=True))


def prompt_of(engine: Engine, n_tokens: int) -> str:
    """A text of about so many tokens; cut within a word it may come out one or two longer."""
    text = "Once upon a time, there was a little girl named Lily. She liked to play in the park with her friends. "
    per_text = len(engine.tokenizer.encode(text))
    ids = engine.tokenizer.encode(text * (n_tokens // per_text + 1))[:n_tokens]
    return b"".join(engine.tokenizer.token(token_id).raw for token_id in ids).decode("utf-8", errors="ignore")


def save(calibration: Calibration, path: Path | None = None) -> Path:
    """Keep it beside the probe's result; raises `OSError`."""
    place = path or kept_at(calibration.model, calibration.threads)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(calibration)))
    part.replace(place)
    return place


def load(model: str, threads: int, path: Path | None = None) -> Calibration | None:
    """A kept calibration of this model on this processor; None if there is none."""
    try:
        kept = msgspec.json.decode((path or kept_at(model, threads)).read_bytes(), type=Calibration)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return kept if (kept.model, kept.threads, kept.cpu) == (model, threads, cpu_name()) else None


def kept_at(model: str, threads: int) -> Path:
    """Where it is kept: the user's cache folder."""
    name = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in model)
    return probe_kept_at(threads).with_name(f"calibration-{name}-{threads}.json")


def _batch(
    engine: Engine, n_sequences: int, length: int, timed_by: TimedBy
) -> list[tuple[tuple[Kind, int, int, int], int]]:
    """Serve one batch; each of its steps as (what it was, its time).

    Decode steps of one batch count as one kind, at the middle of the positions that they go through.
    """
    runs, steps = serve(engine, [(length, 1 + DECODE_STEPS)] * n_sequences, timed_by)
    n_prompt = len(runs[0].header.prompt_tokens)
    found: list[tuple[tuple[Kind, int, int, int], int]] = []
    for row, ns in steps:
        phase = _phase(row)
        if phase == "prefill":
            found.append((("prefill", n_sequences, n_prompt, 0), ns))
        elif phase == "decode":
            found.append((("decode", n_sequences, 1, n_prompt + DECODE_STEPS // 2), ns))
    return found


def _phase(row: StepRow) -> Phase | None:
    """What all of a step's parts did; None if they differ."""
    phases = {share.phase for share in row.shares}
    return phases.pop() if len(phases) == 1 else None
