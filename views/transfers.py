"""What happened to a run that several engines served: the memory that moved between them, and who went on after a loss.

Shown where a cluster runs (`python -m engine cluster`); nothing where one engine served the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from engine.account.record import Continued, Run, Transferred
from lessons.filters import decimal_bytes, milliseconds
from views.evidence import evidence_row, source_line, timing_evidence
from views.safe_text import code_span
from views.words import _, ngettext


def show_transfers(run: Run, *, recorded: bool, key: str) -> None:
    """Sentences, then one row for each time that memory moved."""
    if run.header.engine is None:
        return
    for sentence in sentences(run):
        st.markdown(sentence)
    moved = [event for event in run.events if isinstance(event, Transferred)]
    if moved:
        st.dataframe(pd.DataFrame(columns(moved)), hide_index=True, width="stretch", key=f"transfers-{key}")
        evidence_row(timing_evidence(run, recorded=recorded), _how(run, recorded), key=f"transfers-{key}")


def sentences(run: Run) -> list[str]:
    """Markdown: who served the run, from its first engine to its last."""
    said = [
        _("**Several engines serve here.** {engine} took this run.").format(engine=code_span(run.header.engine or ""))
    ]
    for event in run.events:
        if isinstance(event, Transferred):
            said.append(
                _("{sender} read the prompt and {receiver} went on: {bytes} moved, in {time}.").format(
                    sender=code_span(event.sender), receiver=code_span(event.receiver),
                    bytes=decimal_bytes(event.kv_bytes + event.state_bytes + event.window_bytes),
                    time=milliseconds(event.at_ns - event.start_ns),
                )
            )  # fmt: skip
        elif isinstance(event, Continued):
            said.append(
                ngettext(
                    "An engine was lost; {engine} read the text again and went on after {n} new token.",
                    "An engine was lost; {engine} read the text again and went on after {n} new tokens.",
                    event.tokens,
                ).format(engine=code_span(event.engine), n=event.tokens)
            )
    return said


def columns(moved: Sequence[Transferred]) -> dict[str, list[Any]]:
    """The table: a row each time."""
    return {
        _("from"): [one.sender for one in moved],
        _("to"): [one.receiver for one in moved],
        _("positions"): [one.positions for one in moved],
        _("KV cache"): [decimal_bytes(one.kv_bytes) for one in moved],
        _("state"): [decimal_bytes(one.state_bytes) for one in moved],
        _("windows"): [decimal_bytes(one.window_bytes) for one in moved],
        _("time"): [milliseconds(one.at_ns - one.start_ns) for one in moved],
        _("of it, out of the store"): [None if one.fetch_ns is None else milliseconds(one.fetch_ns) for one in moved],
    }


def _how(run: Run, recorded: bool) -> str:
    how = _(
        "From the end of the prompt's last pass on one engine to the moment at which all of it lies in the other's own "
        "memory: copying out, the object store, the message that says so, a checksum, copying in, and waiting for a "
        "place there. The bytes are those of the arrays that were sent. Between machines the clocks are compared by "
        "asking, and may be wrong by half the way there and back."
    )
    return how + "\n\n" + source_line(run, recorded=recorded)
