"""What can be said of a prompt before the engine sees it, in words for the person who typed it.

The engine checks everything again and knows more (the tokens, the context). Here is only what needs no model, so that
the answer stands beside the box at once.
"""

from __future__ import annotations

import re

from views.words import _, ngettext

MAX_PROMPT_CHARACTERS = 200_000
"""Far beyond any context; a text of this size is not worth sending to the engine only to be refused."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def prompt_problem(prompt: str) -> str | None:
    """Why this prompt cannot be run, or None."""
    if not prompt:
        return _("The prompt is empty. Type the beginning of a story.")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        return _("The prompt has {n} characters; no more than {limit} can be sent. Shorten it.").format(
            n=f"{len(prompt):,}", limit=f"{MAX_PROMPT_CHARACTERS:,}"
        )
    controls = sorted({f"U+{ord(one):04X}" for one in _CONTROL.findall(prompt)})
    if controls:
        few = ", ".join(controls[:5]) + (", …" if len(controls) > 5 else "")
        return ngettext(
            "The prompt holds a control character ({which}), which is not text. Take it out and run it again.",
            "The prompt holds control characters ({which}), which are not text. Take them out and run it again.",
            len(controls),
        ).format(which=few)
    if any("\ud800" <= one <= "\udfff" for one in prompt):
        return _("The prompt holds half of a character, so it is not valid text. Type it again.")
    return None


def unfamiliar(prompt: str) -> bool:
    """Whether the prompt holds anything but ASCII, which is all that the story model was trained on."""
    return not prompt.isascii()
