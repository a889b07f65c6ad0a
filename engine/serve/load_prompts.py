"""Prompts of an exact number of tokens, made of the stories that come with the bundled model.

A load test asks for lengths in tokens, and a prompt is text: words are taken in order from a place in the stories that
the seed chooses, and counted by the model's own tokenizer. Real words, not random ids: a tokenizer, a drafter and a
prefix cache all behave differently on noise. The stories hold a few thousand tokens; a longer prompt goes round again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cached_property

from engine.loop.model_folder import find_model

_HEADING = "## Twenty samples"
_NUMBER = re.compile(r"\*\*\d+\.\*\*")


def story_words() -> list[str]:
    """The words of the sample stories in the bundled model's card."""
    card = (find_model("story") / "README.md").read_text(encoding="utf-8")
    # What stands between the heading and the first number says how the samples were drawn; it is no story.
    return " ".join(_NUMBER.split(card.partition(_HEADING)[2])[1:]).split()


class Prompts:
    """Prompts for one tokenizer. The same key and length always give the same text."""

    def __init__(self, encode: Callable[[str], list[int]], words: list[str] | None = None) -> None:
        self._encode = encode
        self._words = words or story_words()
        self._starts = [0, *(at + 1 for at, word in enumerate(self._words[:-1]) if word.endswith((".", '."', '!"')))]
        self._costs: dict[str, int] = {}

    def prompt(self, key: str, n_tokens: int, opening: str = "") -> str:
        """A text of exactly `n_tokens` tokens, `opening` included, whose place in the stories `key` decides.

        Raises ValueError if the tokenizer cuts words so that no such text is found.
        """
        text = opening
        left = n_tokens - (len(self._encode(opening)) if opening else 0)
        at = random.Random(key).choice(self._starts)
        while left > 0:
            piece = self._piece(self._words[at % len(self._words)], text)
            if self._cost(piece) > left:
                piece = self._piece(self._filler, text)
            text += piece
            left -= self._cost(piece)
            at += 1
        if left or len(self._encode(text)) != n_tokens:
            raise ValueError(f"No text of exactly {n_tokens:,} tokens was found for this model's tokenizer.")
        return text

    @staticmethod
    def _piece(word: str, text: str) -> str:
        return f" {word}" if text else word

    def _cost(self, piece: str) -> int:
        """Its tokens. A space begins a new piece for the tokenizer, so that the costs of words add up."""
        if piece not in self._costs:
            self._costs[piece] = len(self._encode(piece))
        return self._costs[piece]

    @cached_property
    def _filler(self) -> str:
        """A word of one token, wherever it stands, for the last places of a prompt."""
        for word in self._words:
            if self._cost(word) == self._cost(f" {word}") == 1:
                return word
        raise ValueError("This model's tokenizer has no word of the stories as a single token.")
