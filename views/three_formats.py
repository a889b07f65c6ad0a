"""The same prompt through the same model in 16, 8 and 4 bits, one after another: texts, odds and speed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from engine.account.metrics import timings
from engine.account.record import End, Run, Sampling, WeightFormat
from engine.loop.variant import variants
from engine.serve.client import EngineRefused, EngineUnavailable
from lessons.filters import decimal_bytes, milliseconds
from views.engine_calls import engine_notice, find_run, too_much
from views.engine_faults import in_words
from views.engine_link import engine_link
from views.evidence import evidence_row, source_line
from views.prompt_checks import prompt_problem
from views.safe_text import code_span, plain, token_label
from views.visitor import keep_run
from views.words import N_, Words, _

SAMPLING = Sampling(max_new_tokens=40, ignore_eos=True)
ROUNDS = 2
PATIENCE_S = 60.0
"""For one run to end; the first one of a format waits for its weights to be packed."""
BITS: Words[WeightFormat] = Words({"bf16": N_("16 bits"), "int8": N_("8 bits"), "int4": N_("4 bits")})


@dataclass(frozen=True)
class Departure:
    """Where a text leaves the one of 16 bits: which token, and what 16 bits made of both."""

    place: int
    """Counts the new tokens from 1."""
    exact: str
    other: str
    exact_odds: float
    other_odds: float | None
    """None if the other token was not among the leading ones."""


def offer_own_prompt(prompt: str, key: str) -> None:
    """The box, the button, and the three runs of whoever has pressed it."""
    st.subheader(_("Your own prompt, in three formats"), anchor=False)
    with st.form(f"{key}-own-prompt", border=False):
        typed = st.text_input(_("Prompt"), prompt, key=f"{key}-own-text")
        asked = st.form_submit_button(_("Run it three times"), icon=":material/play_arrow:")
    if asked:
        problem = prompt_problem(typed)
        runs: list[Run] = []
        if problem is None:
            runs, problem = run_all(typed)
        st.session_state[f"{key}-own-runs"] = runs
        if problem:
            st.warning(plain(problem))
    if kept := st.session_state.get(f"{key}-own-runs"):
        _show(kept, key)


def run_all(prompt: str) -> tuple[list[Run], str | None]:
    """A run in each format, in turns, `ROUNDS` times, of each the one that was disturbed least; if there are fewer, why
    in plain words.
    """
    best: dict[str, Run] = {}
    try:
        with st.spinner(_("In turns; the first run in a format waits until its weights are packed"), show_time=True):
            turns = variants(engine_link().client.models()[0].name) * ROUNDS
            if problem := too_much(prompt, SAMPLING, len(turns)):
                return [], problem
            for model in turns:
                run, problem = _run(prompt, model)
                if run is None:
                    return [*best.values()], problem
                best[model] = min(best.get(model, run), run, key=_gap)
    except EngineRefused as no:
        return [*best.values()], in_words(no)
    except (EngineUnavailable, IndexError):
        return [*best.values()], engine_notice() or _("The engine does not answer. Try again in a moment.")
    return [*best.values()], None


def _run(prompt: str, model: str) -> tuple[Run | None, str | None]:
    run_id = engine_link().submit(prompt, SAMPLING, model)
    keep_run(run_id)
    return _ended(run_id)


def _gap(run: Run) -> float:
    return timings(run).itl_p50_ns or 0.0


def departure(exact: Run, other: Run) -> Departure | None:
    """The first token that differs; None if all are the same."""
    pairs = zip(exact.emissions, other.emissions, strict=False)
    for place, (ours, theirs) in enumerate(pairs, 1):
        if ours.token.id != theirs.token.id:
            odds = {one.token.id: one.model for one in ours.candidates}
            return Departure(
                place, ours.token.text, theirs.token.text, odds[ours.token.id], odds.get(theirs.token.id)
            )  # fmt: skip
    return None


def told(left: Departure | None) -> str:
    """Markdown of where a text departs, and how near the two words were."""
    if left is None:
        return _("The same tokens as in 16 bits.")
    exact, other = code_span(token_label(left.exact)), code_span(token_label(left.other))
    text = _("Leaves the text of 16 bits at token {n}: {other} instead of {exact}.").format(
        n=left.place, other=other, exact=exact
    )
    if left.other_odds is None:
        return text
    return f"{text} " + _("In 16 bits their odds were {b} and {a}.").format(
        a=f"{left.exact_odds * 100:.0f} %", b=f"{left.other_odds * 100:.0f} %"
    )


def _ended(run_id: str) -> tuple[Run | None, str | None]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = find_run(run_id)
        if found.run is None:
            return None, found.problem
        if found.run.end is not None:
            ended_well = isinstance(found.run.end, End)
            return (found.run, None) if ended_well else (None, _("A run failed. Try another prompt."))
        time.sleep(0.05)
    return None, _("A run took too long: the engine is busy. Try again in a moment.")


def _show(runs: list[Run], key: str) -> None:
    with st.grid(3, min_column_width=230, gap="small", key=f"{key}-own-runs-grid"):
        for name, run in zip(BITS.values(), runs, strict=False):
            with st.container(border=True, height="stretch", gap="xsmall"):
                measured = timings(run)
                st.markdown(f":small[{name}, {decimal_bytes(run.header.model.weight_bytes)}]")
                if measured.itl_p50_ns is not None:
                    st.metric(_("median gap"), milliseconds(measured.itl_p50_ns))
                st.markdown(plain(run.text))
                if run is not runs[0]:
                    st.markdown(told(departure(runs[0], run)))
    how = _(
        "Runs of {n} new tokens on this engine, greedy, the formats in turns, twice; each card shows the run with the "
        "shorter median gap between its tokens. Odds are the model's own, before anything was drawn. {source}"
    ).format(n=SAMPLING.max_new_tokens, source=source_line(runs[0], recorded=False))
    evidence_row("measured", how, key=f"{key}-own-runs")
