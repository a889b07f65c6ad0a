"""The commands: `python -m training prepare`, `train`, `export` and `sample`."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from training.export import export as export_folder
from training.model_card import Circumstances
from training.prepare import prepare as prepare_tokens
from training.sample import sample_stories
from training.train import Plan
from training.train import train as run_training

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
WORK, STORY = Path("models/.training"), Path("models/story")


@app.command()
def prepare(
    stories: Annotated[Path, typer.Argument(help="Folder of the story files")],
    work: Path = WORK,
    seed: int = 0,
    tokenizer: Annotated[Path | None, typer.Option(help="Use this tokenizer.json instead of a new one")] = None,
) -> None:
    """Split and tidy the stories, train the tokenizer, and write token files."""
    counts = prepare_tokens(stories, work / "tokens", seed, tokenizer)
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
    warm_start: Annotated[Path | None, typer.Option(help="Checkpoint folder that a new run begins with")] = None,
) -> None:
    """Train, or go on training from the state in the work folder. SIGTERM saves and ends."""
    torch.set_num_threads(threads)
    run_training(Plan(minutes, work / "tokens", work, seed, compile_layers, steps, warm_start))


@app.command()
def export(
    work: Path = WORK,
    folder: Path = STORY,
    hardware: Annotated[str, typer.Option(help="On what it was trained, for the model card")] = "a CPU",
    mean_with: Annotated[list[Path] | None, typer.Option(help="Earlier exports to average with")] = None,
    note: Annotated[str, typer.Option(help="What was changed on the way, for the model card")] = "",
) -> None:
    """Write the averaged weights as a checkpoint with its model card."""
    export_folder(work, folder, Circumstances(hardware, note), mean_with or [])
    typer.echo(f"wrote {folder}")


@app.command()
def sample(
    folder: Path = STORY, count: int = 20, temperature: float = 0.7, seed: int = 0, new_tokens: int = 300
) -> None:
    """Print stories, not selected."""
    for number, story in enumerate(sample_stories(folder, count, temperature, seed, new_tokens), start=1):
        typer.echo(f"[{number}] {story}\n")


if __name__ == "__main__":
    app()
