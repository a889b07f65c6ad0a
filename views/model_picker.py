"""Which model a run in the Lab is made with: the engine's own, or another one that is on its machine.

Another model is loaded by the engine with the first run that asks for it. `model_fetching` has how one comes there.
"""

from __future__ import annotations

import streamlit as st

from engine.loop.variant import split_variant
from views.engine_calls import model_names
from views.page_state import PageState
from views.safe_text import code_span
from views.words import _


def model_box(page: PageState, names: list[str]) -> None:
    """The box, where there is a choice among `models_here`."""
    wanted: str | None = st.session_state.setdefault(page.key("model"), page.link.model)
    if not names:
        return  # the engine does not answer yet: it will say whether it has this model
    if wanted not in names:
        if wanted is not None:
            gone = _("The model {name} is not on this machine, so the engine's own is chosen.")
            st.warning(gone.format(name=code_span(wanted)))
        st.session_state[page.key("model")] = names[0]
    if len(names) < 2:
        return
    st.selectbox(
        _("Model"), names, key=page.key("model"), persist_state="session",
        help=_("Another model than the first is loaded by the first run that asks for it, which takes seconds."),
    )  # fmt: skip


def model_in_box(page: PageState, names: list[str]) -> str | None:
    """The model that the page asks for; None is the engine's own."""
    wanted: str | None = st.session_state.get(page.key("model"))
    return None if wanted in names[:1] else wanted


def models_here() -> list[str]:
    """The models that a run may ask for, the engine's own first, without their variants in fewer bits."""
    names = model_names()
    own = names[:1]
    return [*own, *(name for name in names[1:] if split_variant(name)[1] == "bf16" and name not in own)]


def fill_model(page: PageState, model: str | None) -> None:
    """Put a model into the box: what a link carries, or what the run that it names was made with."""
    st.session_state[page.key("model")] = None if model is None else str(split_variant(model)[0])
