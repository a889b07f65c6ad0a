"""The bodies that travel between the engine server and whoever asks it, typed once for both sides.

Everything is JSON. The run record has its own schema (`engine.account.record`); here is only what goes around it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from engine.account.record import ModelShape, Sampling, Serving
from engine.account.step_record import StepRow
from engine.loop.policy import Policy
from engine.loop.scheduler import BatchRow

DEFAULT_MODEL = "story"
DEFAULT_SAMPLING = Sampling()
DEFAULT_SERVING = Serving()
MAX_BODY_BYTES = 1 << 20
"""A request body beyond this is refused before it is parsed: 1 MiB holds any prompt that a context could."""
MAX_RESERVED_S = 120
"""Longest reservation of the engine: a class may be asked to wait so long, and no longer."""

EngineStatus = Literal["starting", "loading", "ready", "failed"]


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /runs`."""

    prompt: str
    sampling: Sampling = DEFAULT_SAMPLING
    model: str | None = None
    """None: whichever the engine has loaded."""
    serving: Serving = DEFAULT_SERVING
    lane: str | None = None
    """Key of the reservation that it belongs to; None: an ordinary run."""


class RunAccepted(msgspec.Struct, frozen=True):
    """Its answer: the id under which the log is read, 128 random bits in hexadecimal."""

    run_id: str


class TraceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /runs/{id}/trace`: the DeltaNet layer and head whose state is wanted, each counted from 0."""

    layer: int
    head: int


class Health(msgspec.Struct, frozen=True):
    """Whether the engine can compute; `message` is for people and says why not when it cannot.

    "starting" is said by the app alone, of an engine process that does not answer yet.
    """

    status: EngineStatus
    message: str | None = None
    schema: str | None = None
    """Of the records that this engine writes; None from the app itself."""
    machine: str | None = None
    """What computes, by its own name; None while nothing does, or where several engines stand behind one address."""


class ModelList(msgspec.Struct, frozen=True):
    """Answer of `GET /models`: what this engine has loaded, and under which names a run may ask."""

    models: list[ModelShape]
    names: list[str] = []
    """Loaded or not; one that is not is loaded by the first run that asks for it."""


class BatchTable(msgspec.Struct, frozen=True):
    """Answer of `GET /batch`: what is computed, then what waits, in order. Without run ids: an id opens a prompt."""

    rows: list[BatchRow]
    reserved_until: str | None = None
    """Wall clock, ISO 8601 in UTC, at which the engine's reservation ends at the latest; None if it is not reserved."""


class ReservationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /reservation`: the engine for one's own runs alone, for so long at most."""

    seconds: Annotated[float, msgspec.Meta(ge=1, le=MAX_RESERVED_S)]


class Reservation(msgspec.Struct, frozen=True):
    """Its answer: the key to send with runs, and when it ends by itself, wall clock, ISO 8601 in UTC."""

    key: str
    until: str


class ReservationEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Body of `POST /reservation/end`: the key of the reservation that is given back before its time."""

    key: str


class StepTable(msgspec.Struct, frozen=True):
    """Answer of `GET /steps?from=n`: what each step did, from number n on as far as it is kept, and the policy."""

    rows: list[StepRow]
    policy: Policy


class Fault(msgspec.Struct, frozen=True):
    """Why a request was refused: a code for programs, a message for people."""

    code: str
    message: str


class Refusal(msgspec.Struct, frozen=True):
    """Body of every answer that is not a success. The OpenAI-compatible routes add fields; readers here ignore them."""

    error: Fault


def encode(body: Any) -> bytes:
    """JSON bytes of any of the above."""
    return msgspec.json.encode(body)
