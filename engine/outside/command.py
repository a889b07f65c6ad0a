"""`python -m engine outside URL PROMPT`: ask any OpenAI-compatible server once, show what can be seen from here."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.account.record import Error, Sampling
from engine.loop.request import MAX_TEMPERATURE
from engine.outside.server import OutsideError, outside_server
from engine.outside.stream import Patience, ask


def outside(
    url: Annotated[str, typer.Argument(help="Address of the server, e.g. http://127.0.0.1:8000, /v1 or not.")],
    prompt: Annotated[str, typer.Argument(help="Text for the model to continue.")],
    model: Annotated[str | None, typer.Option(help="The model's name there; by default the first it lists.")] = None,
    new: Annotated[int, typer.Option(min=1, help="Most tokens to generate.")] = 32,
    temperature: Annotated[float, typer.Option(min=0, max=MAX_TEMPERATURE, help="0 takes the likeliest token.")] = 0.0,
    top_p: Annotated[float, typer.Option(min=0, max=1, help="1 keeps all tokens.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="For servers that keep to it.")] = 0,
    key: Annotated[str | None, typer.Option(envvar="TWOSPEEDS_OUTSIDE_KEY", help="What the server asks for.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the next bytes.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print the record itself and nothing else.")] = False,
    save: Annotated[Path | None, typer.Option(help="Also write the record to this file.")] = None,
) -> None:
    """Time an engine from outside: vLLM, SGLang, llama.cpp's server, Ollama, or another of ours."""
    from engine.account import any_record

    sampling = Sampling(temperature=temperature, top_p=top_p, seed=seed, max_new_tokens=new)
    try:
        server = outside_server(url, model, key)
        run = asyncio.run(ask(server, prompt, sampling, patience=Patience(silent_s=timeout)))
        if save:
            save.write_bytes(any_record.dumps(run))
    except OutsideError as no:
        _refuse(no.message)
    except OSError as error:
        _refuse(str(error))
    if json:
        sys.stdout.buffer.write(any_record.dumps(run))
    elif run.chunks:
        from rich.console import Console

        from engine.outside.table import chunks_table, figures_table

        console = Console()
        console.print(chunks_table(run))
        console.print(figures_table(run))
    if isinstance(run.end, Error):
        _refuse(run.end.message)


def _refuse(message: str) -> None:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    raise typer.Exit(2)
