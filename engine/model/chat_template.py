"""A chat model's own template: from messages to the one text that the model continues.

A model that was trained on conversations ships the Jinja template that its training texts were made with, in
`chat_template.jinja` or in `tokenizer_config.json`. A template is code from somewhere else: it runs in Jinja's
immutable sandbox and sees the messages and the names of the special tokens, nothing else. What a template may rely on
(helpers, whitespace rules) is what the transformers documentation promises to template writers; its
`apply_chat_template` is the oracle of the tests.

The result is text, so a message that spells a special token out is read as that token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn, Self

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.model.config import CheckpointError, read_json

_SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class ChatTemplateError(ValueError):
    """The template refused the messages, or failed on them; the message says why, for people."""


class ChatTemplate:
    """One model's template, compiled. Safe to use from any thread."""

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        """Compile; raises jinja2.TemplateSyntaxError. `special_tokens`: name as in `bos_token` -> its text."""
        self._template = _environment().from_string(source)
        self._special_tokens = dict(special_tokens)

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """The template of a model folder, None if it has none; raises CheckpointError if it cannot be used."""
        path = folder / "tokenizer_config.json"
        config = read_json(path) if path.is_file() else {}
        name, source = _source(folder, config)
        if source is None:
            return None
        try:
            return cls(source, _special_tokens(config))
        except TemplateSyntaxError as error:
            raise CheckpointError(f"{name}: line {error.lineno} of the chat template is wrong: {error}") from error

    @property
    def eos_token(self) -> str | None:
        """Text of the token that ends a turn, if the folder names one."""
        return self._special_tokens.get("eos_token")

    def render(self, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any] | None = None) -> str:
        """The text up to where the assistant's next message begins; raises ChatTemplateError.

        A message is a mapping with `role` and `content`; `options` are names of the template's own, such as
        `enable_thinking`.
        """
        names = {**self._special_tokens, "tools": None, "documents": None, "add_generation_prompt": True}
        try:
            return self._template.render({**names, **(options or {}), "messages": list(messages)})
        except Exception as error:  # whatever the template's code does to these messages
            words = str(error) if isinstance(error, TemplateError) else f"{type(error).__name__}: {error}"
            raise ChatTemplateError(f"The model's chat template does not take these messages: {words}") from error


def _source(folder: Path, config: Mapping[str, Any]) -> tuple[str, str | None]:
    """Name of the file that holds the template, and the template. A file of its own goes before the config."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            return path.name, path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from error
    name, found = "tokenizer_config.json", config.get("chat_template")
    if isinstance(found, list):
        # Several named templates: the others are for tools and the like.
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
        found = named.get("default")
    if found is not None and not isinstance(found, str):
        raise CheckpointError(f"{name}: chat_template is not text")
    return name, found


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Each is written as its text, or as an object with the text and how it is matched."""
    found = {name: config.get(name) for name in _SPECIAL_TOKENS}
    texts = {name: one.get("content") if isinstance(one, dict) else one for name, one in found.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


class _Generation(Extension):
    """`{% generation %}` marks what the assistant said, for whoever trains; for us it is text like any other."""

    tags = {"generation"}  # noqa: RUF012, as jinja2 declares it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON; Jinja's own filter would escape for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)
