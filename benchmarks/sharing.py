"""What sharing a step does on this machine: one request alone and many at once, and a long prompt among decoders.

    python -m benchmarks.sharing together collision --keep

together: the same prompt alone, then in 2, 4 and 8 copies at once, all on the default policy.
collision: three requests decode when a long prompt comes in, taken whole, then in chunks of 256, 64 and 16 tokens.

Every setting is played once a round, the settings in turn, so that a busy moment of the machine hits all alike. A
setting's steps are the same in every round, so each step is taken at its fastest, since other work on the machine only
ever adds time. Prints a table and a last line of JSON; `--keep` writes what the lessons show to lessons/measurements.
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
from engine.loop.calibrate import prompt_of
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


def together(engine: Engine, copies: int) -> Playback:
    """The same prompt `copies` times at once, with seeds of their own."""
    engine.policy = Policy()
    first = engine.steps.count
    samplings = [
        SamplingParams(temperature=0.7, seed=seed, max_new_tokens=NEW_TOKENS, ignore_eos=True) for seed in range(copies)
    ]
    logs = [engine.submit(Request(PROMPT, sampling)) for sampling in samplings]
    while not all(log.ended for log in logs):
        engine.step()
    return _taken(f"{copies} at once", engine, logs, first)


def collision(engine: Engine, chunk: int | None) -> Playback:
    """Decoders at work, then a long prompt."""
    engine.policy = Policy("continuous" if chunk is None else "decode_first", chunk=chunk)
    first = engine.steps.count
    sampling = SamplingParams(max_new_tokens=DECODER_TOKENS, ignore_eos=True)
    logs = [engine.submit(Request(PROMPT, sampling)) for _ in range(DECODERS)]
    for _ in range(BEFORE):
        engine.step()
    logs.append(
        engine.submit(
            Request(prompt_of(engine, LONG_PROMPT), SamplingParams(max_new_tokens=LONG_NEW_TOKENS, ignore_eos=True))
        )
    )
    while not all(log.ended for log in logs):
        engine.step()
    return _taken("whole" if chunk is None else f"chunks of {chunk}", engine, logs, first)


def _taken(name: str, engine: Engine, logs: Sequence[RunLog], first: int) -> Playback:
    found = playback.of_engine(name, engine.policy, [log.run for log in logs], engine.steps.since(first))
    assert found is not None
    return found


def best_of(plays: list[Play], rounds: int) -> list[Playback]:
    """Each setting once, its steps one after another at the fastest of all rounds."""
    played = [[play() for play in plays] for _ in range(rounds)]
    return [at_their_fastest(one) for one in zip(*played, strict=True)]


def at_their_fastest(rounds: Sequence[Playback]) -> Playback:
    """One playback of several that did the same steps, each step (and the pause before it) as short as it ever was.

    Raises ValueError if they did not do the same.
    """
    first = rounds[0]
    rows: list[StepRow] = []
    now = 0
    for same in zip(*(one.rows for one in rounds), strict=True):
        if len({tuple((share.phase, share.n_tokens) for share in row.shares) for row in same}) > 1:
            raise ValueError("The rounds did not plan the same steps.")
        number = len(rows)
        start = now + min(one.rows[number].start_ns - (one.rows[number - 1].end_ns if number else 0) for one in rounds)
        now = start + min(row.end_ns - row.start_ns for row in same)
        planning = min(row.planning_ns for row in same)
        rows.append(
            msgspec.structs.replace(first.rows[number], number=number, start_ns=start, end_ns=now, planning_ns=planning)
        )
    begun = {share.ticket: row.start_ns for row in reversed(rows) for share in row.shares}
    waits = [_waits(one) for one in rounds]
    arrivals = {
        ticket: max(0, begun[ticket] - min(each[place] for each in waits))
        for place, ticket in enumerate(first.arrivals)
    }
    return msgspec.structs.replace(first, rows=rows, arrivals=arrivals)


def _waits(one: Playback) -> list[int]:
    """From each request's arrival to the start of its first step, in order of tickets."""
    return [next(one.shares_of(ticket))[0].start_ns - at for ticket, at in one.arrivals.items()]


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
    keep: Annotated[bool, typer.Option("--keep", help="Write what the lessons show.")] = False,
) -> None:
    """Measure; prints a table and a last line of JSON."""
    engine = Engine.load(model)
    device = engine.run(Request("Once", SamplingParams(max_new_tokens=1))).header.device
    scenes: dict[str, list[Play]] = {
        "together": [partial(together, engine, n) for n in COPIES],
        "collision": [partial(collision, engine, chunk) for chunk in CHUNKS],
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
            how = f"python -m benchmarks.sharing {name}: each step at the fastest of {rounds} rounds"
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
