"""The engine from the shell: `python -m engine run PROMPT`, `serve`, `load`, `fetch`, `models`, `probe`, `preflight`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn, get_args

import msgspec
import typer

from engine.account.probe_command import probe
from engine.account.record import Error, Run, Serving
from engine.cluster.command import cluster
from engine.loop.policy import Policy, PolicyName
from engine.outside.command import outside
from engine.preflight.command import preflight
from engine.serve.load_command import load

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Run or serve a hybrid language model.",
)

ModelOption = Annotated[
    str,
    typer.Option(
        help="Name of a bundled or fetched model, a path to a model folder, or random:SHAPE for random weights."
    ),
]


DeviceOption = Annotated[str, typer.Option(help="Where the model is put: cpu, cuda, cuda:1 and so on.")]


@app.command()
def run(
    prompt: Annotated[str, typer.Argument(help="Text for the model to continue.")],
    new: Annotated[int, typer.Option(help="Most tokens to generate.")] = 10,
    model: ModelOption = "story",
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token each time.")] = 0.0,
    top_k: Annotated[int, typer.Option(help="Keep only so many likeliest tokens; 0 keeps all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Keep the likeliest tokens up to this probability; 1 keeps all.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Same seed, same tokens.")] = 0,
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos", help="Go on after the end-of-text token.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two.")] = None,
    device: DeviceOption = "cpu",
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep nothing: redo the prefix each step.")] = False,
    drafts: Annotated[int, typer.Option(help="Guess so many tokens ahead by looking them up; 0: none.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the record itself and nothing else.")] = False,
    save: Annotated[Path | None, typer.Option(help="Also write the record to this file.")] = None,
) -> None:
    """Serve one prompt and show its passes: one prefill pass, then a decode pass for each further token."""
    from engine.account import record_file
    from engine.loop.request import Request, SamplingParams

    try:
        # Before the model is loaded: what can be refused at once is.
        serving = Serving(
            cache="recomputed" if no_cache else "kept",
            drafts="prompt_lookup" if drafts else "none",
            n_drafts=drafts or Serving().n_drafts,
        )
        request = Request(prompt, SamplingParams(temperature, top_k, top_p, seed, new, ignore_eos), serving=serving)
        finished = _serve_one(request, model, threads, device)
        if save:
            record_file.save(finished, save)
    except (ValueError, OSError) as error:
        # RequestError, ModelNotFound and CheckpointError are ValueErrors written for people.
        _refuse(str(error))
    if json:
        sys.stdout.buffer.write(record_file.dumps(finished))
    else:
        _show(finished)
    if isinstance(finished.end, Error):
        _refuse(finished.end.message)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; anything but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8600,
    model: ModelOption = "story",
    token: Annotated[str | None, typer.Option(envvar="TWOSPEEDS_ENGINE_TOKEN", help="What clients must send.")] = None,
    lifeline: Annotated[bool, typer.Option("--lifeline", help="End when standard input closes.")] = False,
    policy: Annotated[str, typer.Option(help=f"How steps are put together: {', '.join(get_args(PolicyName))}.")] = (
        "decode_first"
    ),
    max_running: Annotated[int, typer.Option(help="Most requests that run at once.")] = 16,
    chunk: Annotated[int, typer.Option(help="Most prompt tokens of a step in which others decode; 0: whole.")] = 64,
    draft_model: Annotated[str | None, typer.Option(help="A smaller model with the same tokens that guesses.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two, or one.")] = None,
    device: DeviceOption = "cpu",
    max_waiting: Annotated[
        int | None,
        typer.Option(min=1, envvar="TWOSPEEDS_MAX_WAITING", help="Refuse a request when so many wait; by default 128."),
    ] = None,
) -> None:
    """Serve over HTTP until stopped; prints one line of JSON with the address."""
    from engine.serve import server

    try:
        rules = msgspec.convert({"name": policy, "max_running": max_running, "chunk": chunk or None}, Policy)
    except ValueError as error:
        _refuse(str(error))
    settings = server.LoadSettings(threads, rules, draft_model, device)
    server.serve(
        host=host, port=port, model=model, token=token, lifeline=lifeline, max_waiting=max_waiting, settings=settings
    )


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A model's name (`models` lists them), or a path to a .gguf file.")],
    again: Annotated[bool, typer.Option("--again", help="Replace the one that is here.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Tell the progress and the end as lines of JSON.")] = False,
) -> None:
    """Bring a model to this machine, into the user's cache folder."""
    from engine.fetch.command import fetch as bring
    from engine.fetch.reports import Bars, Lines, say

    try:
        if json:
            say(folder=str(bring(name, Lines(), again=again)))
            return
        with Bars() as bars:
            folder = bring(name, bars, again=again)
    except (ValueError, OSError) as error:
        if json:
            say(error=str(error))
        _refuse(str(error))
    print(f"{folder.name} is in {folder}")


@app.command()
def models() -> None:
    """List the models that are here, and those that can be fetched."""
    from rich.console import Console

    from engine.fetch.listing import fetchable_table, models_table

    console = Console()
    console.print(models_table())
    console.print(fetchable_table())


app.command()(load)
app.command()(probe)
app.command()(cluster)
app.command()(outside)
app.command()(preflight)


def _serve_one(request: object, model: str, threads: int | None, device: str) -> Run:
    from engine.loop.engine import Engine
    from engine.loop.request import Request

    assert isinstance(request, Request)
    with Engine.load(model, threads=threads, device=device) as engine:
        return engine.run(request)


def _show(finished: Run) -> None:
    from rich.console import Console

    from engine.account.run_table import passes_table, timings_table

    console = Console()
    console.print(passes_table(finished))
    console.print(timings_table(finished))


def _refuse(message: str) -> NoReturn:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
