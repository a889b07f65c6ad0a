"""What is kept of a visitor, where, how long, who can see it, and how it goes: a note that a school can pass on.

Its numbers and names are the code's own. The page "All lessons" shows it; docs/privacy.md is the same text
(`python -m views.privacy > docs/privacy.md`), and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.outside.server import OutsideError, configured
from views import instructor, language, store, visitor
from views.database import KEEP_DAYS
from views.safe_text import code_span
from views.words import N_, _


@dataclass(frozen=True)
class _Part:
    heading: str
    sentences: tuple[str, ...]


_KEPT = _Part(
    N_("What is kept"),
    (
        N_(
            "Your answers: the lesson, the question, what you answered, whether it was right, and when. Your runs: the "
            "prompt, the settings, every token with its odds and times. Until you answer or run something, nothing."
        ),
        N_("In a class: a made-up name that the server draws, your votes, and which runs you began."),
        N_(
            "Nothing personal is asked for: no account, no name, no e-mail address. So please type nothing personal "
            "into a prompt."
        ),
    ),
)
_WHERE = _Part(
    N_("Where, and for how long"),
    (
        N_(
            "In one file on this server. Answers, votes and made-up names go {days} days after your last answer or "
            "run. A run goes {days} days after it was kept, or earlier when all runs together outgrow {megabytes} MB."
        ),
        N_("The engine holds its latest runs in memory until it is stopped or needs the room."),
        N_(
            "Logs hold no prompts, no answers and no network addresses; they tell which part of the server was asked, "
            "when, and how long it took."
        ),
    ),
)
_WHO = _Part(
    N_("Who can see it"),
    (
        N_("Whoever has the address of a run can see that run. Nobody can guess it: it holds 128 random bits."),
        N_("Whoever has your code of five words can go on with your work."),
        N_(
            "A teacher sees the made-up names, and how much each has tried and run; your answers or prompts only if "
            "you allow it. A class sees how many gave which answer, not who."
        ),
        N_(
            "While your run waits or is computed, others on this server see its length in the live table, not its text."
        ),
        N_("Whoever runs this server can read the file."),
    ),
)
_THIRD = _Part(
    N_("No third party"),
    (
        N_("The pages load nothing from elsewhere, and the server asks nobody. There are no statistics about you."),
        N_(
            "Only if whoever runs this server has set an outside engine: a run that you choose to send there carries "
            "its prompt to that engine."
        ),
    ),
)
_COOKIES = _Part(
    N_("Cookies"),
    (
        N_(
            "{visitor} holds a random name, so that this browser finds your work again: for {days} days, hidden from "
            "scripts, sent to this server alone. The server keeps only its hash."
        ),
        N_("{language} holds the language, if you choose one. {xsrf} protects forms until the browser is closed."),
        N_("Without cookies everything works, for as long as the page stays open."),
    ),
)
_DELETING = _Part(
    N_("Deleting"),
    (
        N_(
            "“Delete my data” on the page “All lessons” deletes your answers, votes and runs at once and overwrites "
            "them in the file; links to your runs stop working. You can download everything there first."
        ),
    ),
)
_DUTIES = _Part(
    N_("What whoever runs this server must do"),
    (
        N_(
            "Let others in over TLS only, and set {secret}, so that not everybody can teach. A reverse proxy must not "
            "log query strings: a link may carry a prompt."
        ),
        N_(
            "Keep back-ups of the file for {days} days at most: they hold what was deleted since. {delete} deletes "
            "everybody's data."
        ),
        N_("Tell people whom to ask, and keep this note where they find it."),
    ),
)
_PARTS = (_KEPT, _WHERE, _WHO, _THIRD, _COOKIES, _DELETING, _DUTIES)


def show_privacy() -> None:
    """The note, folded away, in the language of the person."""
    with st.expander(_("What is kept of you, and who can see it")):
        st.markdown("\n\n".join(f"**{heading}**\n\n{_listed(told)}" for heading, told in note()))
        if place := _outside():
            st.markdown(_("An outside engine is set here: {place}.").format(place=code_span(place)))


def note() -> list[tuple[str, list[str]]]:
    """Headings and what stands below them, as Markdown."""
    facts = {
        "days": KEEP_DAYS,
        "megabytes": f"{store.MAX_BYTES / 1e6:.0f}",
        "visitor": f"`{visitor.COOKIE}`",
        "language": f"`{language.COOKIE}`",
        "xsrf": "`_streamlit_xsrf`",
        "secret": f"`{instructor.SECRET}`",
        "delete": "`python -m views.store delete`",
    }
    return [(_(part.heading), [_(one).format(**facts) for one in part.sentences]) for part in _PARTS]


def _listed(sentences: list[str]) -> str:
    return "\n".join(f"- {one}" for one in sentences)


def _outside() -> str | None:
    try:
        server = configured()
    except OutsideError:
        return None
    return server.name if server else None


def markdown() -> str:
    """The note as a file of its own."""
    parts = [f"## {heading}\n\n{_listed(told)}\n" for heading, told in note()]
    return "\n".join(["# What Two Speeds keeps of a visitor\n", *parts])


if __name__ == "__main__":
    print(markdown(), end="")
