"""The few sentences that the engine itself writes and a page shows: why a request waits, how a clock was made.

The engine speaks English only. Each of its sentences is here as a template; what was put into the places is kept, and
translated in its turn if it is such a sentence. A test looks every template up in the engine's own files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from views.words import DEFAULT, N_, Words, _, language

TEMPLATES = (
    N_("as many run as may at once"),
    N_("a batch is under way, and nobody joins a static one"),
    N_("too little memory is free for it"),
    N_("others are before it"),
    N_("prompts go first"),
    N_("the step is full"),
    N_("the engine is reserved for a timing experiment"),
    N_("it runs alone, and others still run"),
    N_("the next step"),
    N_("{n} before it"),
    N_(
        "simulated: the larger of operations over {peak} TFLOP/s and bytes over {rate} GB/s ({source}, {dated}; "
        "shares: {shares}); overheads: {overheads}"
    ),
    N_(
        "simulated: times fitted to {n} kinds of steps of {model} measured here by {timed_by} time ({day}); median "
        "error on others {prefill} for prefill and {decode} for decode"
    ),
    N_("measured here with torch {version}, medians of {n} and {m} repetitions"),
    N_("measured: what the libraries reached"),
    N_("none assumed"),
    N_("{n} times: {source}; the exchange between them is not counted"),
    N_(
        "{model} does not fit: its weights take {weights} GB and {n} state slots {slots} GB, of {all} GB. Take more "
        "memory, fewer bits a weight or fewer sequences at once."
    ),
    N_("{field} must be from 0 to {most}."),
    N_("A model needs at least one layer."),
    N_("Width, inner width, vocabulary, heads and head size must be above 0."),
    N_("{heads} query heads cannot share {kv_heads} key and value heads evenly."),
    N_("Linear layers need at least one state head and one key head, of a size above 0."),
    N_("ideal: the peak as printed, nothing taken off"),
    N_("{stored}, a scale every {n}"),
    N_("{stored}, a scale and a zero every {n}"),
    N_("{stored}, nothing besides"),
    N_("The file is empty."),
)


def told(text: str) -> str:
    """A sentence of the engine in the person's language; one that is not known here as it is."""
    if language() == DEFAULT:
        return text
    for template in TEMPLATES:
        if found := _pattern(template).fullmatch(text):
            return _(template).format(**{name: told(value) for name, value in found.groupdict().items()})
    return text


ENDINGS = Words(
    {
        "stop": N_("at the end of the text"),
        "length": N_("at the length asked for"),
        "cancelled": N_("stopped"),
        "unfinished": N_("not yet"),
    }
)


def endings(counted: Mapping[str, int]) -> str:
    """How runs ended, with how many of each: "12 at the length asked for, 1 stopped"; errors by their code."""
    return ", ".join(f"{n} {ENDINGS.get(how, how)}" for how, n in sorted(counted.items()))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)))
