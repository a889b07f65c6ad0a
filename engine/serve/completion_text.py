"""From a run's events to the text of a reply: half characters, stop texts, the tokens that belong to the text."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.account.record import Emission, End, Error, Event, Pass

_REASONS = {"stop": "stop", "length": "length", "cancelled": "abort"}


class Placed(NamedTuple):
    """A token of the text, and how many characters of the text are before it."""

    emission: Emission
    offset: int


@dataclass(frozen=True)
class Piece:
    """What may be sent now: text that no later token can change, the tokens that begin in it, and why it ended."""

    text: str
    tokens: list[Placed]
    offset: int
    """Characters that were sent before."""
    finish_reason: str | None
    """None while it goes on."""


class Writer:
    """Collects a run's tokens; gives out text in pieces that never split a character or a stop text.

    A token is given out with the piece that holds its first character, so what a stop text cuts off appears neither as
    text nor among the tokens.
    """

    def __init__(self, stops: list[str], hidden_ids: Collection[int] = ()) -> None:
        """`hidden_ids` are tokens that end a text and are no part of it."""
        self._stops = stops
        self._reach = max(map(len, stops), default=1) - 1
        """Characters of old text in which a stop text that ends in new text may begin."""
        self._hidden_ids = hidden_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text = ""
        self._sent = 0
        self._unsent: deque[Placed] = deque()
        self.n_tokens = 0
        """All that were read, hidden and cut off ones included: the work that was done."""
        self.finish_reason: str | None = None
        self.failure: Error | None = None
        """Why the run failed; None if it did not, or not before the text had ended."""
        self.closed = False
        """Whether the last piece has been given out."""

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self.finish_reason is not None or self.failure is not None

    def take(self, events: Iterable[Event]) -> None:
        """Read events in order; what comes after a stop text is not read any more."""
        for event in events:
            if self.done:
                return
            if isinstance(event, Pass):
                for emission in event.emitted:
                    self._add(emission)
            elif isinstance(event, End):
                self._text += self._decoder.decode(b"", final=True)
                self.finish_reason = _REASONS[event.reason]
            elif isinstance(event, Error):
                self.failure = event

    def piece(self) -> Piece:
        """Everything that is certain and was not given out before."""
        upto = len(self._text) if self.done else len(self._text) - self._held_back()
        text, offset = self._text[self._sent : upto], self._sent
        self._sent = max(upto, self._sent)
        self.closed = self.done
        return Piece(text, self._tokens_before(upto), offset, self.finish_reason)

    def _add(self, emission: Emission) -> None:
        if self.finish_reason:
            return
        self.n_tokens += 1
        if emission.token.id in self._hidden_ids:
            return
        before = len(self._text)
        self._unsent.append(Placed(emission, before))
        self._text += self._decoder.decode(emission.token.raw)
        places = [self._text.find(stop, max(0, before - self._reach)) for stop in self._stops]
        found = [place for place in places if place >= 0]
        if found:
            self._cut(min(found))

    def _cut(self, place: int) -> None:
        self._text = self._text[:place]
        while self._unsent and self._unsent[-1].offset >= place:
            self._unsent.pop()
        self.finish_reason = "stop"

    def _tokens_before(self, upto: int) -> list[Placed]:
        tokens: list[Placed] = []
        while self._unsent and (self.done or self._unsent[0].offset < upto):
            tokens.append(self._unsent.popleft())
        return tokens

    def _held_back(self) -> int:
        """Length of the longest end of the text that could be the beginning of a stop text."""
        ends = (n for stop in self._stops for n in range(len(stop) - 1, 0, -1) if self._text.endswith(stop[:n]))
        return max(ends, default=0)
