"""Inside the kernels: attention by the tile, one token in a state, and every operation beside its statement."""

from __future__ import annotations

import streamlit as st

from engine.account.record import Sampling
from lessons.code_source import SourceError, excerpt
from views.instruments import drawing_of
from views.kernel_counts import show_counts
from views.kernel_sources import PAIRS, Pair, derivation
from views.kernel_state import show_state
from views.page_state import PageState
from views.scene import Scene
from views.words import _

PAGE = "kernels"


def show_kernels() -> None:
    """Draw the page. Each part is a fragment: a choice in one redraws nothing else."""
    st.title(_("Inside the kernels"), anchor=False)
    st.markdown(
        _(
            "A kernel is the small program that a chip runs many copies of at once. Most kernels of a language model "
            "wait for memory, so each is shaped by what it does not have to move."
        )
    )
    scene = Scene(PageState(PAGE, Sampling()), "", None)
    st.header(_("Attention, tile by tile"), anchor="tiles")
    st.markdown(
        _(
            "Each query of a prompt is compared with all keys up to its own. Written out, that is a square of scores "
            "that goes to memory and back. The kernel takes a tile of queries, walks over the keys tile by tile, and "
            "keeps only a running sum: a softmax can be summed in pieces. A program is one copy of the kernel; the "
            "programs of a real chip run side by side, here they come one after the other."
        )
    )
    st.fragment(drawing_of("tiles"), key=f"{PAGE}-tiles")(scene, {}, f"{PAGE}-tiles")
    show_counts(PAGE)
    st.header(_("One token in a DeltaNet state"), anchor="state")
    st.fragment(show_state, key=f"{PAGE}-state")(PAGE)
    st.header(_("Every operation twice"), anchor="operations")
    st.markdown(
        _(
            "The plain statement says what is computed, one step after another, and everything is tested against it. "
            "The kernel computes the same on a GPU. Both are read from the project's files."
        )
    )
    st.fragment(_operations, key=f"{PAGE}-operations")()


def _operations() -> None:
    """A box for the operation, kept in the address, and its two sources."""
    by_key = {pair.key: pair for pair in PAIRS}
    key = f"{PAGE}-operation"
    linked = st.query_params.get("operation")
    if key not in st.session_state and linked in by_key:
        st.session_state[key] = linked
    chosen = st.selectbox(
        _("Operation"), list(by_key), format_func=lambda name: _(by_key[name].title), key=key, persist_state="session"
    )
    st.query_params["operation"] = chosen
    _pair(by_key[chosen])


def _pair(pair: Pair) -> None:
    why = _(pair.why)
    st.markdown(f"> {why if why.endswith('.') else f'{why}.'}")
    with st.expander(_("The derivation, from the head of the kernel's file"), key=f"{PAGE}-derivation"):
        st.code(derivation(pair), language=None, wrap_lines=True)
    # Side by side where a line of code has room, else one above the other.
    with st.grid(2, min_column_width=560):
        with st.container():
            _source(_("The plain statement"), pair.statement)
        with st.container():
            _source(_("The kernel"), pair.kernel)
    with st.expander(_("How it is started: grid and tiles"), key=f"{PAGE}-launch"):
        _source("", pair.launch)


def _source(title: str, reference: str) -> None:
    """A definition's source. Long lines wrap: a block that scrolls by itself cannot be reached by keyboard."""
    try:
        shown = excerpt(reference)
    except (SourceError, OSError, SyntaxError):
        st.caption(_("This code is not here any more."))
        return
    if title:
        st.subheader(title, anchor=False)
    st.caption(f"`{shown.path}`, {_('from line')} {shown.first_line}")
    st.code(shown.code, language="python", wrap_lines=True)
