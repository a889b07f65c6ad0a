"""Where a number comes from: every figure on a page carries one of these labels and can say how it was made."""

from __future__ import annotations

from html import escape
from typing import Literal

import streamlit as st

from engine.account.record import Run
from views.conditions import Condition, condition
from views.icons import icon_html
from views.popover import popover
from views.safe_text import code_span
from views.words import N_, Words, _

Evidence = Literal["measured", "recorded", "computed", "simulated", "instrumented", "elsewhere", "outside"]

LABELS: Words[Evidence] = Words(
    {
        "measured": N_("measured here"),
        "recorded": N_("recorded"),
        "computed": N_("computed"),
        "simulated": N_("simulated"),
        "instrumented": N_("instrumented second pass"),
        "elsewhere": N_("recorded elsewhere"),
        "outside": N_("from outside"),
    }
)

MEANINGS: Words[Evidence] = Words(
    {
        "measured": N_("Taken by this engine's clock while your request ran, with no instrument attached."),
        "recorded": N_("Measured in the same way, earlier, on the machine that the recording names."),
        "computed": N_("Worked out from the model's shape by a formula that the tests check; no clock involved."),
        "simulated": N_("Played out on a virtual clock from computed costs; nobody waited for it."),
        "instrumented": N_(
            "Measured here while the same tokens went through once more with instruments attached. Instruments cost "
            "time, so these times are longer and are never mixed with the others."
        ),
        "elsewhere": N_(
            "Read from a file that a person opened. It says when and on what it was measured; nobody here saw it."
        ),
        "outside": N_(
            "Timed by this app while another engine's answer came in: the network and everything between is in these "
            "times. Passes, memory and odds cannot be seen from there and stay blank."
        ),
    }
)

_ICONS: dict[Evidence, str] = {
    "measured": "timer",
    "recorded": "history",
    "computed": "calculate",
    "simulated": "model_training",
    "instrumented": "troubleshoot",
    "elsewhere": "folder_open",
    "outside": "public",
}


def timing_evidence(run: Run, *, recorded: bool) -> Evidence:
    """What the times of a run are: measured here, recorded earlier, or simulated."""
    if run.header.evidence == "simulated":
        return "simulated"
    return "recorded" if recorded else "measured"


def labelled(kind: Evidence, found: Condition | None) -> str:
    """What goes by a number: "measured alone", "recorded, measured under load", or only how it was made."""
    if found is None:
        return LABELS[kind]
    return found.label if kind == "measured" else f"{LABELS[kind]}, {found.label}"


def source_line(run: Run, *, recorded: bool) -> str:
    """Markdown that names the machine, whether the run had it to itself, and for a recording the day."""
    device = run.header.device
    machine = _("{name}, {threads} threads").format(name=code_span(device.name), threads=device.threads)
    if found := condition(run):
        machine = _("{machine}, {condition}").format(machine=machine, condition=found.label)
    if not recorded:
        return machine
    return _("{machine}, on {day}").format(machine=machine, day=code_span(run.header.created[:10]))


def evidence_row(kind: Evidence, how: str, *, key: str, found: Condition | None = None) -> None:
    """The label and the answer to "how was this number made?", on one line; `found` for the times of one run."""
    badge = f'<span class="ts-badge">{icon_html(_ICONS[kind])} {escape(labelled(kind, found))}</span>'
    asked = popover(_("How was this made?"), how_told(kind, how, found), key)
    st.html(f'<div class="ts-evidence">{badge}{asked}</div>')


def how_told(kind: Evidence, how: str, found: Condition | None) -> str:
    """Markdown: what the label means, whether it was taken alone, and how this number was made."""
    said = [f"**{LABELS[kind].capitalize()}.** {MEANINGS[kind]}", found.meaning if found else "", how]
    return "\n\n".join(filter(None, said))
