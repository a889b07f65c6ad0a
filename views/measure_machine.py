"""Measuring this machine from a page: the probe in a process of its own, one at a time, and what it found."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime

import streamlit as st

from engine.account import probe
from engine.account.probe import MachineProbe, Rate
from views.engine_link import engine_link
from views.safe_text import code_span
from views.words import _

COMMAND = "python -m engine probe --again"
PATIENCE_S = 120
REST_S = 60
"""A result this fresh is not measured again: the probe takes the whole machine while it runs."""
WIDE = 0.5
"""A spread over the repetitions from which on something else was running."""


def kept_probe() -> MachineProbe | None:
    """The result for as many threads as the engine takes; None before it was measured."""
    return probe.load(probe.kept_at(min(2, os.cpu_count() or 1)))


def offer_to_measure(key: str) -> None:
    """What is known of this machine, and the button; for an engine elsewhere, the command to run there."""
    known = kept_probe()
    if known is not None:
        st.caption(told(known))
    if not engine_link().supervised:
        st.caption(_("The engine runs on another machine. Measure it there: {command}").format(command=f"`{COMMAND}`"))
        return
    label = _("Measure this machine") if known is None else _("Measure again")
    fresh = known is not None and age_s(known) < REST_S
    why = _("It was measured less than a minute ago.") if fresh else _("About ten seconds. Runs take longer meanwhile.")
    if st.button(label, icon=":material/speed:", disabled=fresh, help=why, key=f"{key}-measure"):
        problem = measure_now()
        if problem is None:
            st.rerun()
        st.warning(problem)


def told(known: MachineProbe) -> str:
    """The measured rates in a sentence, with their range, and a word where the range is wide."""
    rates = known.bandwidth_bytes_per_s, max(known.bf16_flops_per_s, known.fp32_flops_per_s, key=lambda one: one.median)
    text = _("{cpu}, {threads} threads: memory read at {bandwidth} GB/s, products at {peak} GFLOP/s ({day}).").format(
        cpu=code_span(known.cpu), threads=known.threads, bandwidth=_range(rates[0]), peak=_range(rates[1]),
        day=known.created[:10],
    )  # fmt: skip
    if any(rate.spread > WIDE for rate in rates):
        text += " " + _("The range is wide: something else was running. Measure again when it is quiet.")
    return text


def age_s(known: MachineProbe) -> float:
    """Seconds since it was measured."""
    return (datetime.now(UTC) - datetime.fromisoformat(known.created)).total_seconds()


def measure_now() -> str | None:
    """Run the probe and wait for it; what went wrong, in plain words, or None."""
    with _one_at_a_time():
        known = kept_probe()
        if known is not None and age_s(known) < REST_S:
            return None  # somebody else has just measured
        try:
            with st.spinner(_("Reading memory and multiplying matrices"), show_time=True):
                # torch stays out of this process.
                subprocess.run(
                    [sys.executable, "-m", *COMMAND.split()[2:]], check=True, capture_output=True, timeout=PATIENCE_S
                )
        except (subprocess.SubprocessError, OSError):
            return _("The measurement failed. In a terminal this says why: {command}").format(command=f"`{COMMAND}`")
    return None


def _range(rate: Rate) -> str:
    return f"{rate.median / 1e9:,.1f} ({rate.low / 1e9:,.1f}–{rate.high / 1e9:,.1f})"


@st.cache_resource(show_spinner=False)
def _one_at_a_time() -> threading.Lock:
    return threading.Lock()
