"""Where a number comes from: every figure on a page carries one of these labels and can say how it was made."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from engine.account.record import Run
from views.safe_text import code_span
from views.words import _

Evidence = Literal["measured", "recorded", "computed", "simulated", "instrumented"]

LABELS: dict[Evidence, str] = {
    "measured": _("measured here"),
    "recorded": _("recorded"),
    "computed": _("computed"),
    "simulated": _("simulated"),
    "instrumented": _("instrumented second pass"),
}

MEANINGS: dict[Evidence, str] = {
    "measured": _("Taken by this engine's clock while your request ran, with no instrument attached."),
    "recorded": _("Measured in the same way, earlier, on the machine that the recording names."),
    "computed": _("Worked out from the model's shape by a formula that the tests check; no clock involved."),
    "simulated": _("Played out on a virtual clock from computed costs; nobody waited for it."),
    "instrumented": _(
        "Measured here while the same tokens went through once more with instruments attached. Instruments cost time, "
        "so these times are longer and are never mixed with the others."
    ),
}

_ICONS: dict[Evidence, str] = {
    "measured": ":material/timer:",
    "recorded": ":material/history:",
    "computed": ":material/calculate:",
    "simulated": ":material/model_training:",
    "instrumented": ":material/troubleshoot:",
}


def timing_evidence(run: Run, *, recorded: bool) -> Evidence:
    """What the times of a run are: measured here, recorded earlier, or simulated."""
    if run.header.evidence == "simulated":
        return "simulated"
    return "recorded" if recorded else "measured"


def source_line(run: Run, *, recorded: bool) -> str:
    """Markdown that names the machine, and for a recording the day."""
    device = run.header.device
    machine = _("{name}, {threads} threads").format(name=code_span(device.name), threads=device.threads)
    if not recorded:
        return machine
    return _("{machine}, on {day}").format(machine=machine, day=code_span(run.header.created[:10]))


def evidence_row(kind: Evidence, how: str, *, key: str) -> None:
    """The label and the answer to "how was this number made?", on one line."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"evidence-{key}"):
        st.badge(LABELS[kind], icon=_ICONS[kind], color="gray")
        with st.popover(_("How was this made?"), type="tertiary", key=f"how-{key}"):
            st.markdown(f"**{LABELS[kind].capitalize()}.** {MEANINGS[kind]}\n\n{how}")
