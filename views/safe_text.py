"""Text that came from a person or a model, made safe to show: exactly as typed, never interpreted.

Streamlit's Markdown knows more than Markdown: `:red[..]`, `:smile:`, `:material/x:` and `$maths$` become pictures, the
smile even behind a backslash. Inside a code span none of that happens, so whatever is interpolated goes into one.
Plotly reads a few HTML tags in its labels, so those get entities.
"""

from __future__ import annotations

import html
import re

_VISIBLE = str.maketrans({"\n": "⏎", "\r": "⏎", "\t": "⇥", "\u2028": "⏎", "\u2029": "⏎"})
_MARKUP = re.compile(r"[\\`*_\[\]<>$#~|&{}]|:(?=\w)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def one_line(text: str) -> str:
    """The text on one line: line breaks and tabs as signs, other control and direction characters as a box."""
    return _CONTROL.sub("□", text.translate(_VISIBLE))


def token_label(text: str) -> str:
    """A token as a label, without the space in front that most tokens carry; one that is only spaces shows them."""
    shown = one_line(text)
    if not shown.strip(" "):
        return "␣" * len(shown)
    return shown[1:] if shown.startswith(" ") else shown


def code_span(text: str) -> str:
    """Markdown that shows the text literally, on one line, in a code span."""
    shown = one_line(text) or " "
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    # CommonMark takes a space off both ends if both have one and there is more than spaces between.
    needs_pair = shown.strip(" ") and (shown[0] in "` " or shown[-1] in "` ")
    padding = " " if needs_pair else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def plain(text: str) -> str:
    """A whole message as Markdown that shows it as it is: for sentences, where a code span would look odd."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text))


def plotly_text(text: str, longest: int = 24) -> str:
    """The text as a Plotly label: one line, shortened in the middle, without markup."""
    shown = one_line(text)
    if len(shown) > longest:
        keep = (longest - 1) // 2
        shown = f"{shown[:keep]}…{shown[-keep:]}"
    return html.escape(shown, quote=False)
