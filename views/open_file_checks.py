"""What a record from a stranger must hold before a page draws it, beyond the record's own rules: sizes, ranges, order.

A record of our own engine keeps to all of this; a damaged or hostile one is refused with a sentence that says where.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from engine.account.cost import DTYPE_BYTES
from engine.account.outside_record import AnyRun, Chunk
from engine.account.record import End, Header, ModelShape, Pass, Run
from engine.account.record_file import RecordError
from engine.loop.request import MAX_DRAFTS
from views.words import _

MAX_COUNT = 2**53 - 1
"""Beyond it a browser cannot tell two whole numbers apart."""
MAX_TIME_NS = 30 * 86_400 * 10**9
MAX_PASSES = 20_000
MAX_TOKENS = 50_000
MAX_LAYERS = 1_000
MAX_CANDIDATES = 1_000
MAX_KERNELS = 200
MAX_NAME = 500
"""Characters of a name, or of a token."""
MAX_TEXT = 200_000

_LONG = ("events[0].prompt",)
_CHUNK = re.compile(r"events\[\d+\]\.(text|message)")


def check_stranger(run: AnyRun) -> None:
    """Raise `RecordError` with a sentence for the person who opened the file."""
    _check_values(msgspec.to_builtins(run.events), "events")
    _check_created(run.header.created)
    _check_times(_instants(run))
    if isinstance(run, Run):
        _check_header(run.header)
        _check_passes(run)
    else:
        _at_most(_("chunks"), len(run.chunks), MAX_TOKENS)
        _at_most(_("characters of text"), sum(len(one.text) for one in run.chunks), MAX_TEXT)


def _check_values(value: object, where: str) -> None:
    """No number is negative but the id of an unknown token, none is too large for a browser, and no name is a book."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_values(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            _check_values(inner, f"{where}[{place}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        lowest = -1 if where.endswith(".id") or ".token_ids[" in where else 0
        if not (math.isfinite(value) and lowest <= value <= MAX_COUNT):
            raise RecordError(_("{number} cannot stand at {place}.").format(number=f"{value:.6g}", place=where))
    elif isinstance(value, str) and len(value) > (MAX_TEXT if where in _LONG or _CHUNK.fullmatch(where) else MAX_NAME):
        raise RecordError(_("At {place} stand {n} characters.").format(place=where, n=f"{len(value):,}"))


def _instants(run: AnyRun) -> Iterator[int]:
    for event in run.events:
        if isinstance(event, Pass):
            yield event.start_ns
            yield event.end_ns
        elif isinstance(event, Chunk | End):
            yield event.at_ns


def _check_times(instants: Iterable[int]) -> None:
    latest = 0
    for instant in instants:
        if not latest <= instant <= MAX_TIME_NS:
            raise RecordError(_("Its times do not run forward: {ns} ns cannot come there.").format(ns=instant))
        latest = instant


def _check_created(created: str) -> None:
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None or len(created) > 40 or not 1 < when.year < 9999:
        raise RecordError(_("It does not say when it was made."))


def _check_header(header: Header) -> None:
    _at_most(_("names of kernels"), len(header.device.kernels), MAX_KERNELS)
    for operation in header.device.kernels:
        if len(operation) > MAX_NAME:
            raise RecordError(_("The name of an operation in it is too long."))
    _at_most(_("prompt tokens"), len(header.prompt_tokens), MAX_TOKENS)
    _check_model(header.model)


def _check_model(model: ModelShape) -> None:
    _at_most(_("layers"), len(model.layer_types), MAX_LAYERS)
    if not model.layer_types:
        raise RecordError(_("Its model has no layers."))
    for name in ("kv_dtype", "state_dtype", "activation_dtype"):
        if getattr(model, name) not in DTYPE_BYTES:
            raise RecordError(_("Its model has a {name} that is not known here.").format(name=name))
    sizes = ["hidden_size", "vocab_size", "num_attention_heads", "num_key_value_heads", "head_dim", "context_length"]
    if "linear_attention" in model.layer_types:
        sizes += ["linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"]
    for name in sizes:
        if not 1 <= getattr(model, name) <= 10**8:
            raise RecordError(_("Its model's {name} is {size}.").format(name=name, size=getattr(model, name)))


def _check_passes(run: Run) -> None:
    _at_most(_("passes"), len(run.passes), MAX_PASSES)
    emissions = run.emissions
    _at_most(_("new tokens"), len(emissions), MAX_TOKENS)
    furthest = len(run.header.prompt_tokens) + len(emissions)
    for one in run.passes:
        if not one.token_ids or one.start_position + len(one.token_ids) > furthest + MAX_DRAFTS + 1:
            raise RecordError(_("Pass {n} is at positions that this run does not have.").format(n=one.number))
        if one.shared_by < 1 or one.positions_held > furthest + MAX_DRAFTS + 1:
            raise RecordError(_("Pass {n} holds or shares what it cannot.").format(n=one.number))
    for emission in emissions:
        _at_most(_("candidates"), len(emission.candidates), MAX_CANDIDATES)
        if emission.position > furthest:
            raise RecordError(
                _("A token is at position {n}, which this run does not have.").format(n=emission.position)
            )
        if any(max(one.model, one.tempered, one.sampled) > 1 + 1e-6 for one in emission.candidates):
            raise RecordError(_("A probability in it is larger than 1."))


def _at_most(what: str, count: int, most: int) -> None:
    if count > most:
        raise RecordError(
            _("It has {count} {what}; a page shows up to {most}.").format(
                count=f"{count:,}", what=what, most=f"{most:,}"
            )
        )
