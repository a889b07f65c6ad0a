"""A run as a file and as lines: saving, loading, and saying plainly what is wrong with a file that is not a run.

Saved form: one JSON object, `{"schema": "twospeeds.run/1", "events": [...]}`. Streamed form: one event a line. Whatever
is read is checked here once, so that no page meets a broken record later: schema, field types, a header first, indices
and pass numbers without gaps, nothing after the end, tokens whose bytes can be decoded.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.account.outside_record import OutsideEvent
from engine.account.record import SCHEMA, End, Error, Event, Header, Pass, Run, Token

_FAMILY, _VERSION = SCHEMA.rsplit("/", 1)
_CUT_OFF = "The record is cut off: the file ends in the middle of it."


class RecordError(ValueError):
    """What was read is not a run record that this program can show; the message tells the person who opened it why."""


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    events: list[Event]


class _Label(msgspec.Struct):
    """Only the schema, so that a document of another version is recognised before its fields are judged."""

    schema: str


_encoder = msgspec.json.Encoder()
_label_decoder = msgspec.json.Decoder(_Label)
_document_decoder = msgspec.json.Decoder(_Document)
_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """One event as a JSON object on one line, without the newline."""
    return _encoder.encode(event)


def decode_event(line: bytes | str) -> Event:
    """The event of one line; raises `RecordError`."""
    try:
        return _event_decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RecordError(_plain(error)) from None


def dumps(run: Run) -> bytes:
    """The saved form of a run, one event a line so that a person can read it and a diff shows what changed."""
    lines = b",\n".join(encode_event(event) for event in run.events)
    return b'{"schema": ' + _encoder.encode(SCHEMA) + b', "events": [\n' + lines + b"\n]}\n"


def save(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run; the file is whole or not there, even if the program is stopped meanwhile. Raises `OSError`."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(dumps(run))
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o644)  # mkstemp made it private
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Run:
    """Read a saved run. Raises `RecordError` with the file's name in front; `OSError` if it cannot be read."""
    try:
        return loads(Path(path).read_bytes())
    except RecordError as error:
        raise RecordError(f"{Path(path).name}: {error}") from None


def loads(text: bytes | str) -> Run:
    """Read the saved form; raises `RecordError`."""
    raw = text.encode("utf-8", errors="surrogatepass") if isinstance(text, str) else text
    if not raw.strip():
        raise RecordError("The file is empty.")
    try:
        check_schema(_label_decoder.decode(raw).schema)
        run = Run(_document_decoder.decode(raw).events)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RecordError(plain_reason(error, raw)) from None
    check(run)
    return run


def plain_reason(error: Exception, raw: bytes) -> str:
    """Why a decoder could not read a document, in a sentence."""
    return _CUT_OFF if _is_cut_off(raw) else _plain(error)


def check(run: Run) -> None:
    """Check what types cannot say: order, indices, pass numbers, token bytes. Raises `RecordError`."""
    if not run.events or not isinstance(run.events[0], Header):
        raise RecordError("The record has no header: its first event must say what was asked of which model.")
    check_schema(run.events[0].schema)
    n_passes = 0
    for place, event in enumerate(run.events):
        check_place(event, place, n_events=len(run.events), header=Header)
        if isinstance(event, Pass):
            _check_pass(event, n_passes)
            n_passes += 1
    for token in _tokens(run):
        _check_token(token)


def check_place(event: Event | OutsideEvent, place: int, *, n_events: int, header: type) -> None:
    """Check that an event of any kind of record stands where it says, one `header` first and an end last.

    Raises `RecordError`.
    """
    if event.index != place:
        raise RecordError(f"Event {place} is missing: the event in its place says it is number {event.index}.")
    if place and isinstance(event, header):
        raise RecordError(f"Event {place} is a second header.")
    if isinstance(event, End | Error) and place != n_events - 1:
        raise RecordError(f"Event {place} ends the run, yet more events follow.")


def _check_pass(event: Pass, expected: int) -> None:
    if event.number != expected:
        raise RecordError(f"Pass {expected} is missing: event {event.index} is pass {event.number}.")
    if event.end_ns < event.start_ns:
        raise RecordError(f"Pass {event.number} ends before it starts.")
    if not 0 <= event.accepted <= event.drafted <= len(event.token_ids):
        raise RecordError(f"Pass {event.number} says that more drafts were accepted than checked, or than went in.")
    for emission in event.emitted:
        # Of an unknown token, in a simulated run, nobody computed odds.
        known = emission.token != Token.unknown()
        if known and all(candidate.token.id != emission.token.id for candidate in emission.candidates):
            raise RecordError(f"Pass {event.number} emitted a token that is not among its candidates.")


def _tokens(run: Run) -> Iterator[Token]:
    yield from run.header.prompt_tokens
    for emission in run.emissions:
        yield emission.token
        yield from (candidate.token for candidate in emission.candidates)


def _check_token(token: Token) -> None:
    try:
        base64.b64decode(token.bytes, validate=True)
    except (binascii.Error, ValueError):
        raise RecordError(f"The bytes of token {token.id} are not base64.") from None


def check_schema(schema: str) -> None:
    """Raise `RecordError` for a schema that this version does not read."""
    family, _, version = schema.rpartition("/")
    if family != _FAMILY or not version.isdecimal() or len(version) > 9:
        raise RecordError(f"This is not a run record: its schema is {schema[:80]!r}, expected {SCHEMA!r}.")
    if int(version) > int(_VERSION):
        raise RecordError(f"This record has schema {schema}, newer than {SCHEMA}, the newest that this version reads.")
    if int(version) < int(_VERSION):
        raise RecordError(f"This record has schema {schema}, which no version of this program wrote.")


def _is_cut_off(raw: bytes) -> bool:
    """Not every decoder error at the end of a file says so: "12." is a bad number, not the start of a good one."""
    text = raw.strip()
    return text.startswith(b"{") and not text.endswith(b"}")


def _plain(error: Exception) -> str:
    """Turn a decoder's message into a sentence; the path inside the document is kept, since it tells where to look."""
    if isinstance(error, msgspec.ValidationError):
        return f"This is not a run record: {error}."
    if isinstance(error, RecursionError):
        return "This is not a run record: it is nested too deeply."
    if "truncated" in str(error):
        return _CUT_OFF
    return f"This is not valid JSON: {error}."
