"""Instruments: one file each with a `show`, found by the instrument's name; lessons.instruments says which there are.

A module is imported when its instrument is first shown, so that a page does not wait for what it does not draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module

import streamlit as st

from lessons.instruments import INSTRUMENTS, prefix_of
from views.readers import fragment_of
from views.scene import Scene
from views.words import _

Show = Callable[[Scene, Mapping[str, str], str], None]
"""What every instrument's module has: draw it for this scene, with these settings, under keys that begin so."""


def drawing_of(name: str) -> Show:
    """The `show` of an instrument; raises KeyError if there is no such instrument."""
    if name not in INSTRUMENTS:
        raise KeyError(name)
    show: Show = import_module(f"views.instruments.{prefix_of(name)}").show
    return show


def show_instrument(name: str, scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """Draw an instrument; one that needs a run waits for it. What a person changes in it draws it again alone, as a
    fragment; the page around it follows if that changes what the instrument publishes (see `frame.publish`).
    """
    instrument = INSTRUMENTS[name]
    if instrument.needs_run and (scene.run is None or not scene.run.passes):
        st.caption(_("{title}: appears here when there is a run.").format(title=_(instrument.title)))
        return
    st.fragment(drawing_of(name), key=fragment_of(key))(replace(scene, said={}), settings, key)
