"""From a run's events to the text of a completion: half characters, stop texts, log probabilities."""

from __future__ import annotations

import codecs
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from engine.account.record import Emission, End, Error, Event, Pass

_REASONS = {"stop": "stop", "length": "length", "cancelled": "abort"}


@dataclass(frozen=True)
class Piece:
    """What may be sent now: text that no later token can change, the tokens of it, and why it ended if it did."""

    text: str
    emissions: list[Emission]
    offset: int
    """Characters that were sent before."""
    finish_reason: str | None


class Writer:
    """Collects a run's tokens; gives out text in pieces that never split a character or a stop text."""

    def __init__(self, stops: list[str], hidden_ids: Collection[int] = ()) -> None:
        """`hidden_ids` are tokens that end a text and are no part of it."""
        self._stops = stops
        self._hidden_ids = hidden_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text = ""
        self._sent = 0
        self._fresh: list[Emission] = []
        self.n_tokens = 0
        self.finish_reason: str | None = None

    def take(self, events: Iterable[Event]) -> None:
        """Read events in order; what comes after a stop text is not read any more."""
        for event in events:
            if self.finish_reason:
                return
            if isinstance(event, Pass):
                for emission in event.emitted:
                    self._add(emission)
            elif isinstance(event, End | Error):
                self._text += self._decoder.decode(b"", final=True)
                self.finish_reason = _REASONS[event.reason] if isinstance(event, End) else None

    def piece(self) -> Piece:
        """Everything that is certain and was not given out before."""
        upto = len(self._text) if self.finish_reason else len(self._text) - self._held_back()
        piece = Piece(self._text[self._sent : upto], self._fresh, self._sent, self.finish_reason)
        self._sent, self._fresh = max(upto, self._sent), []
        return piece

    def _add(self, emission: Emission) -> None:
        if self.finish_reason:
            return
        self.n_tokens += 1
        if emission.token.id in self._hidden_ids:
            return
        self._fresh.append(emission)
        self._text += self._decoder.decode(emission.token.raw)
        found = [place for stop in self._stops if (place := self._text.find(stop)) >= 0]
        if found:
            self._text = self._text[: min(found)]
            self.finish_reason = "stop"

    def _held_back(self) -> int:
        """Length of the longest end of the text that could be the beginning of a stop text."""
        ends = (n for stop in self._stops for n in range(len(stop) - 1, 0, -1) if self._text.endswith(stop[:n]))
        return max(ends, default=0)


def choice(piece: Piece, n_logprobs: int | None) -> dict[str, Any]:
    """One entry of `choices` in OpenAI's form."""
    logprobs = None if n_logprobs is None else _logprobs(piece, n_logprobs)
    return {"index": 0, "text": piece.text, "logprobs": logprobs, "finish_reason": piece.finish_reason}


def _logprobs(piece: Piece, n: int) -> dict[str, Any]:
    """Natural logs of the model's own probabilities, before temperature and truncation."""
    offsets, at = [], piece.offset
    for emission in piece.emissions:
        offsets.append(at)
        at += len(emission.token.text)
    return {
        "tokens": [emission.token.text for emission in piece.emissions],
        "token_logprobs": [_log(_chosen(emission)) for emission in piece.emissions],
        "top_logprobs": [_top(emission, n) for emission in piece.emissions] if n else None,
        "text_offset": offsets,
    }


def _chosen(emission: Emission) -> float:
    return next(one.model for one in emission.candidates if one.token.id == emission.token.id)


def _top(emission: Emission, n: int) -> dict[str, float | None]:
    leading = sorted(emission.candidates, key=lambda one: -one.model)[:n]
    return {one.token.text: _log(one.model) for one in leading}


def _log(probability: float) -> float | None:
    """None for a probability that rounded to 0: JSON has no infinity."""
    return math.log(probability) if probability > 0 else None
