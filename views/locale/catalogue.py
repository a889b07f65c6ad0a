"""The words in the code and the catalogues of their translations, as gettext keeps them (.po to edit, .mo to use).

The words are found in the syntax tree and not by gettext's own tools, because those do not look into f-strings.
The compiled .mo lies in the tree beside its .po, so that the app needs neither Babel nor a build; `faults` says when it
is older.
"""

from __future__ import annotations

import ast
import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from views.words import DOMAIN, LOCALE

ROOT = LOCALE.parents[1]
FOLDERS = ("lessons", "pages", "views")
ARGUMENTS = {"_": 1, "N_": 1, "ngettext": 2, "counted": 2}
"""Function -> how many of its first arguments are a message."""
# {name}, {name:.1f} and Plotly's %{x}; `code`; <br>; **; a line break at either end.
_KEPT = re.compile(r"%?\{[^{}]*\}|`[^`]*`|</?[a-z][^>]*>|\*\*|^\n|\n$")

_PROJECT: dict[str, Any] = {"project": "Two Speeds", "version": "1", "msgid_bugs_address": "", "fuzzy": False}

Key = str | tuple[str, str]
"""A message, or its singular and plural in English."""


def po_path(language: str) -> Path:
    """The catalogue that people edit."""
    return LOCALE / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def used() -> dict[Key, list[tuple[str, int]]]:
    """Every message in the code, with the files and lines where it stands; in the order of the files."""
    found: dict[Key, list[tuple[str, int]]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            for key, line in messages_in(path.read_text(encoding="utf-8")):
                found.setdefault(key, []).append((where, line))
    return found


def messages_in(source: str) -> Iterator[tuple[Key, int]]:
    """The messages of one module, in order of their lines."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda one: one.lineno):
        n = ARGUMENTS.get(call.func.id, 0) if isinstance(call.func, ast.Name) else 0
        texts = [one.value for one in call.args[:n] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if n and len(texts) == n:
            yield texts[0] if n == 1 else (texts[0], texts[1]), call.lineno


def read(language: str) -> Catalog:
    """A language's catalogue; an empty one if it has none yet."""
    path = po_path(language)
    if not path.exists():
        return Catalog(language, last_translator="", language_team="", **_PROJECT)
    with path.open("rb") as file:
        return read_po(file, language)


def update(language: str) -> None:
    """Write the catalogue with exactly the messages of the code, known translations kept, and compile it."""
    known = read(language)
    new = Catalog(language, header_comment="# The interface of Two Speeds.", **_PROJECT)
    # With them come the dates, so that nothing changes without cause, and the plural rule.
    new.mime_headers = known.mime_headers
    for key, places in used().items():
        kept = known.get(_msgid(key))
        files = dict.fromkeys((where, 0) for where, _line in places)
        string = _in_forms(_strings(kept), key, new.num_plurals) if kept else None
        new.add(key, string, locations=list(files), flags=kept.flags if kept else ())
    path = po_path(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, new, width=120, include_lineno=False)
    path.with_suffix(".mo").write_bytes(compiled(language))


def _in_forms(strings: tuple[str, ...], key: Key, n_plurals: int) -> str | tuple[str, ...]:
    """A known translation as its message needs it now: one that has become a plural keeps its word as the first form,
    and lacks the others until somebody fills them in.
    """
    return (*strings, *[""] * n_plurals)[:n_plurals] if isinstance(key, tuple) else strings[0]


def compiled(language: str) -> bytes:
    """What the .mo must hold."""
    file = io.BytesIO()
    write_mo(file, read(language))
    return file.getvalue()


def faults(language: str) -> Iterator[str]:
    """Everything that is wrong with a catalogue, with file and line where a word has none."""
    catalogue, words = read(language), used()
    for key, places in words.items():
        (where, line), message = places[0], catalogue.get(_msgid(key))
        if message is None or not all(_strings(message)):
            yield f"{where}:{line}: not in {language}: {_msgid(key)!r}"
        elif message.fuzzy:
            yield f"{where}:{line}: to be looked at in {language}: {_msgid(key)!r}"
        elif wrong := _broken(message):
            yield f"{where}:{line}: in {language} {wrong}: {_msgid(key)!r}"
    known = {_msgid(key) for key in words}
    for message in catalogue:
        if message.id and _singular(message) not in known:
            yield f"{po_path(language).relative_to(ROOT)}: no longer in the code: {_singular(message)!r}"
    if not po_path(language).with_suffix(".mo").exists() or _is_old(language):
        yield f"{po_path(language).relative_to(ROOT)}: not compiled; run `python -m views.locale update`"


def _is_old(language: str) -> bool:
    return po_path(language).with_suffix(".mo").read_bytes() != compiled(language)


def _broken(message: Message) -> str | None:
    """What of a message's places, code and tags its translation has not kept; of a plural each form may lack some."""
    originals = message.id if isinstance(message.id, tuple | list) else (message.id,)
    wanted = [Counter(_KEPT.findall(text)) for text in originals]
    for string in _strings(message):
        if Counter(_KEPT.findall(string)) not in wanted:
            return f"{string!r} has other places, code or tags"
    return None


def _strings(message: Message) -> tuple[str, ...]:
    told = message.string
    return tuple(one or "" for one in (told if isinstance(told, tuple | list) else (told,)))


def _singular(message: Message) -> str:
    return message.id[0] if isinstance(message.id, tuple) else str(message.id)


def _msgid(key: Key) -> str:
    return key[0] if isinstance(key, tuple) else key
