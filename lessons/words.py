"""The few words that lessons write by themselves, such as units; in English until an interface translates them."""

from __future__ import annotations

from collections.abc import Callable


def N_(message: str) -> str:  # noqa: N802 (gettext's own name for it)
    """Mark a message for the extraction (`python -m views.locale`); it is translated where it is shown."""
    return message


_translator: list[Callable[[str], str]] = [N_]


def translate_with(translator: Callable[[str], str]) -> None:
    """From here on `shown` asks this function, which knows for whom a word is shown."""
    _translator[0] = translator


def shown(message: str) -> str:
    """A marked message in the language of the person for whom it is written."""
    return _translator[0](message)
