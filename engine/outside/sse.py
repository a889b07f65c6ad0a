"""What an OpenAI-compatible server streams: server-sent events, each a JSON object with a piece of the answer.

Servers differ in the small: the text of a chat is in `delta.content`, thoughts in `reasoning_content` or `reasoning`;
a last event may carry the token counts; an error may come in mid-stream as an event of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.outside.server import OutsideError
from engine.serve.lines import LineCutter

MAX_LINE_BYTES = 1 << 20
LONGEST_REASON = 200


class _Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None

    @property
    def written(self) -> str:
        """Whatever text it brings."""
        if self.delta is None:
            return self.text or ""
        return self.delta.content or self.delta.reasoning_content or self.delta.reasoning or ""


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Message(msgspec.Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


@dataclass(frozen=True)
class Piece:
    """What one event brings; a field that it does not bring is None or empty."""

    text: str = ""
    finish_reason: str | None = None
    counts: tuple[int | None, int | None] = (None, None)
    """Prompt tokens and new tokens, as the server counts them."""
    done: bool = False
    """Whether it is the last: `[DONE]`."""


_decoder = msgspec.json.Decoder(_Message)


class EventReader:
    """Takes bytes as they arrive and gives the pieces that are whole."""

    def __init__(self) -> None:
        self._lines = LineCutter()
        self._pending = 0

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The pieces that these bytes complete; raises `OutsideError` for what is no such stream."""
        newline = data.rfind(b"\n")
        self._pending = self._pending + len(data) if newline < 0 else len(data) - newline
        if self._pending > MAX_LINE_BYTES:
            raise OutsideError("garbled", "The outside engine sent a line that does not end.")
        for line in self._lines.feed(data):
            if (piece := read_line(line.strip())) is not None:
                yield piece


def read_line(line: bytes) -> Piece | None:
    """One line of a stream; None for one that only keeps the connection, or names the event."""
    if line.startswith((b":", b"event:", b"id:", b"retry:")):
        return None
    if not line.startswith(b"data:"):
        raise OutsideError("garbled", "The outside engine's answer is no stream of server-sent events.")
    body = line.removeprefix(b"data:").strip()
    if body == b"[DONE]":
        return Piece(done=True)
    try:
        message = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise OutsideError("garbled", "The outside engine sent an event that is not what OpenAI's API has.") from None
    if message.error is not None:
        raise OutsideError("failed_outside", f"The outside engine failed: {told_by(message.error)}")
    choice = message.choices[0] if message.choices else _Choice()
    usage = message.usage or _Usage()
    counts = (_count(usage.prompt_tokens), _count(usage.completion_tokens))
    return Piece(choice.written, choice.finish_reason, counts)


def reason_of(body: bytes) -> str:
    """What an error's body says, on one line and not too long, JSON or not."""
    try:
        told: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        told = body.decode("utf-8", errors="replace")
    return told_by(told)


def told_by(told: Any) -> str:
    """The message in a decoded error, of whichever shape."""
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    return " ".join(str(told).split())[:LONGEST_REASON] or "it did not say why"


def _count(n: int | None) -> int | None:
    return n if n is not None and 0 <= n < 10**9 else None
