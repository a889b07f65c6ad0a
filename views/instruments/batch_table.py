"""The step table: who took part in every step, of the real engine or of a load on the virtual clock."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from views.batch_engine import show_engine
from views.batch_simulated import show_simulated
from views.scene import Scene
from views.site import LAB
from views.words import N_, Words, _

SOURCES = Words({"engine": N_("this engine, n at once"), "simulated": N_("a load on the virtual clock")})


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The source is the author's choice in a lesson, and the visitor's in the Lab."""
    source = settings.get("source")
    if source is None or scene.page.name == LAB:
        source = st.segmented_control(
            _("Steps of"), list(SOURCES), default=source or "engine", format_func=SOURCES.__getitem__,
            key=f"{key}-source", required=True,
        )  # fmt: skip
    draw = show_engine if source == "engine" else show_simulated
    draw(scene, settings, key)
