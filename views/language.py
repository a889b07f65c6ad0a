"""Which language a visitor reads, and where the choice is kept.

The address (`?lang=es`) comes first, then what was chosen in this session, then the cookie of an earlier choice, then
the browser's own language, then English. A choice stands in the address too, so that a copied address keeps it; the
browser's own language does not, so that a shared link leaves everybody theirs.
"""

from __future__ import annotations

import streamlit as st

from views.database import KEEP_DAYS
from views.words import DEFAULT, LANGUAGES, language, speak

PARAMETER = "lang"
COOKIE = "twospeeds-language"
_CHOSEN, _WISH, _WIDGET = "language.chosen", "language.wish", "language.choice"

# Streamlit writes lang="en" into every page; a screen reader would read Spanish with an English voice.
_IN_DOCUMENT = """
<script>document.documentElement.lang = "{language}"; {and_then}</script>
"""
# Boxes that are on the page already know their choices by the words of the old language, so the page is opened anew:
# what it shows stands in its address.
_SWITCH = """
document.cookie = "{name}={value}; Path=/; Max-Age={seconds}; SameSite=Lax";
const address = new URL(location.href);
address.searchParams.set("{parameter}", "{value}");
location.replace(address.href);
"""


def of_visitor() -> str:
    """The language of whoever looks at this page."""
    wishes = (
        st.query_params.get(PARAMETER),
        st.session_state.get(_CHOSEN),
        st.context.cookies.get(COOKIE),
        (st.context.locale or "").partition("-")[0].lower(),
    )
    return next((wish for wish in wishes if wish in LANGUAGES), DEFAULT)


def settle() -> None:
    """At the beginning of a run: this thread speaks the visitor's language, and a choice stands in the address."""
    asked = st.query_params.get(PARAMETER)
    if asked in LANGUAGES:
        st.session_state[_CHOSEN] = asked
    elif chosen := in_link():
        st.query_params.update(chosen)
    speak(of_visitor())


def in_link() -> dict[str, str]:
    """What a link carries to stay in the language that was chosen; nothing where none was."""
    chosen = st.session_state.get(_CHOSEN)
    return {PARAMETER: chosen} if chosen in LANGUAGES else {}


def choose() -> None:
    """The choice, for the side bar, every language under its own name."""
    st.session_state[_WIDGET] = language()
    st.radio(
        "Language · Idioma", list(LANGUAGES), format_func=LANGUAGES.__getitem__, key=_WIDGET, horizontal=True,
        label_visibility="collapsed", on_change=_chosen,
    )  # fmt: skip


def _chosen() -> None:
    st.session_state[_WISH] = st.session_state[_WIDGET]


def tell_document() -> None:
    """Say in the browser which language the page is in; after a choice, keep it there and open the page anew."""
    wish = st.session_state.pop(_WISH, None)
    switch = ""
    if wish in LANGUAGES:
        switch = _SWITCH.format(name=COOKIE, value=wish, seconds=KEEP_DAYS * 86400, parameter=PARAMETER)
    told = _IN_DOCUMENT.format(language=wish if switch else language(), and_then=switch)
    st.html(told, unsafe_allow_javascript=True)
    if switch:
        st.stop()
