"""Drafts without a model: what followed the last time these very tokens stood in the text.

Texts repeat themselves, a summary its source, code its names. If the newest few tokens have stood before, what came
after them is a fair guess at what comes now (prompt lookup decoding, A. Saxena, 2023). It costs a search of the tokens
and nothing else; a wrong guess costs the row that checked it.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.loop.sequence import Draft, Sequence

LONGEST_MATCH = 4


class PromptLookup:
    """Keeps nothing between steps."""

    def propose(self, sequence: Sequence, n_drafts: int) -> list[Draft]:
        """What followed the latest earlier place of the longest ending that has stood before, up to 4 tokens long."""
        return [Draft(token_id) for token_id in continuation(sequence.tokens, n_drafts)]

    def forget(self, sequence: Sequence) -> None:
        """Nothing to forget."""


def continuation(tokens: list[int], n: int) -> list[int]:
    """At most `n` tokens after the latest earlier occurrence of the longest repeated ending; empty if none repeats."""
    end, length = 0, 0
    for place in _places(tokens):
        matched = _match(tokens, place)
        if matched >= length:
            end, length = place + 1, matched
    return tokens[end : end + n] if length else []


def _places(tokens: list[int]) -> Iterator[int]:
    """Where the newest token has stood before, ascending; `index` walks there at the speed of C."""
    place, last = -1, len(tokens) - 1
    while (place := tokens.index(tokens[-1], place + 1)) < last:
        yield place


def _match(tokens: list[int], place: int) -> int:
    """How many tokens up to `place` are those at the end, at most the longest match."""
    longest = min(LONGEST_MATCH, place + 1)
    return next((n for n in range(1, longest) if tokens[place - n] != tokens[-1 - n]), longest)
