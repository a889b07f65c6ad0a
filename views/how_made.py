"""The answer to "how was this number made?", behind a button: the browser's own popover, without a word to the server.

HTML and not Streamlit's popover with a text in it: at every change Streamlit's browser side looks at all elements of a
page several times, and these stand at every number.
"""

from __future__ import annotations

from html import escape

from views.markdown_html import html_of


def how_made(word: str, how: str, key: str, about: str = "") -> str:
    """HTML of the button and of what it opens; its look is that of views/assets/frame.css.

    Args:
        word: on the button.
        how: Markdown.
        key: unlike any other on the page.
        about: which number it asks about, where several buttons say the same.
    """
    place, label = f"how-{escape(key)}", escape(f"{word} {about}".strip())
    button = f'<button type="button" popovertarget="{place}" aria-label="{label}">{escape(word)}</button>'
    return f'<div class="ts-how">{button}<div popover id="{place}">{html_of(how)}</div></div>'
