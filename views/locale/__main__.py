"""Commands for translators; one that meets faults names them by file and line and ends with exit code 1.

`python -m views.locale update` brings every catalogue up to date with the words in the code and compiles it, `check`
lists what is not translated, `add pl` begins a language.
"""

from __future__ import annotations

from typing import Annotated

import typer

from views.locale import catalogue
from views.words import DEFAULT, LANGUAGES

app = typer.Typer(add_completion=False, help="Tools for translators.")


@app.command()
def update() -> None:
    """Add new words, drop those that are gone, compile; then the same as `check`."""
    for language in LANGUAGES:
        if language != DEFAULT:
            catalogue.update(language)
    check()


@app.command()
def check() -> None:
    """Name every word without a translation, and every translation with a fault."""
    faults = [fault for language in LANGUAGES if language != DEFAULT for fault in catalogue.faults(language)]
    for fault in faults:
        typer.echo(fault)
    if faults:
        raise typer.Exit(1)
    typer.echo(f"{len(catalogue.used())} messages, no faults.")


@app.command()
def add(language: Annotated[str, typer.Argument(help="The language's two letters, as in pl.")]) -> None:
    """Begin a language: an empty catalogue to fill in."""
    if catalogue.po_path(language).exists():
        raise typer.BadParameter(f"{catalogue.po_path(language)} is there already")
    catalogue.update(language)
    typer.echo(f"Fill in {catalogue.po_path(language)}, and name the language in views/words.py (LANGUAGES).")


if __name__ == "__main__":
    app()
