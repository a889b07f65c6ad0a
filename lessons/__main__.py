"""Tools for people who write or teach lessons; a command that meets faults names them and ends with exit code 1.

`python -m lessons` with `check [FILES]` (faults by file and line), `preview FILE` (a lesson while it is written),
`key [FILES]` (answers and teachers' notes as Markdown) or `handout 1 out.html` (a lesson on paper).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from lessons import catalogue
from lessons.check import check_files
from lessons.parse import read_lesson
from lessons.structure import Lesson

LOOK_EVERY_S = 0.5

Language = Annotated[str, typer.Option(help="The lessons' language, as in es; English where it has none.")]

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


@app.command()
def key(
    files: Annotated[list[Path] | None, typer.Argument(help="Lesson files; without any, every lesson.")] = None,
    out: Annotated[Path | None, typer.Option(help="A file to write; without it, to the terminal.")] = None,
    language: Language = catalogue.DEFAULT_LANGUAGE,
) -> None:
    """Write the answer key with teachers' notes, as Markdown."""
    from views.answer_key import course_key  # the interface is not loaded for what does not need it

    written = course_key([_lesson(str(path)) for path in files or catalogue.translated_files(language)])
    if out is None:
        typer.echo(written, nl=False)
    else:
        out.write_text(written, encoding="utf-8")
        typer.echo(f"Wrote {out}.")


@app.command()
def handout(
    lesson: Annotated[str, typer.Argument(help="The lesson's number, as in 1, or its file.")],
    out: Annotated[Path, typer.Argument(help="The HTML file to write.")],
    language: Language = catalogue.DEFAULT_LANGUAGE,
) -> None:
    """Write a lesson with its recorded run as one HTML file to print."""
    from views.handout import handout as written

    out.write_text(written(_lesson(lesson, language)), encoding="utf-8")
    typer.echo(f"Wrote {out}.")


@app.command()
def preview(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The lesson file.")],
    port: Annotated[int, typer.Option(help="Port of the app that shows it.")] = 8599,
) -> None:
    """Show a lesson in an app of its own while it is written; every save checks it and draws it again."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = os.environ | {"TWOSPEEDS_PREVIEW": str(file.resolve())}
    shown = subprocess.Popen(command, cwd=catalogue.HOME.parent, env=environment)
    typer.echo(f"http://127.0.0.1:{port}/preview shows {file}. End with Ctrl-C.")
    try:
        _check_on_every_save(file, while_true=lambda: shown.poll() is None)
        raise typer.Exit(1)  # the app has ended by itself, and has said why
    except KeyboardInterrupt:
        pass
    finally:
        shown.terminate()
        shown.wait()


def _check_on_every_save(file: Path, while_true: Callable[[], bool]) -> None:
    """Name the faults at first and whenever the file has changed."""
    seen = -1
    while while_true():
        if file.is_file() and (saved := file.stat().st_mtime_ns) != seen:
            seen = saved
            faults = check_files([file])
            typer.echo("\n".join(str(fault) for fault in faults) or f"{file}: no faults.")
        time.sleep(LOOK_EVERY_S)


def _lesson(named: str, language: str = catalogue.DEFAULT_LANGUAGE) -> Lesson:
    """A lesson by its number or its file; ends the command in plain words if there is none or it has faults."""
    files = catalogue.translated_files(language)
    numbered = [path for path in files if named.isdecimal() and int(path.name[:2]) == int(named)]
    path = numbered[0] if numbered else Path(named)
    if not path.is_file():
        raise typer.BadParameter(f"there is no lesson {named!r}")
    if faults := check_files([path]):
        typer.echo("\n".join(str(fault) for fault in faults), err=True)
        raise typer.Exit(1)
    return read_lesson(path)


if __name__ == "__main__":
    app()
