"""Boxes that several what-ifs share: the model, the machine, the lengths of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
import streamlit as st

from engine.loop.policy import PolicyName
from views.shape_choice import NAMES
from views.virtual_machines import machine_keys, machine_name, shape_keys
from views.what_if_load import LENGTH_WORDS, POLICY_NAMES, POLICY_WORDS, policy_name
from views.words import _

_T = TypeVar("_T")


def asked_for(settings: Mapping[str, str], chosen: type[_T]) -> _T:
    """A struct of choices from an instrument's settings, whose form has been checked; whatever is missing is its
    default. A machine that is not known here is replaced by the default one, and the page says so.
    """
    asked = msgspec.convert(dict(settings), chosen, strict=False)
    if settings.get("machine", machine_keys()[0]) in machine_keys():
        return asked
    st.warning(_("This machine has not been measured yet (`python -m engine probe` does it), so another is shown."))
    return msgspec.convert({name: value for name, value in settings.items() if name != "machine"}, chosen, strict=False)


def choose_model(asked: str, key: str) -> str:
    """Key of a shape."""
    keys = shape_keys()
    return st.selectbox(_("Model"), keys, keys.index(asked), format_func=NAMES.__getitem__, key=f"{key}-shape")


def choose_machine(asked: str, key: str) -> str:
    """Key of a machine; this one can be chosen when it has been measured."""
    keys = machine_keys()
    place = keys.index(asked) if asked in keys else 0
    return st.selectbox(_("Machine"), keys, place, format_func=machine_name, key=f"{key}-machine")


def choose_policy(label: str, asked: PolicyName, key: str) -> PolicyName:
    """One of the policies by its name; what each of them does is told on demand."""
    told = "\n".join(f"- {POLICY_WORDS[name]}" for name in POLICY_NAMES)
    return st.selectbox(
        label, POLICY_NAMES, POLICY_NAMES.index(asked), format_func=policy_name, key=f"{key}-policy", help=told
    )


def choose_lengths(asked: str, key: str) -> str:
    """Key of a pair of length distributions."""
    keys = list(LENGTH_WORDS)
    return st.selectbox(
        _("Lengths"), keys, keys.index(asked), format_func=LENGTH_WORDS.__getitem__, key=f"{key}-lengths"
    )


def choose_whole(label: str, low: int, high: int, asked: int, key: str) -> int:
    """A whole number."""
    return int(st.number_input(label, low, high, min(high, max(low, asked)), key=key))
