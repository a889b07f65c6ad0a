"""Boxes that several what-ifs share: the model, the machine, the lengths of requests."""

from __future__ import annotations

import streamlit as st

from views.shape_choice import NAMES
from views.virtual_machines import machine_keys, machine_name, shape_keys
from views.what_if_load import LENGTH_WORDS
from views.words import _


def choose_model(asked: str, key: str) -> str:
    """Key of a shape."""
    keys = shape_keys()
    return st.selectbox(_("Model"), keys, keys.index(asked), format_func=NAMES.__getitem__, key=f"{key}-shape")


def choose_machine(asked: str, key: str) -> str:
    """Key of a machine; this one can be chosen when it has been measured."""
    keys = machine_keys()
    place = keys.index(asked) if asked in keys else 0
    return st.selectbox(_("Machine"), keys, place, format_func=machine_name, key=f"{key}-machine")


def choose_lengths(asked: str, key: str) -> str:
    """Key of a pair of length distributions."""
    keys = list(LENGTH_WORDS)
    return st.selectbox(
        _("Lengths"), keys, keys.index(asked), format_func=LENGTH_WORDS.__getitem__, key=f"{key}-lengths"
    )


def choose_whole(label: str, low: int, high: int, asked: int, key: str) -> int:
    """A whole number."""
    return int(st.number_input(label, low, high, min(high, max(low, asked)), key=key))
