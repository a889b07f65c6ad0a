"""Read a lesson file: front matter, `:::directive argument` blocks, settings lines and prose.

The fences are those of MyST; markdown-it's colon_fence plugin finds them, and this module gives them meaning:

    :::predict passes          <- directive and argument
    answer: run.passes         <- settings, one a line, directly under the fence
                               <- a blank line
    How many passes?           <- Markdown
    :::

Nothing is executed and nothing raises on a faulty file: faults are collected with their lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from lessons.structure import Block, Fault, FrontMatter, Lesson, Setting

_SETTING = re.compile(r"([a-z][a-z_]*):(?:\s+(.*))?$")
_OPENING = re.compile(r":{3,}\s*[A-Za-z]")
_CLOSING = re.compile(r":{3,}\s*$")
_FILE_NAME = re.compile(r"(\d{2})-([a-z0-9]+(?:-[a-z0-9]+)*)")

_markdown = MarkdownIt("commonmark").use(front_matter_plugin).use(colon_fence_plugin)


def read_lesson(path: Path) -> Lesson:
    """Read and parse one lesson file; raises OSError if it cannot be read at all."""
    return parse_lesson(path.read_text(encoding="utf-8"), path)


def parse_lesson(text: str, path: Path) -> Lesson:
    """Parse a lesson's text; `path` names it in faults and gives its number and slug."""
    faults: list[Fault] = []
    number, slug = _number_and_slug(path, faults)
    tokens = [token for token in _markdown.parse(text) if token.level == 0 and token.map]
    front = _front_matter(tokens, path, faults)
    blocks = _blocks(tokens, text.splitlines(), path, faults)
    return Lesson(path, slug, number, front, tuple(blocks), tuple(faults))


def _number_and_slug(path: Path, faults: list[Fault]) -> tuple[int, str]:
    match = _FILE_NAME.fullmatch(path.stem)
    if match is None:
        faults.append(Fault(path, 1, "a lesson's file name is two digits, a hyphen and words: 01-one-request.md"))
        return 0, path.stem
    return int(match[1]), match[2]


def _front_matter(tokens: list[Token], path: Path, faults: list[Fault]) -> FrontMatter:
    token = next((token for token in tokens if token.type == "front_matter"), None)
    if token is None:
        faults.append(Fault(path, 1, "the lesson must start with front matter between two lines of ---"))
        return _EMPTY_FRONT
    settings = _settings(token.content.splitlines(), 2, path, faults)
    values: dict[str, object] = {one.key: _unquoted(one.value) for one in settings if one.key != "preset"}
    values["presets"] = [one.value for one in settings if one.key == "preset"]
    try:
        return msgspec.convert(values, FrontMatter, strict=False)
    except msgspec.ValidationError as error:
        faults.append(Fault(path, 1, f"front matter: {error}"))
        return _EMPTY_FRONT


_EMPTY_FRONT = FrontMatter(title="", question="", minutes=0)
"""Stands in after a fault, so that the rest of the file can still be checked."""


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _blocks(tokens: list[Token], lines: list[str], path: Path, faults: list[Fault]) -> list[Block]:
    """Directives, and the prose between them, cut from the source so that the page gets the Markdown as written."""
    blocks: list[Block] = []
    prose_from = 0
    for token in tokens:
        assert token.map is not None
        start, end = token.map
        if token.type == "front_matter":
            prose_from = end
        elif token.type == "colon_fence":
            blocks += _prose(lines, prose_from, start)
            blocks.append(_directive(token, lines, path, faults))
            prose_from = end
    return [*blocks, *_prose(lines, prose_from, len(lines))]


def _prose(lines: list[str], start: int, end: int) -> list[Block]:
    body = "\n".join(lines[start:end])
    return [Block("prose", "", (), body, start + 1, start + 1)] if body.strip() else []


def _directive(token: Token, lines: list[str], path: Path, faults: list[Fault]) -> Block:
    assert token.map is not None
    start, end = token.map
    name, _, argument = token.info.strip().partition(" ")
    content = token.content.splitlines()
    _check_closed(token, lines[end - 1], content, name, path, faults)
    n_settings = _count_settings(content)
    settings = _settings(content[:n_settings], start + 2, path, faults)
    body_lines = content[n_settings:]
    blank = next((count for count, line in enumerate(body_lines) if line.strip()), len(body_lines))
    body = "\n".join(body_lines[blank:]).rstrip()
    return Block(name, argument.strip(), tuple(settings), body, start + 1, start + 2 + n_settings + blank)


def _check_closed(token: Token, last_line: str, content: list[str], name: str, path: Path, faults: list[Fault]) -> None:
    """A fence left open swallows the next one or runs to the end of the file. Fences of four colons may hold others."""
    assert token.map is not None
    start = token.map[0]
    closed = _CLOSING.match(last_line.strip()) is not None and token.map[1] - start > 1
    swallowed = next((count for count, line in enumerate(content) if _OPENING.match(line)), None)
    if len(token.markup) == 3 and swallowed is not None:
        where = f"before line {start + 2 + swallowed}"
        faults.append(Fault(path, start + 1, f":::{name} is not closed {where}; a block ends with a line of :::"))
    elif not closed:
        faults.append(Fault(path, start + 1, f":::{name} is not closed; a block ends with a line of :::"))


def _count_settings(content: list[str]) -> int:
    """Lines of the settings: up to the first blank one, if the first line is a setting; else none."""
    if not content or not _SETTING.match(content[0]):
        return 0
    return next((count for count, line in enumerate(content) if not line.strip()), len(content))


def _settings(lines: list[str], first_line: int, path: Path, faults: list[Fault]) -> list[Setting]:
    """`key: value` lines; an indented line continues the value above it."""
    settings: list[Setting] = []
    for number, line in enumerate(lines, first_line):
        match = _SETTING.match(line)
        if match:
            settings.append(Setting(match[1], (match[2] or "").strip(), number))
        elif line[:1].isspace() and line.strip() and settings:
            above = settings.pop()
            settings.append(Setting(above.key, f"{above.value} {line.strip()}", above.line))
        elif line.strip():
            message = f"expected `key: value`, or a blank line before the text, not {line[:40]!r}"
            faults.append(Fault(path, number, message))
    return settings
