"""A run as it is seen from outside: what a program that only talks HTTP can know of an engine that is not ours.

The same log as a run's own record (`engine.account.record`, schema `twospeeds.run/1`), with other events between header
and end: a `Chunk` for every piece of text that arrived, and `Counted`, the tokens as the server counts them. The
header's evidence says "outside". Passes, memory, operations and odds cannot be seen from there, so there are none.

Times are integer nanoseconds on this program's monotonic clock, counted from the moment at which the request was sent:
the network, and whatever stands between, is in all of them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.account.record import SCHEMA, End, Error, Run, Sampling

Route = Literal["completions", "chat"]


class _Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False, tag_field="event"):
    """A line of the log; `index` counts from 0."""

    index: int


class OutsideHeader(_Event, frozen=True, tag="header"):
    """What was asked of which server."""

    run_id: str
    created: str
    """Wall clock, ISO 8601, UTC; for people only."""
    server: str
    """Host and port; never a name, a password or a key."""
    model: str
    route: Route
    """`/v1/completions`, or `/v1/chat/completions`, where the server puts the prompt into a template of its own."""
    prompt: str
    sampling: Sampling
    """Of these the request carries temperature, top-p, seed and the number of new tokens."""
    client_version: str
    evidence: Literal["outside"] = "outside"
    schema: str = SCHEMA


class Chunk(_Event, frozen=True, tag="chunk"):
    """A piece of text that arrived: perhaps one token, perhaps several, perhaps a part of one."""

    number: int
    """Counts the chunks from 0; one without text is none."""
    at_ns: int
    text: str


class Counted(_Event, frozen=True, tag="usage"):
    """The server's own count of tokens; None for what it did not say."""

    at_ns: int
    prompt_tokens: int | None
    new_tokens: int | None


OutsideEvent = OutsideHeader | Chunk | Counted | End | Error


class OutsideRun(msgspec.Struct, forbid_unknown_fields=True):
    """One request's whole record, from outside."""

    events: list[OutsideEvent]

    @property
    def header(self) -> OutsideHeader:
        """What was asked; a log always starts with it."""
        first = self.events[0]
        assert isinstance(first, OutsideHeader)
        return first

    @property
    def chunks(self) -> list[Chunk]:
        """The pieces of text, in order of arrival."""
        return [event for event in self.events if isinstance(event, Chunk)]

    @property
    def counted(self) -> Counted | None:
        """The server's count; None where it gave none."""
        return next((event for event in self.events if isinstance(event, Counted)), None)

    @property
    def end(self) -> End | Error | None:
        """How it ended; None while it runs."""
        last = self.events[-1]
        return last if isinstance(last, End | Error) else None

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(chunk.text for chunk in self.chunks)


AnyRun = Run | OutsideRun
"""A run seen from inside or from outside."""
