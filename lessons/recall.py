"""The recall experiment: a story plants a name, a quiet stretch of text follows, and then the name is asked for.

The same words for everybody: the benchmark that took the kept measurement (benchmarks/recall.py) and whoever tries it
on a page. What is looked at is the odds of the name, not an answer: a model of this size does not answer questions.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

from lessons import catalogue
from lessons.playback import MEASUREMENTS

STRETCHES = (0, 5, 10, 20, 50)
"""How many sentences of the quiet text stand between the planted name and the question."""

ASK = '"My name is'
PLANTED = "Once upon a time, there was a cat named {name}."
PLAIN = "Once upon a time, there was a cat."
"""The same beginning without a name."""


class Place(msgspec.Struct, frozen=True):
    """What was found at one distance, over all ordered pairs of names; differences of natural logarithms of odds.

    A pair (a, b) gives two texts that differ in the name alone. Its contrast is ln odds(a) - ln odds(b) where the name
    is asked for, and an effect is by how much the contrast lies above that of the text with b.
    """

    n_sentences: int
    distance: int
    """Tokens from the name to the place where it is asked for."""
    both: list[float]
    """The effect of the whole text with a: what is remembered."""
    cache_alone: list[float]
    """The effect if only the KV cache comes from the text with a, and the states from the one with b."""
    state_alone: list[float]
    """The effect if only the states (and convolution windows) come from the text with a."""


class Recall(msgspec.Struct, frozen=True):
    """The kept measurement."""

    created: str
    """Day and time, ISO 8601, UTC."""
    model: str
    names: list[str]
    places: list[Place]


def planted(name: str, n_sentences: int) -> str:
    """The text that plants a name, up to the place where it is asked for; without a name for an empty one."""
    beginning = PLANTED.format(name=name) if name else PLAIN
    return " ".join([beginning, *sentences()[:n_sentences], ASK])


@cache
def sentences() -> tuple[str, ...]:
    """The quiet text, sentence by sentence; no name and no animal that talks in it."""
    return tuple(re.findall(r"[^.]+\.", catalogue.prompt_text("@a-quiet-day").replace(". ", ".")))


def kept_recall(path: Path = MEASUREMENTS / "recall.json") -> Recall:
    """The measurement as kept; raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=Recall)
