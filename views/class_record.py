"""A class as a whole, to take along: every run as lengths and times, its prompt only where its learner agreed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from engine.account.record import Run
from engine.account.workload import SCHEMA, Ask, Workload, write_workload
from views.class_here import class_store
from views.class_store import Class
from views.engine_calls import find_run
from views.site import serving_page
from views.words import _, ngettext


@dataclass(frozen=True)
class Recorded:
    """A class's runs as a workload, and how many could not be in it: no token yet, or not kept any more."""

    workload: Workload
    left_out: int


def record_class(one: Class, find: Callable[[str], Run | None]) -> Recorded:
    """Every run of a class so far; `find` gives a run by its id, as far as it is kept."""
    asks: list[Ask] = []
    started = class_store().runs(one.id)
    first_at = started[0][2] if started else one.began
    for run_id, who, at, told in started:
        run = find(run_id)
        n_new = sum(len(one_pass.emitted) for one_pass in run.passes) if run is not None else 0
        if run is None or not n_new:
            continue
        prompt = run.header.prompt if told else None
        at_ns = max(0, round((at - first_at) * 1e9))
        asks.append(Ask(at_ns, who, len(run.header.prompt_tokens), n_new, prompt))
    left_out = len(started) - len(asks)
    what = f"class {one.code}" + (f", without {left_out} runs that had no token or are not kept" if left_out else "")
    created = datetime.fromtimestamp(first_at, UTC).isoformat(timespec="seconds")
    return Recorded(Workload(SCHEMA, created, what, asks), left_out)


def show_recording(one: Class) -> None:
    """The download, made when the button is pressed, and where the file can be played."""
    n = len(class_store().runs(one.id))
    st.header(_("The class as a workload"), anchor=False)
    st.markdown(
        ngettext("{n} run of this class so far.", "{n} runs of this class so far.", n).format(n=n)
        + " "
        + _(
            "The file holds when each came, its prompt tokens and new tokens, and a pseudonym; the text of a prompt "
            "only where its learner agreed."
        )
    )
    if n:
        st.download_button(
            _("Save the class as a workload"), lambda: _file(one), f"class-{one.code}.json", "application/json",
            icon=":material/download:", on_click="ignore", key="class-recording",
        )  # fmt: skip
    st.page_link(serving_page(), label=_("Play a saved class on the virtual clock"), icon=":material/replay:")


def _file(one: Class) -> bytes:
    return write_workload(record_class(one, lambda run_id: find_run(run_id).run).workload)
