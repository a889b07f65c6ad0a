"""The bar and the keys of a presented lesson: a Streamlit component whose work is done in views/assets/presenter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import streamlit as st

from views.language import in_link
from views.links import address
from views.served_files import asset_url
from views.words import _

_HTML = '<div class="presenter"></div>'

# Registered inline code needs a line break, and a root-relative import does not resolve inside it.
_SHIM = """
const ready = import(new URL("{address}", location.origin).href);
export default function (component) {{
  let gone = false;
  ready.then((module) => {{ if (!gone) module.update(component); }});
  return () => {{
    gone = true;
    ready.then((module) => module.destroy(component.parentElement));
  }};
}}
"""

_CSS = """
.bar {
  display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1rem; padding: 0.4rem 0.8rem;
  background: var(--st-secondary-background-color); border: 1px solid var(--st-border-color);
  border-radius: 0.5rem; color: var(--st-text-color); font: 1rem var(--st-font);
}
.bar[hidden] { display: none; }
[data-role=stage] .bar {
  position: fixed; left: 1rem; bottom: 0.6rem; z-index: 10; box-sizing: border-box; max-width: calc(100vw - 2rem);
  padding-block: 0.25rem; font-size: 0.65rem;
}
button, a {
  min-height: 2.2rem; padding: 0.2rem 0.9rem; border: 1px solid var(--st-text-color); border-radius: 0.4rem;
  background: none; color: inherit; font: inherit; line-height: 2rem; text-decoration: none; cursor: pointer;
}
[data-role=stage] :is(button, a) { min-height: max(24px, 1.4rem); padding-block: 0; line-height: 1.2rem; }
button[aria-disabled=true] { opacity: 0.75; border-style: dashed; cursor: default; }
button[aria-pressed=true] { background: var(--st-text-color); color: var(--st-background-color); }
button:focus-visible, a:focus-visible { outline: 3px solid var(--st-link-color); outline-offset: 2px; }
a { display: inline-flex; align-items: center; border-color: transparent; text-decoration: underline; }
.said { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.said.seen {
  position: fixed; top: 0.8rem; right: 1rem; width: auto; height: auto; clip-path: none; z-index: 10;
  color: var(--st-text-color); font: 1rem var(--st-font);
}
"""


@dataclass(frozen=True)
class Slides:
    """What the bar needs to know: which slide of which titles, counted from 1."""

    lesson: str
    slide: int
    titles: Sequence[str]
    locked: bool = False
    about: Mapping[str, str] = field(default_factory=dict)
    """What the address of the speaker's notes carries beside: the class."""


@cache
def _component() -> Callable[..., Any]:
    """The registered component; once a process, when the first page needs it."""
    shim = _SHIM.format(address=asset_url("presenter/presenter.js"))
    return st.components.v2.component("twospeeds_presenter", html=_HTML, css=_CSS, js=shim)


def presenter(role: Literal["stage", "notes"], slides: Slides) -> int | None:
    """Draw the bar and listen to the keys; the slide that the person asked for now, or None."""
    result = _component()(
        key=f"presenter-{role}-{slides.lesson}",
        data={
            "role": role,
            "lesson": slides.lesson,
            "slide": slides.slide,
            "titles": list(slides.titles),
            "locked": slides.locked,
            "leave": address("", in_link()) or "?",
            "notes": address("", {"present": "notes", **slides.about} | in_link()),
            "labels": _labels(),
        },
        on_go_change=lambda: None,
    )
    wanted = result.go
    return wanted if isinstance(wanted, int) and 1 <= wanted <= len(slides.titles) else None


def _labels() -> dict[str, str]:
    return {
        "bar": _("Presenting"),
        "back": _("← Back"),
        "next": _("Next →"),
        "blank": _("Hide the text (B)"),
        "blanked": _("The text is hidden. B shows it again."),
        "notes": _("Speaker notes"),
        "leave": _("Leave"),
        "place": _("{n} of {all}"),
        "then": _("then"),
    }
