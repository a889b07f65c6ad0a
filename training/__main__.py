"""The commands: `python -m training prepare`, `train`, `export` and `sample`."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from training.prepare import prepare as prepare_tokens
from training.train import Plan
from training.train import train as run_training

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
WORK = Path("models/.training")


@app.command()
def prepare(stories: Annotated[Path, typer.Argument(help="Folder of the story files")], work: Path = WORK, seed: int = 0) -> None:
    """Split and clean the stories, train the tokenizer, and write token files."""
    counts = prepare_tokens(stories, work / "tokens", seed)
    for name, source in counts["sources"].items():
        typer.echo(f"{name}: {source['stories']:,} stories, {source['tokens']:,} tokens")


@app.command()
def train(
    minutes: Annotated[float, typer.Option(help="Training time over all sittings")] = 110,
    work: Path = WORK,
    seed: int = 0,
    compile_layers: Annotated[bool, typer.Option("--compile/--no-compile")] = True,
    steps: Annotated[int | None, typer.Option(help="Stop after so many steps")] = None,
    threads: Annotated[int, typer.Option(help="CPU threads")] = torch.get_num_threads(),
) -> None:
    """Train, or go on training from the state in the work folder. SIGTERM saves and ends."""
    torch.set_num_threads(threads)
    run_training(Plan(minutes, work / "tokens", work, seed, compile_layers, steps))


if __name__ == "__main__":
    app()
