"""What sharing a step does on this machine: one request alone and many at once, and a long prompt among decoders.

    python -m benchmarks.sharing together collision --keep

together: the same prompt alone, then in 2, 4 and 8 copies at once, all on the default policy.
collision: three requests decode when a long prompt comes in, taken whole, then in chunks of 256, 64 and 16 tokens.

Every setting is played once a round, the settings in turn, so that a busy moment of the machine hits all alike. A
setting's steps are the same in every round, so each step is taken at its fastest, since other work on the machine only
ever adds time. On a machine that others keep busy `--processor-time` counts what the one compute thread got instead of
what the wall shows. Prints a table and a last line of JSON; `--keep` writes what the lessons show to
lessons/measurements.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from engine import Engine, Request, SamplingParams
from engine.account.hardware import cpu_name
from engine.account.step_record import StepRow
from engine.loop.calibrate import CLOCKS, TimedBy, prompt_of
from engine.loop.policy import Policy
from engine.loop.run_log import RunLog
from lessons import playback
from lessons.playback import Measurement, Playback

PROMPT = "Once upon a time, there was a"
NEW_TOKENS = 60
COPIES = (1, 2, 4, 8)

DECODERS, DECODER_TOKENS = 3, 60
LONG_PROMPT, LONG_NEW_TOKENS = 1500, 10
BEFORE = 15
"""Steps that the decoders make before the long prompt comes."""
CHUNKS = (None, 256, 64, 16)

Play = Callable[[], Playback]


class Driver:
    """An engine whose steps are done here, one by one, and timed by a clock of choice."""

    def __init__(self, engine: Engine, timed_by: TimedBy) -> None:
        self.engine = engine
        self.timed_by = timed_by
        self._clock = CLOCKS[timed_by]
        self._first = engine.steps.count
        self._steps_ns: list[tuple[int, int]] = []
        self._begun_ns = self._clock()
        self._logs: list[RunLog] = []
        self._came_ns: list[int] = []

    def submit(self, prompt: str, sampling: SamplingParams) -> None:
        """A request comes now."""
        self._came_ns.append(self._now())
        self._logs.append(self.engine.submit(Request(prompt, sampling)))

    def step(self) -> None:
        """One step."""
        begun = self._now()
        self.engine.step()
        self._steps_ns.append((begun, self._now()))

    def finish(self, name: str) -> Playback:
        """Step until everybody has ended; the whole as a playback."""
        while not all(log.ended for log in self._logs):
            self.step()
        rows = self.engine.steps.since(self._first)
        timed = [
            msgspec.structs.replace(row, number=number, start_ns=start, end_ns=end, planning_ns=0)
            for number, (row, (start, end)) in enumerate(zip(rows, self._steps_ns, strict=True))
        ]
        headers = [log.run.header for log in self._logs]
        tickets = [header.ticket or 0 for header in headers]
        return Playback(
            name, self.engine.policy, timed, dict(zip(tickets, self._came_ns, strict=True)),
            {ticket: len(header.prompt_tokens) for ticket, header in zip(tickets, headers, strict=True)},
        )  # fmt: skip

    def _now(self) -> int:
        return self._clock() - self._begun_ns


def together(engine: Engine, timed_by: TimedBy, copies: int) -> Playback:
    """The same prompt `copies` times at once, with seeds of their own."""
    engine.policy = Policy()
    driver = Driver(engine, timed_by)
    for seed in range(copies):
        sampling = SamplingParams(temperature=0.7, seed=seed, max_new_tokens=NEW_TOKENS, ignore_eos=True)
        driver.submit(PROMPT, sampling)
    return driver.finish("one alone" if copies == 1 else f"{copies} at once")


def collision(engine: Engine, timed_by: TimedBy, chunk: int | None) -> Playback:
    """Decoders at work, then a long prompt."""
    engine.policy = Policy("continuous" if chunk is None else "decode_first", chunk=chunk)
    text = prompt_of(engine, LONG_PROMPT)
    driver = Driver(engine, timed_by)
    for _ in range(DECODERS):
        driver.submit(PROMPT, SamplingParams(max_new_tokens=DECODER_TOKENS, ignore_eos=True))
    for _ in range(BEFORE):
        driver.step()
    driver.submit(text, SamplingParams(max_new_tokens=LONG_NEW_TOKENS, ignore_eos=True))
    return driver.finish("whole" if chunk is None else f"chunks of {chunk}")


def best_of(plays: list[Play], rounds: int) -> list[Playback]:
    """Each setting once, its steps one after another at the fastest of all rounds."""
    played = [[play() for play in plays] for _ in range(rounds)]
    return [at_their_fastest(one) for one in zip(*played, strict=True)]


def at_their_fastest(rounds: Sequence[Playback]) -> Playback:
    """One playback of several that did the same steps, each step as short as it ever was.

    Raises ValueError if they did not do the same.
    """
    first = rounds[0]
    rows: list[StepRow] = []
    moved = {0: 0}
    now = 0
    for same in zip(*(one.rows for one in rounds), strict=True):
        if len({tuple((share.phase, share.n_tokens) for share in row.shares) for row in same}) > 1:
            raise ValueError("The rounds did not plan the same steps.")
        start, now = now, now + min(row.end_ns - row.start_ns for row in same)
        rows.append(msgspec.structs.replace(same[0], start_ns=start, end_ns=now))
        moved[same[0].end_ns] = now
    # A request comes between two steps: at the end of the last one that had ended by then.
    arrivals = {ticket: moved[max(end for end in moved if end <= at)] for ticket, at in first.arrivals.items()}
    return msgspec.structs.replace(first, rows=rows, arrivals=arrivals)


def stall_ns(one: Playback) -> int:
    """The longest that anyone who had begun waited for the next token."""
    return max(gap for ticket in one.arrivals for gap in one.gaps_ns(ticket))


def _row(one: Playback) -> list[str]:
    typical = statistics.median(gap for ticket in one.arrivals for gap in one.gaps_ns(ticket))
    last = max(one.arrivals)
    ttft, rate = one.ttft_ns(last), one.tokens_per_s
    assert ttft is not None and rate is not None
    return [one.name, f"{rate:,.0f}", f"{typical / 1e6:.2f}", f"{stall_ns(one) / 1e6:.2f}", f"{ttft / 1e6:.2f}"]


def main(
    what: Annotated[list[str], typer.Argument(help="together, collision, or both.")],
    model: Annotated[str, typer.Option(help="Name or folder of the model.")] = "story",
    rounds: Annotated[int, typer.Option(min=1, help="How often every setting is played.")] = 15,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two.")] = None,
    processor_time: Annotated[
        bool, typer.Option("--processor-time", help="Count what the compute thread got, not what the wall shows.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Write what the lessons show.")] = False,
) -> None:
    """Measure; prints a table and a last line of JSON."""
    if processor_time and threads != 1:
        raise typer.BadParameter("Processor time counts one thread: add --threads 1.")
    timed_by: TimedBy = "processor" if processor_time else "wall"
    engine = Engine.load(model, threads=threads)
    device = engine.run(Request("Once", SamplingParams(max_new_tokens=1))).header.device
    scenes: dict[str, list[Play]] = {
        "together": [partial(together, engine, timed_by, n) for n in COPIES],
        "collision": [partial(collision, engine, timed_by, chunk) for chunk in CHUNKS],
    }
    table = Table(title=f"{engine.shape.name} on {cpu_name()}, {device.threads} threads; ms; fastest of {rounds}")
    for name in ("", "tokens/s of all", "median gap", "longest gap", "first token of the last"):
        table.add_column(name, justify="right")
    results: dict[str, list[list[str]]] = {}
    for name in what:
        if name not in scenes:
            raise typer.BadParameter(f"There is no scene {name!r}; there are together and collision.")
        best = best_of(scenes[name], rounds)
        results[name] = [_row(one) for one in best]
        for cells in results[name]:
            table.add_row(*cells)
        if keep:
            how = f"python -m benchmarks.sharing {name}, {timed_by} time: each step at the fastest of {rounds} rounds"
            playback.save(
                name,
                Measurement(
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    engine.shape.name,
                    cpu_name(),
                    device.threads,
                    how,
                    best,
                ),
            )
    Console(width=max(100, Console().width)).print(table)
    print(json.dumps({"benchmark": "sharing", "rounds": rounds, "results": results}))


if __name__ == "__main__":
    typer.run(main)
