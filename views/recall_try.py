"""The recall experiment in a learner's hands: two real runs, one that plants a name and one that does not."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

import streamlit as st

from engine.account.record import Candidate, Run, Sampling
from lessons.filters import significant
from lessons.recall import PLANTED, STRETCHES, planted
from views.engine_calls import find_run, start_run
from views.evidence import evidence_row
from views.safe_text import plain, token_label
from views.scene import Scene
from views.words import _

PATIENCE_S = 20.0
LONGEST_NAME = 24
BEFORE = PLANTED.partition("{")[0].rstrip()
"""What stands before a name; its tokens end here, since a name's first token carries the space."""
ONE_TOKEN = Sampling(max_new_tokens=1, ignore_eos=True)


@dataclass(frozen=True)
class Odds:
    """The odds of one token where it was asked for; `bound` if the record does not list it, and they are below that."""

    value: float
    bound: bool


@dataclass(frozen=True)
class Tried:
    """One try: what was planted and how far away, and the odds of the name's first token with and without it."""

    name: str
    token: str
    distance: int
    planted: Odds
    plain: Odds
    likeliest: str
    """What the model said first, with the name planted."""


def name_problem(name: str) -> str | None:
    """Why a name cannot be planted, in plain words; None if it can."""
    if not name.strip():
        return _("Type a name first.")
    if len(name) > LONGEST_NAME:
        return _("Use a name of at most {n} characters.").format(n=LONGEST_NAME)
    if not all(letter.isalpha() or letter in "-' " for letter in name) or not name.isascii():
        return _("Use letters of the English alphabet: the model has seen no others.")
    return None


def tried(name: str, with_name: Run, without: Run) -> Tried:
    """Read both runs: the name's first token is the one after what stands before every name.

    A comparison of odds and not of answers: the name may be planted well and still not be the likeliest word.
    """
    prompt = with_name.header.prompt_tokens
    ends = accumulate(len(token.text) for token in prompt)
    place = sum(end <= len(BEFORE) for end in ends)
    first, token = with_name.emissions[0], prompt[place]
    return Tried(
        name, token.text, len(prompt) - 1 - place, odds_of(token.id, first.candidates),
        odds_of(token.id, without.emissions[0].candidates), first.token.text,
    )  # fmt: skip


def odds_of(token_id: int, candidates: Iterable[Candidate]) -> Odds:
    """A token's odds by the model; one that is not among the listed candidates has less than the last of them."""
    listed = {one.token.id: one.model for one in candidates}
    if token_id in listed:
        return Odds(listed[token_id], bound=False)
    return Odds(min(listed.values()), bound=True)


def show_recall_try(scene: Scene, key: str) -> None:
    """A name, a distance, a button; under it every try of this session."""
    kept: list[Tried] = st.session_state.setdefault(scene.page.key("recall"), [])
    with st.form(f"recall-{key}", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(_("A name to plant"), value="Max", max_chars=LONGEST_NAME, width=180, key=f"name-{key}")
        n = st.selectbox(
            _("Sentences in between"), STRETCHES, index=1, width=180, key=f"stretch-{key}", format_func=str
        )
        sent = st.form_submit_button(_("Plant it and ask"), icon=":material/psychiatry:")
    if sent:
        problem = name_problem(name) or _ask(name.strip(), n, kept)
        if problem:
            st.error(plain(problem))
    if kept:
        _show_tries(kept, key)


def _ask(name: str, n_sentences: int, kept: list[Tried]) -> str | None:
    """Both runs, one after the other; why there is no result, or None."""
    runs = []
    for text in (planted(name, n_sentences), planted("", n_sentences)):
        started = start_run(text, ONE_TOKEN)
        run = _wait(started.run_id) if started.run_id else None
        if run is None or not run.emissions:
            return started.problem or _("The engine did not answer in time. Try again.")
        runs.append(run)
    kept.append(tried(name, *runs))
    return None


def _wait(run_id: str) -> Run | None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        run = find_run(run_id).run
        if run is None or run.end is not None:
            return run
        time.sleep(0.03)
    return None


def _show_tries(kept: list[Tried], key: str) -> None:
    st.dataframe(tries_table(kept), hide_index=True, width="stretch", key=f"tries-{key}")
    how = _(
        "For each try the engine ran two prompts for one token each. Both are the same but for the name: one says that "
        "there was a cat named so, the other only that there was a cat. Shown are the odds of the name's first token "
        "where the name is asked for. A record lists the ten likeliest tokens; for one that is not among them the odds "
        "are below the tenth's, and that is what the table says."
    )
    evidence_row("measured", how, key=f"tries-{key}")


def tries_table(kept: list[Tried]) -> dict[str, list[object]]:
    """The tries as columns, the latest first."""
    latest = kept[::-1]
    return {
        _("name"): [one.name for one in latest],
        _("tokens since the name"): [one.distance for one in latest],
        _("first token"): [token_label(one.token) for one in latest],
        _("odds, planted"): [_written(one.planted) for one in latest],
        _("odds, not planted"): [_written(one.plain) for one in latest],
        _("times as likely"): [_times(one) for one in latest],
        _("likeliest word"): [token_label(one.likeliest) for one in latest],
    }


def _written(odds: Odds) -> str:
    percent = f"{significant(odds.value * 100, 2)} %"
    return _("below {odds}").format(odds=percent) if odds.bound else percent


def _times(one: Tried) -> str | None:
    """Nothing can be said of the ratio where both are only bounds, or where the planted one is."""
    if one.planted.bound:
        return None
    times = significant(one.planted.value / one.plain.value, 2)
    return _("more than {times}").format(times=times) if one.plain.bound else times
