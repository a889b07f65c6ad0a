"""What travels between the front and the replicas, by Ray's own pickling. Events travel as bytes, packed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.account.record import Event, ModelShape, Sampling, Serving
from engine.account.step_record import StepRow
from engine.cluster.clocks import Reading
from engine.loop.policy import Policy
from engine.loop.room import Usage

_events: msgspec.msgpack.Decoder[list[Event]] = msgspec.msgpack.Decoder(list[Event])
_rows: msgspec.msgpack.Decoder[list[StepRow]] = msgspec.msgpack.Decoder(list[StepRow])


@dataclass(frozen=True)
class Ask:
    """One engine's share of a run; see `engine.loop.leg`."""

    prompt: str
    sampling: Sampling
    serving: Serving
    emitted: tuple[int, ...] = ()
    hand_over: bool = False
    in_lane: bool = False
    parcel: tuple[Any, ...] = ()
    """A reference to the memory in Ray's object store; inside a tuple, so that the reference travels and not the
    memory. Empty: there is none."""
    sender: str | None = None
    """Whose memory it was."""


@dataclass(frozen=True)
class Hello:
    """An engine has taken the run; its instants count from `arrived` on its clock."""

    engine: str
    arrived: Reading
    sent: Reading


@dataclass(frozen=True)
class News:
    """Events of the engine's own log, in order."""

    packed: bytes

    @classmethod
    def of(cls, events: Sequence[Event]) -> News:
        """Pack them."""
        return cls(msgspec.msgpack.encode(events))

    @property
    def events(self) -> list[Event]:
        """Unpacked."""
        return _events.decode(self.packed)


@dataclass(frozen=True)
class Parcel:
    """The engine has done its share: a reference to the memory, in a tuple as in `Ask`."""

    reference: tuple[Any, ...]


@dataclass(frozen=True)
class No:
    """The engine cannot take the run: why, as `RequestError` says it, or `parcel_lost`."""

    code: str
    message: str


Message = Hello | News | Parcel | No


@dataclass(frozen=True)
class Description:
    """What an engine of a pool is."""

    shape: ModelShape
    context_length: int
    policy: Policy


@dataclass(frozen=True)
class Told:
    """What an engine says of itself now and then: memory in use, and its step rows since it was asked last."""

    engine: str
    usage: Usage
    packed: bytes
    next_step: int
    opened: Reading
    """When its step rows' clock began, on its clock."""
    now: Reading

    @property
    def rows(self) -> list[StepRow]:
        """Unpacked."""
        return _rows.decode(self.packed)
