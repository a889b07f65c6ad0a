"""The interface's own words go through gettext, in the language of the person who looks at the page.

Many people are served by one process, one thread each, so nothing here is switched for all: `_` looks the language up
when a word is shown. A word in a module-level constant is only marked, with `N_`, and goes through `_` where it is
shown (a table of them: `Words`); a test finds every `_` that runs at import. Catalogues lie in views/locale
(`python -m views.locale`), lessons are files of their own (`lessons/<language>`).
"""

from __future__ import annotations

import gettext
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeVar

from streamlit.runtime.scriptrunner import get_script_run_ctx

from lessons import words as lesson_words
from lessons.words import N_ as N_

K = TypeVar("K")

LOCALE = Path(__file__).resolve().parent / "locale"
DOMAIN = "twospeeds"

LANGUAGES = {"en": "English", "es": "Español"}
"""Code -> its own name; the first is the language of the code, which needs no catalogue."""
DEFAULT = next(iter(LANGUAGES))

# A script's thread belongs to one visitor for as long as it lives, and starts with nothing in it.
_spoken: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The language of whoever this thread draws for; English where that is nobody, as in a command."""
    if (known := _spoken.get()) is not None:
        return known
    if get_script_run_ctx(suppress_warning=True) is None:
        return DEFAULT
    from views.language import of_visitor  # that module shows words itself

    return speak(of_visitor())


def speak(code: str) -> str:
    """From here on this thread shows its words in this language."""
    _spoken.set(code)
    return code


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Show words in this language for a while, as a command does that writes a file in it."""
    before = _spoken.set(code)
    try:
        yield
    finally:
        _spoken.reset(before)


def speaking_as(code: str) -> AbstractContextManager[None]:
    """Show words in this language for a while if it is one of ours, else as before."""
    return speaking(code if code in LANGUAGES else language())


def _(message: str) -> str:
    """The message in the language of the person."""
    # The empty message is the catalogue's own head.
    return _catalogue(language()).gettext(message) if message else ""


def ngettext(one: str, other: str, n: int) -> str:
    """The message with the plural that `n` asks for in the language of the person."""
    return _catalogue(language()).ngettext(one, other, n)


class Words(Mapping[K, str]):
    """A table of words, marked with `N_`; each is looked up in the person's language when it is taken out."""

    def __init__(self, messages: Mapping[K, str]) -> None:
        self._messages = messages

    def __getitem__(self, key: K) -> str:
        return _(self._messages[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)


# What lessons write themselves, such as units, follows the person too.
lesson_words.translate_with(_)


@cache
def _catalogue(code: str) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, LOCALE, [code], fallback=True)
