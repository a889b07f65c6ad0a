"""How well the virtual clock tells this machine's time, prefill and decode apart.

    python -m benchmarks.virtual_clock

1. Real steps of the engine are timed over prompt lengths and batch sizes. Every other kind of step is fitted
   (`engine.loop.calibrate`), and the rest is foretold: the errors are those on steps that the fit has not seen.
2. The clock then plays a whole scene out, eight requests of many lengths of which four run at a time, with chunks among
   decodes, and the engine serves the same scene: time to first token, time a token and end to end, foretold and
   measured.

Points are the fastest of all their steps, since other work on the machine only ever adds time; the errors against
medians stand beside. On a machine that others keep busy `--processor-time` counts what the one compute thread got
instead of what the wall shows. Prints tables and a last line of JSON.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from engine import Engine, Request, SamplingParams
from engine.account.step_time import Fitted
from engine.loop import calibrate
from engine.loop.arrivals import Arrival
from engine.loop.calibrate import Calibration, Errors, Point, TimedBy
from engine.loop.counted_room import CountedRoom
from engine.loop.policy import Policy
from engine.loop.simulator import Machine, Simulator

WANTED = 0.20
MEASURING = Policy("continuous", max_running=16, token_budget=2048, chunk=None)
SCENE = Policy("decode_first", max_running=4, token_budget=2048, chunk=64)
"""Fewer at once than there are requests, so that prompts wait, and come in chunks while others decode."""
SCENE_REQUESTS = ((8, 40), (300, 30), (30, 40), (700, 20), (120, 30), (8, 60), (60, 20), (400, 10))
"""Prompt and new tokens of requests that arrive together."""


class Times(NamedTuple):
    """Nanoseconds of one request, from the moment at which all arrive."""

    ttft_ns: float
    tpot_ns: float
    e2e_ns: float

    @classmethod
    def of(cls, tokens_ns: Sequence[int]) -> Times:
        """From the instants at which its tokens existed, two at least."""
        first, last = tokens_ns[0], tokens_ns[-1]
        return cls(first, (last - first) / (len(tokens_ns) - 1), last)


def play_scene(engine: Engine, timed_by: TimedBy) -> tuple[list[int], list[Times]]:
    """Serve the scene for real; prompt lengths as they came out, and times."""
    runs, steps = calibrate.serve(engine, SCENE_REQUESTS, timed_by)
    tokens: dict[int, list[int]] = {}
    now = 0
    for row, ns in steps:
        now += ns
        for share in row.shares:
            tokens.setdefault(share.ticket, []).extend([now] * share.emitted)
    return [len(run.header.prompt_tokens) for run in runs], [Times.of(tokens[run.header.ticket or 0]) for run in runs]


def foretell_scene(engine: Engine, clock: Fitted, n_prompts: Sequence[int]) -> list[Times]:
    """Play the same requests out on the virtual clock."""
    arrivals = [Arrival(0, n_prompt, new) for n_prompt, (_, new) in zip(n_prompts, SCENE_REQUESTS, strict=True)]
    room = CountedRoom.for_budget(engine.shape, engine.shape.weight_bytes + (1 << 30), SCENE.max_running)
    runs = Simulator(engine.shape, Machine(clock, room, SCENE)).run(arrivals).runs
    return [Times.of([one.end_ns for one in run.passes for _ in one.emitted]) for run in runs]


def compare_scene(engine: Engine, clock: Fitted, rounds: int, timed_by: TimedBy) -> dict[str, Any]:
    """Each request's times, measured (the fastest of `rounds` scenes) and foretold."""
    engine.policy = SCENE
    played = [play_scene(engine, timed_by) for _ in range(rounds)]
    foretold = foretell_scene(engine, clock, played[0][0])
    scenes = [times for _, times in played]
    return {
        name: _compared(
            [[getattr(one, name) for one in scene] for scene in scenes], [getattr(one, name) for one in foretold]
        )
        for name in Times._fields
    }


def _compared(measured: list[list[float]], foretold: list[float]) -> dict[str, Any]:
    fastest = [min(values) for values in zip(*measured, strict=True)]
    errors = [abs(told / seen - 1) for told, seen in zip(foretold, fastest, strict=True)]
    return {
        "measured_ns": fastest, "foretold_ns": foretold, "median_error": statistics.median(errors),
        "worst_error": max(errors),
    }  # fmt: skip


def measure(
    model: str, rounds: int, threads: int | None, timed_by: TimedBy, *, keep: bool
) -> tuple[dict[str, Any], list[Point]]:
    """Everything, as a JSON-ready object, and the points that were foretold."""
    engine = Engine.load(model, threads=threads, policy=MEASURING)
    n_threads = engine.run(Request("Once", SamplingParams(max_new_tokens=1))).header.device.threads
    points = calibrate.measure(engine, rounds=rounds, timed_by=timed_by)
    found, held_out = calibrate.calibrate(points, engine.shape.name, n_threads, timed_by)
    if keep:
        calibrate.save(found)
    result = {
        "benchmark": "virtual_clock",
        "calibration": msgspec.to_builtins(found),
        "scene": compare_scene(engine, found.clock(), max(2, rounds), timed_by),
        "rounds": rounds,
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "points": msgspec.to_builtins(points),
    }
    return result, held_out


def _points_table(found: Calibration, held_out: Sequence[Point]) -> Table:
    where = f"{found.model} on {found.cpu}, {found.threads} thread(s), {found.timed_by} time"
    title = f"{where}: steps that the fit has not seen"
    table = Table(title=title, title_justify="left")
    for name in ("step", "sequences", "tokens each", "after", "measured", "median", "n", "foretold", "error"):
        table.add_column(name, justify="left" if name == "step" else "right")
    clock = found.clock()
    for point in held_out:
        told = clock.ns(point.works)
        numbers = [str(value) for value in (point.n_sequences, point.n_tokens, point.start_position)]
        times = [f"{ns / 1e6:.3f} ms" for ns in (point.ns, point.median_ns)]
        error = f"{told / point.ns - 1:+.0%}"
        table.add_row(point.kind, *numbers, *times, str(point.n), f"{told / 1e6:.3f} ms", error)
    return table


def _errors_table(found: Calibration, scene: dict[str, Any]) -> Table:
    table = Table(title="Errors of what was foretold", title_justify="left")
    for name in ("what", "median", "worst", "against medians", "n", "wanted"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for name, errors in (("prefill step", found.prefill), ("decode step", found.decode)):
        table.add_row(name, *_percents(errors), str(errors.n), f"median under {WANTED:.0%}")
    names = {"ttft_ns": "scene: time to first token", "tpot_ns": "scene: time a token", "e2e_ns": "scene: end to end"}
    for key, name in names.items():
        one = scene[key]
        n = str(len(one["measured_ns"]))
        table.add_row(name, f"{one['median_error']:.1%}", f"{one['worst_error']:.1%}", "", n, "")
    return table


def _percents(errors: Errors) -> list[str]:
    return [f"{value:.1%}" for value in (errors.median, errors.worst, errors.median_against_medians)]


def _times_table(found: Calibration) -> Table:
    table = Table(title=f"Times fitted to {found.n_fitted} kinds of steps", title_justify="left")
    table.add_column("ingredient")
    table.add_column("nanoseconds", justify="right")
    for name, value in msgspec.structs.asdict(found.times).items():
        table.add_row(name.removesuffix("_ns").replace("_", " "), f"{value:,.0f}")
    return table


def main(
    model: Annotated[str, typer.Option(help="Name or folder of the model.")] = "story",
    rounds: Annotated[int, typer.Option(min=1, help="How often every kind of step is measured.")] = calibrate.ROUNDS,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two.")] = None,
    processor_time: Annotated[
        bool, typer.Option("--processor-time", help="Count what the compute thread got, not what the wall shows.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the fitted times for the simulator.")] = False,
) -> None:
    """Fit and check the virtual clock; prints tables and a last line of JSON."""
    if processor_time and threads != 1:
        raise typer.BadParameter("Processor time counts one thread: add --threads 1.")
    result, held_out = measure(model, rounds, threads, "processor" if processor_time else "wall", keep=keep)
    found = msgspec.convert(result["calibration"], Calibration)
    console = Console(width=max(120, Console().width))
    for table in (_points_table(found, held_out), _times_table(found), _errors_table(found, result["scene"])):
        console.print(table)
    print(json.dumps(result))


if __name__ == "__main__":
    typer.run(main)
