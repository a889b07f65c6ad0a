"""Reading the fields of a model folder's JSON files one by one: what is missing or of the wrong kind is named."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class CheckpointError(ValueError):
    """The model folder cannot be used; the message says which file, field or weight is at fault."""


def read_json(path: Path) -> dict[str, Any]:
    """Parse one JSON object of a model folder; raises CheckpointError naming the file."""
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return parsed


def token_ids(value: Any, field: str) -> tuple[int, ...]:
    """A field that may be absent, one token id or a list of them; raises CheckpointError."""
    listed = [] if value is None else value if isinstance(value, list) else [value]
    if not all(type(item) is int and item >= 0 for item in listed):
        raise CheckpointError(f"{field} is {value!r}, not a token id or a list of them")
    return tuple(listed)


def required(fields: Mapping[str, Any], name: str) -> Any:
    """The field, whatever it is; raises CheckpointError."""
    if name not in fields:
        raise CheckpointError(f"config.json: {name} is missing")
    return fields[name]


def count(fields: Mapping[str, Any], name: str) -> int:
    """A positive whole number; raises CheckpointError."""
    value = required(fields, name)
    if type(value) is not int or value < 1:
        raise CheckpointError(f"config.json: {name} is {value!r}, not a positive whole number")
    return value


def number(fields: Mapping[str, Any], name: str) -> float:
    """A positive finite number; raises CheckpointError."""
    value = required(fields, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise CheckpointError(f"config.json: {name} is {value!r}, not a positive number")
    return float(value)


def flag(fields: Mapping[str, Any], name: str) -> bool:
    """True or false; raises CheckpointError."""
    value = required(fields, name)
    if not isinstance(value, bool):
        raise CheckpointError(f"config.json: {name} is {value!r}, not true or false")
    return value


def refuse_others(fields: Mapping[str, Any], computed: Mapping[str, Any]) -> None:
    """Raises CheckpointError for a field that is there and asks for something else than what is computed here."""
    for field, value in computed.items():
        if fields.get(field, value) != value:
            raise CheckpointError(f"config.json: {field} is {fields[field]!r}; only {value!r} is computed here")


def rope_fields(text: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rotary settings stand in `rope_parameters`, in older files beside the other fields. Raises CheckpointError."""
    nested = text.get("rope_parameters")
    fields = {**text, **nested} if isinstance(nested, dict) else text
    refuse_others(fields, {"rope_type": "default", "rope_scaling": None})
    return fields
