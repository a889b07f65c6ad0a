"""Records of both kinds as files, a run's own and one from outside: one schema, and the header tells them apart."""

from __future__ import annotations

import msgspec

from engine.account import record_file
from engine.account.outside_record import AnyRun, Chunk, Counted, OutsideEvent, OutsideHeader, OutsideRun
from engine.account.record import SCHEMA, End, Run
from engine.account.record_file import RecordError


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    events: list[OutsideEvent]


class _Peek(msgspec.Struct):
    events: list[msgspec.Raw]


class _First(msgspec.Struct):
    evidence: str


_document = msgspec.json.Decoder(_Document)
_peek = msgspec.json.Decoder(_Peek)
_first = msgspec.json.Decoder(_First)


def dumps(run: AnyRun) -> bytes:
    """The saved form, one event a line."""
    if isinstance(run, Run):
        return record_file.dumps(run)
    lines = b",\n".join(msgspec.json.encode(event) for event in run.events)
    return b'{"schema": ' + msgspec.json.encode(SCHEMA) + b', "events": [\n' + lines + b"\n]}\n"


def loads(raw: bytes) -> AnyRun:
    """Read the saved form of either kind; raises `RecordError`."""
    if not is_from_outside(raw):
        return record_file.loads(raw)
    try:
        document = _document.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RecordError(record_file.plain_reason(error, raw)) from None
    run = OutsideRun(document.events)
    _check(run, document.schema)
    return run


def is_from_outside(raw: bytes) -> bool:
    """Whether a document's first event says so; False for what cannot be read at all."""
    try:
        events = _peek.decode(raw).events
        return bool(events) and _first.decode(events[0]).evidence == "outside"
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False


def _check(run: OutsideRun, schema: str) -> None:
    """What types cannot say: the order of events and of times."""
    record_file.check_schema(schema)
    if not isinstance(run.events[0], OutsideHeader):
        raise RecordError("The record has no header: its first event must say what was asked of which server.")
    record_file.check_schema(run.header.schema)
    at_ns = 0
    for place, event in enumerate(run.events):
        record_file.check_place(event, place, n_events=len(run.events), header=OutsideHeader)
        if isinstance(event, Chunk | Counted | End):
            if event.at_ns < at_ns:
                raise RecordError(f"Event {place} came before the one that it follows.")
            at_ns = event.at_ns
    for number, chunk in enumerate(run.chunks):
        if chunk.number != number:
            raise RecordError(f"Chunk {number} is missing: in its place is chunk {chunk.number}.")
