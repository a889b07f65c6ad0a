"""A word that opens a text beside it: the browser's own popover, without a word to the server.

HTML and not Streamlit's popover with a text in it: at every change Streamlit's browser side looks at all elements of a
page several times, and these stand at every number and under every paragraph.
"""

from __future__ import annotations

from html import escape

from views.icons import icon_html
from views.markdown_html import html_of


def popover(word: str, told: str, key: str, *, about: str = "", icon: str = "") -> str:
    """HTML of the button and of what it opens; its look is that of views/assets/frame.css.

    Args:
        word: on the button.
        told: Markdown.
        key: unlike any other on the page.
        about: which one it asks about, where several buttons say the same.
        icon: before the word.
    """
    place, label = f"more-{escape('-'.join(key.split()))}", escape(f"{word} {about}".strip())
    sign = f"{icon_html(icon)} " if icon else ""
    button = f'<button type="button" popovertarget="{place}" aria-label="{label}">{sign}{escape(word)}</button>'
    return f'<div class="ts-popover">{button}<div popover id="{place}">{html_of(told)}</div></div>'
