"""`python -m lessons check [FILES]`: name the faults of the lessons by file and line; exit code 1 if there are any."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lessons import catalogue
from lessons.check import check_files

app = typer.Typer(add_completion=False, help="Tools for people who write lessons.")


@app.callback()
def lessons() -> None:
    """Tools for people who write lessons."""


@app.command()
def check(
    files: Annotated[list[Path] | None, typer.Argument(help="Lesson files; without any, every lesson.")] = None,
) -> None:
    """Name faults by file and line."""
    every = [path for language in sorted(catalogue.HOME.glob("??")) for path in catalogue.lesson_files(language.name)]
    chosen = files or every
    faults = check_files(chosen)
    for fault in faults:
        typer.echo(str(fault))
    if faults:
        raise typer.Exit(1)
    typer.echo(f"{len(chosen)} {'lesson' if len(chosen) == 1 else 'lessons'}, no faults.")


if __name__ == "__main__":
    app()
