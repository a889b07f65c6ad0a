"""The script that Streamlit runs for every visitor: the site's frame, then the page that the address names.

It lies here and not beside pages/, because Streamlit serves a `pages` folder next to its script by itself, past
`st.navigation`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    # Streamlit puts this script's folder on the path, not the project's.
    sys.path.insert(0, str(ROOT))

from lessons.catalogue import lessons  # noqa: E402  (needs the path)
from views import language, presenting  # noqa: E402  (needs the path)
from views.site import lesson_page, sections  # noqa: E402  (needs the path)


def enter() -> None:
    """The front door leads to the first lesson, under the lesson's own address."""
    first = lessons()[0]  # in whichever language: its address is the same in all
    st.switch_page(lesson_page(first), query_params=st.query_params.to_dict())


language.settle()
st.set_page_config(page_title="Two Speeds", page_icon="🎞️", layout="wide", initial_sidebar_state=270)
st.html(ROOT / "views" / "assets" / "frame.css")
presented = presenting.mode() is not None
if not presented:
    st.logo(ROOT / "views" / "assets" / "logo.svg", size="medium")
door = st.Page(enter, title="Two Speeds", url_path="start", default=True, visibility="hidden")
# With something below it in the side bar, the navigation would otherwise fold most of its pages away.
page = st.navigation({"": [door], **sections()}, position="hidden" if presented else "sidebar", expanded=True)
language.tell_document()
if not presented:
    with st.sidebar:
        language.choose()
st.session_state["address"] = page.url_path
page.run()
