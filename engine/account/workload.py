"""A recorded workload: which requests came when, how long they were and under which pseudonym, as one JSON file.

    {"schema": "twospeeds.workload/1", "created": "2026-11-30T09:15:00+00:00", "what": "class K7QM3X",
     "requests": [{"at_ns": 0, "who": "blue heron", "n_prompt": 8, "n_new": 32}, ...]}

`at_ns` counts from the first request. Of a prompt the file holds the length; its text only where whoever typed it
agreed. The virtual clock plays a workload out, and `python -m engine load --workload FILE` sends it to a server.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

SCHEMA = "twospeeds.workload/1"
MOST_REQUESTS = 20_000
MOST_BYTES = 64_000_000
MOST_TOKENS = 1 << 20
"""Of one prompt or reply: more than any context here holds."""
LONGEST_NS = 7 * 24 * 3600 * 10**9

_Length = Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)]


class BadWorkload(ValueError):
    """A file that is no workload; the message says why."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request: when it came, whose it was, and its tokens. `prompt` None: the text was not recorded."""

    at_ns: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_NS)]
    who: Annotated[str, msgspec.Meta(max_length=80)]
    n_prompt: _Length
    n_new: _Length
    prompt: Annotated[str, msgspec.Meta(max_length=1_000_000)] | None = None


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests in the order in which they came."""

    schema: str
    created: Annotated[str, msgspec.Meta(max_length=40)]
    """Day and time when the first came, ISO 8601, UTC."""
    what: Annotated[str, msgspec.Meta(max_length=200)]
    requests: Annotated[list[Ask], msgspec.Meta(max_length=MOST_REQUESTS)]

    @property
    def seconds(self) -> float:
        """From the first request to the last."""
        return self.requests[-1].at_ns / 1e9 if self.requests else 0.0


def write_workload(workload: Workload) -> bytes:
    """The file."""
    return msgspec.json.format(msgspec.json.encode(workload), indent=1) + b"\n"


def read_workload(raw: bytes) -> Workload:
    """A workload from its file, in order of time. Raises `BadWorkload`."""
    if len(raw) > MOST_BYTES:
        raise BadWorkload(f"A workload has {MOST_BYTES // 10**6} MB at most; this file has {len(raw) / 1e6:.0f} MB.")
    try:
        found = msgspec.json.decode(raw, type=Workload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadWorkload(f"This file is not a recorded workload: {error}.") from None
    if found.schema != SCHEMA:
        raise BadWorkload(f"This file says it is {found.schema[:60]!r}, not {SCHEMA!r}.")
    if not found.requests:
        raise BadWorkload("This workload holds no request.")
    return msgspec.structs.replace(found, requests=sorted(found.requests, key=lambda ask: ask.at_ns))
