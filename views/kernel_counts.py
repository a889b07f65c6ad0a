"""The bytes that attention moved, as counted while it ran: recorded, beside the sums that the figure above makes."""

from __future__ import annotations

import msgspec
import pandas as pd
import streamlit as st

from engine.account.kernel_records import AttentionBytes, Counted
from lessons.filters import binary_bytes, significant
from views.evidence import evidence_row
from views.kernel_recordings import attention_bytes
from views.safe_text import code_span
from views.words import N_, Words, _

WAYS = Words(
    {
        "written_out": N_("scores written out"),
        "one_query": N_("one query at a time"),
        "tiled": N_("tiles, as the kernel chooses them"),
    }
)


def show_counts(key: str) -> None:
    """A table of every prompt that was counted, and how."""
    try:
        record = attention_bytes()
    except (OSError, msgspec.DecodeError):
        st.caption(_("The recorded counts cannot be read."))
        return
    st.subheader(_("Counted while it ran"), anchor=False)
    st.markdown(_ratios(record))
    st.dataframe(pd.DataFrame(_columns(record)), hide_index=True, width="stretch", key=f"{key}-counts")
    evidence_row("recorded", _how(record), key=f"{key}-counts")


def _columns(record: AttentionBytes) -> dict[str, list[object]]:
    counted = [(prompt, one) for prompt in record.prompts for one in prompt.ways]
    return {
        _("way"): [WAYS[one.way] for _prompt, one in counted],
        _("tokens"): [prompt.n_tokens for prompt, _one in counted],
        _("moved"): [binary_bytes(one.total) for _prompt, one in counted],
        _("of which scores"): [_scores(one) for _prompt, one in counted],
        _("tile"): [f"{one.block_m} × {one.block_n}" if one.block_m else "" for _prompt, one in counted],
        _("model"): [prompt.shape for prompt, _one in counted],
        _("bytes"): [one.total for _prompt, one in counted],
    }


def _scores(counted: Counted) -> str:
    return binary_bytes(counted.loaded.get("scores", 0) + counted.stored.get("scores", 0))


def _ratios(record: AttentionBytes) -> str:
    """The longest prompt that was counted in all three ways, in a sentence."""
    whole = [prompt for prompt in record.prompts if len(prompt.ways) == len(WAYS)]
    prompt = max(whole, key=lambda one: one.n_tokens)
    moved = {one.way: one.total for one in prompt.ways}
    return _(
        "Over {n} tokens the tiles moved {single} times less than one query at a time, and {written} times less than "
        "the scores written out."
    ).format(
        n=prompt.n_tokens,
        single=significant(moved["one_query"] / moved["tiled"], 2),
        written=significant(moved["written_out"] / moved["tiled"], 2),
    )


def _how(record: AttentionBytes) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    return _(
        "One layer, random numbers in {dtype}. The kernel ran under Triton's interpreter, which does on a CPU what "
        "each program would do on a GPU, and every load and store was counted by the tensor that it touched. Written "
        "out, each torch operation was counted by its operands and its result. All ways gave the same outputs. Made on "
        "{day} with {versions} by {command}."
    ).format(
        dtype=record.number_type, day=record.created, versions=code_span(versions), command=code_span(record.command)
    )
