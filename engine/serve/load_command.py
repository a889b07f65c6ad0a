"""`python -m engine load`: a load test from the shell."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import msgspec
import typer

from engine.account.record import Run

if TYPE_CHECKING:
    from engine.account.goodput import Limits
    from engine.account.workload import Workload
    from engine.loop.arrivals import ArrivalProcess
    from engine.serve.client import EngineClient
    from engine.serve.load import Tally, Watcher
    from engine.serve.load_plan import LoadOptions, LoadPlan
    from engine.serve.load_result import LoadResult


def load(
    url: Annotated[str | None, typer.Option(help="An engine that runs; without it one is started here.")] = None,
    token: Annotated[str | None, typer.Option(envvar="TWOSPEEDS_ENGINE_TOKEN", help="What that engine asks.")] = None,
    rate: Annotated[float | None, typer.Option(help="Open loop: requests a second, whatever happens.")] = None,
    users: Annotated[int | None, typer.Option(help="Closed loop: so many ask one after another; by default 4.")] = None,
    think: Annotated[float, typer.Option(help="Closed loop: mean pause after an answer, in seconds.")] = 0.0,
    requests: Annotated[int | None, typer.Option(help="How many; by default 50, or as many as fit the time.")] = None,
    seconds: Annotated[float | None, typer.Option(help="No new request after so long.")] = None,
    lengths: Annotated[str, typer.Option(help="chat, code, another name, or P,N for prompt and new tokens.")] = "chat",
    arrivals: Annotated[str, typer.Option(help="Open loop: poisson, constant or bursts.")] = "poisson",
    cancel: Annotated[float, typer.Option(help="Share of requests whose user leaves early, 0 to 1.")] = 0.0,
    reuse_prefix: Annotated[bool, typer.Option("--reuse-prefix", help="Requests share beginnings, kept.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same requests.")] = 0,
    workload: Annotated[Path | None, typer.Option(help="Replay a recorded workload, such as a class's.")] = None,
    speed: Annotated[float, typer.Option(help="Replay so many times as fast as it was.")] = 1.0,
    ttft: Annotated[float, typer.Option(help="Goodput's limit on the time to first token, in ms.")] = 1000.0,
    tpot: Annotated[float, typer.Option(help="Goodput's limit on the time per output token, in ms.")] = 100.0,
    model: Annotated[str | None, typer.Option(help="The model to start, or whose tokenizer counts prompts.")] = None,
    policy: Annotated[str | None, typer.Option(help="Scheduling policy of an engine started here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write every run's record to this file, one a line.")] = None,
) -> None:
    """Put load on an engine and report latencies, throughput and who was not served well."""
    from engine.account.workload import read_workload
    from engine.serve.load import run_load
    from engine.serve.load_plan import LoadOptions

    try:
        if url is not None and policy is not None:
            raise ValueError("--policy is for an engine started here; one that runs already has its own.")
        options = LoadOptions(
            rate=rate, users=4 if rate is None and users is None and workload is None else users, think_s=think,
            requests=requests, seconds=seconds, lengths=lengths, arrivals=cast("ArrivalProcess", arrivals),
            cancel=cancel, reuse_prefix=reuse_prefix, seed=seed,
            workload=workload.name if workload else None, speed=speed,
        )  # fmt: skip
        recorded = read_workload(workload.read_bytes()) if workload else None
        limits = _limits(ttft, tpot)
        with _engine(url, token, model, policy) as client, _kept(save) as keep:
            plan = _plan(client, options, model, recorded)
            with _progress(plan.planned) as watch:
                result = run_load(client, plan, limits=limits, watch=watch, keep=keep)
    except (ValueError, OSError) as error:
        # BadLoad, BadWorkload, ModelNotFound, CheckpointError, EngineRefused, EngineUnavailable: written for people.
        _refuse(str(error))
    _show(result, quiet=json)
    if result.interrupted:
        raise typer.Exit(130)


def _limits(ttft_ms: float, tpot_ms: float) -> Limits:
    from engine.account.goodput import Limits

    if not (ttft_ms > 0 and tpot_ms > 0):
        raise ValueError("The limits --ttft and --tpot must be above 0 milliseconds.")
    return Limits(round(ttft_ms * 1e6), round(tpot_ms * 1e6))


@contextlib.contextmanager
def _engine(url: str | None, token: str | None, model: str | None, policy: str | None) -> Iterator[EngineClient]:
    """The engine at an address, or one of our own for as long as the context lasts; ready in both cases."""
    from engine.serve.client import EngineClient, EngineUnavailable
    from engine.serve.launch import EngineProcess, default_command

    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"--url must begin with http:// or https://; it is {url!r}.")
        with EngineClient(url, token) as client:
            _until_ready(client)
            yield client
        return
    chosen = [part for name, value in (("--model", model), ("--policy", policy)) if value for part in (name, value)]
    process = EngineProcess([*default_command(), *chosen])
    try:
        address = process.read_url()
        if address is None:
            raise EngineUnavailable("The engine did not start; what it said is above.")
        with EngineClient(address) as client:
            _until_ready(client)
            yield client
    finally:
        process.stop()


def _until_ready(client: EngineClient) -> None:
    while (health := client.health()).status in ("starting", "loading"):
        time.sleep(0.1)
    if health.status != "ready":
        raise ValueError(health.message or "The engine is not ready.")


def _plan(client: EngineClient, options: LoadOptions, model: str | None, recorded: Workload | None = None) -> LoadPlan:
    from engine.loop.model_folder import ModelNotFound, find_model
    from engine.model.tokenizer import Tokenizer
    from engine.serve.load_plan import LoadPlan
    from engine.serve.load_prompts import Prompts

    shape = client.models()[0]
    try:
        folder = find_model(model or shape.name)
    except ModelNotFound as missing:
        raise ValueError(f"{missing} Its tokenizer is needed to make prompts of a given length (--model).") from None
    return LoadPlan(options, Prompts(Tokenizer(folder).encode), shape.context_length, recorded)


@contextlib.contextmanager
def _kept(save: Path | None) -> Iterator[Callable[[Run], None]]:
    """Writes each run as one line: the saved form of `record_file` without its line ends."""
    from engine.account.record_file import dumps

    if save is None:
        yield lambda run: None
        return
    with save.open("wb") as file:

        def keep(run: Run) -> None:
            file.write(dumps(run).replace(b"\n", b"") + b"\n")

        yield keep


@contextlib.contextmanager
def _progress(planned: int | None) -> Iterator[Watcher]:
    """A bar on standard error while requests are under way; nothing if nobody looks there."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=planned)

        def watch(tally: Tally) -> None:
            under_way = tally.sent - tally.ended
            bar.update(task, completed=tally.ended, description=f"{under_way} under way, {tally.refused} refused")

        yield watch


def _show(result: LoadResult, *, quiet: bool) -> None:
    """Tables for people, and one line of JSON for programs, last."""
    from rich.console import Console

    from engine.account.service_table import service_tables
    from engine.serve.load_table import client_table, request_table

    if not quiet:
        console = Console()
        console.print(request_table(result), service_tables(result.engine), client_table(result))
    sys.stdout.write(msgspec.json.encode(result).decode() + "\n")
    sys.stdout.flush()


def _refuse(message: str) -> NoReturn:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    raise typer.Exit(2)
