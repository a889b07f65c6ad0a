"""Where lessons and their recordings lie."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from engine.account.record import Run
from engine.account.record_file import load
from lessons.parse import read_lesson
from lessons.structure import Lesson

HOME = Path(__file__).resolve().parent
RECORDINGS = HOME / "recordings"
DEFAULT_LANGUAGE = "en"


def lesson_files(language: str = DEFAULT_LANGUAGE) -> list[Path]:
    """The lesson files that one language has, in course order."""
    return sorted((HOME / language).glob("[0-9][0-9]-*.md"))


def translated_files(language: str) -> list[Path]:
    """The file of every lesson in course order: the language's own, in English where it has none."""
    theirs = {path.name: path for path in lesson_files(language)}
    return [theirs.get(path.name, path) for path in lesson_files()]


def lessons(language: str = DEFAULT_LANGUAGE) -> list[Lesson]:
    """Every lesson in course order, in English where the language has none; read again when a file has changed."""
    return [_read(path, path.stat().st_mtime_ns) for path in translated_files(language)]


def language_of(lesson: Lesson) -> str:
    """The language that a lesson is written in."""
    return lesson.path.parent.name


def prompt_text(source: str) -> str:
    """A preset's prompt: the text itself, or for `@name` what lessons/prompts/name.txt holds; raises `OSError`."""
    if not source.startswith("@"):
        return source
    return (HOME / "prompts" / f"{Path(source[1:]).name}.txt").read_text(encoding="utf-8").strip()


def recording_path(name: str) -> Path:
    """The file of a recording; it need not exist."""
    return RECORDINGS / f"{name}.json"


def recording(name: str) -> Run:
    """A recorded run by name; raises `RecordError` with a plain message, or `FileNotFoundError`."""
    path = recording_path(name)
    return _load(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Lesson:
    return read_lesson(path)


@cache
def _load(path: Path, _changed: int) -> Run:
    return load(path)
