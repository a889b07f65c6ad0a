"""Choosing a model for an instrument: one of the known shapes, or a person's own in a dozen numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

import msgspec
import streamlit as st

from engine.account.own_shape import MOST, Numbers, ShapeError
from engine.account.own_shape import shape_of as described
from engine.account.record import ModelShape
from lessons.named_shapes import SHAPE_KEYS, shape_of
from views.engine_words import told
from views.words import N_, Words, _

OWN = "own"
NAMES = Words(
    {
        "story": N_("Story model, 8 million"),
        "smollm2": N_("SmolLM2, 135 million"),
        "qwen08b": "Qwen3.5, 0.8B",
        "qwen2b": "Qwen3.5, 2B",
        "qwen4b": "Qwen3.5, 4B",
        "qwen9b": "Qwen3.5, 9B",
        "qwen27b": N_("Qwen3.5 and 3.8, 27B"),
        OWN: N_("Your own numbers"),
    }
)
"""Key -> what the box says. Qwen3.8-27B has, by all accounts, the shape of the 3.5."""

WORDS = Words(
    {
        "full_layers": N_("full-attention layers"),
        "linear_layers": N_("linear layers"),
        "width": N_("width"),
        "inner_width": N_("inner width of the MLP"),
        "vocabulary": N_("vocabulary"),
        "heads": N_("query heads"),
        "kv_heads": N_("key and value heads"),
        "head_dim": N_("numbers a head"),
        "value_heads": N_("state heads"),
        "key_heads": N_("key heads of the linear layers"),
        "state_dim": N_("rows and columns of a state"),
        "tied": N_("head is the embedding (1: yes)"),
    }
)
"""Field of `Numbers` -> its words in the form."""


@dataclass(frozen=True)
class Choice:
    """The model that an instrument is to show, and the settings that lead back to it."""

    shape: ModelShape
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        """What it is called on the page."""
        return NAMES[self.settings["shape"]]


def key_for(key: str, settings: Mapping[str, str]) -> str:
    """A widget key that is another one for other settings: what a link brings must not lose to what stood there."""
    return f"{key}-{crc32(repr(sorted(settings.items())).encode()):x}" if settings else key


def choose_shape(settings: Mapping[str, str], otherwise: str, key: str) -> Choice | None:
    """The box and, for a model of one's own, its form; None where the numbers do not fit, which the page then says."""
    given = settings.get("shape", OWN if "own" in settings else otherwise)
    keys = (*SHAPE_KEYS, OWN)
    chosen = st.selectbox(
        _("Model"), keys, index=keys.index(given), format_func=NAMES.__getitem__, key=f"{key}-shape"
    )  # fmt: skip
    if chosen == OWN:
        return _own(settings, key)
    shape = shape_of(chosen)
    if shape is None:
        st.warning(_("The recording that tells this model's shape cannot be read."))
        return None
    return Choice(shape, {"shape": chosen})


def _own(settings: Mapping[str, str], key: str) -> Choice | None:
    try:
        start = Numbers.read(settings.get("own", ""))
    except ShapeError:
        st.warning(_("The numbers in the link cannot be read; the form holds others."))
        start = Numbers()
    numbers = _form(start, key)
    try:
        return Choice(described(numbers, _("your model")), {"shape": OWN, "own": numbers.written()})
    except ShapeError as error:
        st.warning(told(str(error)))
        return None


def _form(start: Numbers, key: str) -> Numbers:
    with st.expander(_("Your model's numbers, from its config.json"), expanded=True, key=f"{key}-own"):
        st.caption(_("They start as those of Llama 2 7B: full attention in every layer, no sharing of heads."))
        with st.grid(4, min_column_width=150, gap="small", key=f"{key}-own-grid"):
            typed = {
                field: int(
                    st.number_input(
                        WORDS[field], 0, MOST[field], getattr(start, field), key=f"{key}-own-{field}"
                    )
                )
                for field in msgspec.structs.asdict(start)
            }  # fmt: skip
    return Numbers(**typed)
