"""What one page of one visitor is about: its link, kept in the session and mirrored in the address.

A page switch empties the address; coming back restores it. An address that did not come from here (a shared link, the
Back button) is read and obeyed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import streamlit as st

from engine.account.record import Sampling, Serving
from lessons.questions import Answer
from views.links import AS_USUAL, Link, read_link, write_link

KNOWN = (
    "prompt", "new", "temperature", "top_k", "top_p", "seed", "stop", "run", "other", "at", "guess",
    "cache", "ahead", "reuse", "weights", "model",
)  # fmt: skip

ECHO_S = 3.0
"""So long after a change of address a rerun may still come with the old one; a person's Back button takes longer."""


@dataclass(frozen=True)
class PageState:
    """One page's place in the session. `name` is the page's address, `default` its own settings."""

    name: str
    default: Sampling

    @property
    def link(self) -> Link:
        """What the page is about now."""
        link: Link = st.session_state.setdefault(self.key("link"), Link(self.default))
        return link

    def key(self, what: str) -> str:
        """A session or widget key that belongs to this page alone."""
        return f"{what}.{self.name}"

    def open(self) -> list[str]:
        """Read the address, or restore it after a page switch; gives `problems`."""
        here = _address()
        if here and self._is_echo(here):
            self._write(self.link)
        elif here and here != st.session_state.get(self.key("written")):
            link, problems = read_link(here, self.default)
            st.session_state[self.key("link")] = link
            st.session_state[self.key("written")] = here
            st.session_state[self.key("problems")] = problems
            st.session_state[self.key("arrived")] = True
        elif not here and self.key("link") in st.session_state:
            self._write(self.link)
        return self.problems

    @property
    def problems(self) -> list[str]:
        """What could not be read in a link, in plain words, until a run has begun."""
        kept: list[str] = st.session_state.get(self.key("problems"), [])
        return kept

    def take_arrival(self) -> bool:
        """Whether a link was read since this was last asked: then the boxes are to show what it carries."""
        return bool(st.session_state.pop(self.key("arrived"), False))

    def start_run(self, run_id: str, sampling: Sampling, serving: Serving = AS_USUAL, model: str | None = None) -> None:
        """A new run is in view; what a link brought has been used."""
        st.session_state[self.key("problems")] = []
        self._write(Link(sampling, run=run_id, guesses=self.link.guesses, serving=serving, model=model))

    def leave_run(self) -> None:
        """No run of one's own is in view any more: the page's recording is."""
        self._write(replace(self.link, run=None, other=None, at=None))

    def start_other(self, run_id: str) -> None:
        """The second run stands beside the one in view."""
        self._write(replace(self.link, other=run_id))

    def keep_guess(self, question: str, answer: Answer | None) -> None:
        """A guess has been made: a reload is not to ask again."""
        others = tuple(one for one in self.link.guesses if one[0] != question)
        self._write(replace(self.link, guesses=(*others, (question, answer))))

    def go_to(self, step: int | None) -> None:
        """The step that the person has settled on."""
        if step is not None and step != self.link.at:
            self._write(replace(self.link, at=step))

    def _is_echo(self, here: dict[str, str]) -> bool:
        """Whether the address is one that this page has just left: the browser asked for a rerun before it heard so.

        Obeyed like a link, it took a run out of view that had just begun.
        """
        return any(address == here and time.monotonic() - at < ECHO_S for address, at in self._left())

    def _left(self) -> list[tuple[dict[str, str], float]]:
        left: list[tuple[dict[str, str], float]] = st.session_state.get(self.key("left"), [])
        return left

    def _write(self, link: Link) -> None:
        params = write_link(link, self.default)
        now, before = time.monotonic(), _address()
        left = [one for one in (*self._left(), (before, now)) if one[0] != params and now - one[1] < ECHO_S]
        st.session_state[self.key("left")] = left
        st.session_state[self.key("link")] = link
        st.session_state[self.key("written")] = params
        for name in KNOWN:
            if name in st.query_params and name not in params:
                del st.query_params[name]
        st.query_params.update(params)


def _address() -> dict[str, str]:
    return {name: st.query_params[name] for name in KNOWN if name in st.query_params}
