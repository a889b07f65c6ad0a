"""The sheet for a projector while a class gathers: the code in letters for the last row, the address, and who is here.

What stands on it comes from this server alone: a code, an address, and pseudonyms that nobody typed.
"""

from __future__ import annotations

import html
from urllib.parse import urlsplit

import segno
import streamlit as st

from views import presenting
from views.class_here import class_store
from views.class_names import looks_like_a_class_code, shown_class_code
from views.class_store import Class
from views.instructor import is_instructor
from views.links import address
from views.site import classroom_page
from views.words import _, ngettext

LOOK_EVERY_S = 2.0
MOST_NAMES = 60

_STYLE = """
<style>
.ts-code { font: 700 clamp(3rem, 16vw, 22rem)/1.05 ui-monospace, monospace; white-space: nowrap; margin: 0;
  word-spacing: -0.3em; }
.ts-address { font-size: clamp(1rem, 2vw, 2.4rem); margin: 0; overflow-wrap: anywhere; }
</style>
"""


def show_sheet() -> None:
    """Draw it; only for the teacher, since whoever reads the code may join."""
    code = st.query_params.get("class", "")
    one = class_store().find(code) if looks_like_a_class_code(code) and is_instructor() else None
    presenting.enlarge()
    st.title(_("Join the class"), anchor=False)
    if one is None or not one.is_live:
        st.info(_("There is no class to show here: its code is wrong, it has ended, or you are not its teacher."))
    else:
        st.html(f'{_STYLE}<p class="ts-code">{shown_class_code(one.code)}</p>')
        with st.container(horizontal=True, gap="large", key="class-sheet"):
            show_qr(one, 300)
            with st.container(width="stretch", key="class-sheet-here"):
                st.html(f'<p class="ts-address">{html.escape(class_address(one))}</p>')
                st.fragment(_gathered, run_every=LOOK_EVERY_S, key="class-gathered")(one)
    st.page_link(classroom_page(), label=_("Leave"), icon=":material/arrow_back:")


def class_address(one: Class) -> str:
    """Where a learner joins: this page's address with the code."""
    return address(st.context.url, {"class": one.code})


def is_for_this_machine_only() -> bool:
    """Whether the address of this page means the same machine everywhere, so that nobody else can open it."""
    host = urlsplit(st.context.url or "").hostname or ""
    return host == "localhost" or host.startswith("127.") or host == "::1"


def show_qr(one: Class, width: int) -> None:
    """The address as a QR code: black on white in both themes, as cameras want it."""
    picture = segno.make(class_address(one), error="m").svg_data_uri(scale=4, border=3, dark="#000", light="#fff")
    said = _("QR code of {address}").format(address=class_address(one))
    st.html(
        f'<img src="{html.escape(picture)}" alt="{html.escape(said)}" width="{width}" '
        'style="max-width: 100%; border-radius: 8px">',
        width="content",
    )


def _gathered(one: Class) -> None:
    names = [learner.name for learner in class_store().learners(one)]
    n = len(names)
    st.markdown("**" + ngettext("{n} is here", "{n} are here", n).format(n=n) + "**")
    shown = " · ".join(names[-MOST_NAMES:][::-1])
    if shown:
        st.markdown(shown if n <= MOST_NAMES else f"{shown} …")
