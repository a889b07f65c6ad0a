"""`python -m engine cluster`: several engines behind one address."""

from __future__ import annotations

import importlib.util
import sys
from typing import Annotated, NoReturn, get_args

import msgspec
import typer

from engine.loop.policy import Policy, PolicyName


def cluster(
    replicas: Annotated[int, typer.Option(min=1, help="How many engines, each for prefill and decode.")] = 2,
    prefill: Annotated[int, typer.Option(min=0, help="Or: how many for prefill alone; --decode with it.")] = 0,
    decode: Annotated[int, typer.Option(min=0, help="And how many for decode alone.")] = 0,
    address: Annotated[str | None, typer.Option(help="A Ray cluster that runs; by default one starts here.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; anything but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8600,
    model: Annotated[str, typer.Option(help="As for `serve`; every engine's machine must have it.")] = "story",
    token: Annotated[str | None, typer.Option(envvar="TWOSPEEDS_ENGINE_TOKEN", help="What clients must send.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Compute threads of an engine.")] = 1,
    cpus: Annotated[float | None, typer.Option(help="CPUs that Ray sets aside for an engine; by default its threads.")]
    = None,
    gpus: Annotated[float | None, typer.Option(help="GPUs likewise; by default 1 where there is one for each.")] = None,
    policy: Annotated[str, typer.Option(help=f"Each engine's: {', '.join(get_args(PolicyName))}.")] = "decode_first",
    max_running: Annotated[int, typer.Option(help="Most requests that an engine runs at once.")] = 16,
    draft_model: Annotated[str | None, typer.Option(help="A smaller model with the same tokens that guesses.")] = None,
    lifeline: Annotated[bool, typer.Option("--lifeline", help="End when standard input closes.")] = False,
) -> None:  # fmt: skip
    """Serve with several engines on Ray until stopped; prints one line of JSON with the address."""
    from engine.serve.guard import is_loopback

    if bool(prefill) != bool(decode):
        _refuse("--prefill and --decode go together: a prompt's memory has to come from one and go to the other.")
    if not is_loopback(host) and not token:
        _refuse(f"Listening on {host} lets other machines in. Give a token (--token or TWOSPEEDS_ENGINE_TOKEN).")
    if importlib.util.find_spec("ray") is None:
        _refuse("The cluster needs Ray: pip install -r requirements-cluster.txt")
    from engine.cluster.front import Address, tokenizer_of
    from engine.cluster.start import Wanted, run_cluster

    try:
        rules = msgspec.convert({"name": policy, "max_running": max_running}, Policy)
        tokenizer_of(model)  # before anything starts: a model that is not here is told at once
        here = Address(host, port, token, inside=address is None)
        wanted = Wanted(model, here, replicas, prefill, decode, address, threads, cpus, gpus, rules, draft_model)
        run_cluster(wanted, lifeline=lifeline)
    except (ValueError, OSError) as error:
        _refuse(str(error))


def _refuse(message: str) -> NoReturn:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    raise typer.Exit(2)
