"""Drafts without a model: what followed the last time these very tokens stood in the text.

Texts repeat themselves, a summary its source, code its names. If the newest few tokens have stood before, what came
after them is a fair guess at what comes now (prompt lookup decoding, A. Saxena, 2023). It costs a search of the tokens
and nothing else; a wrong guess costs the row that checked it.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from engine.loop.sequence import Draft, Sequence

LONGEST_MATCH = 4
SHORTEST_MATCH = 1


class PromptLookup:
    """Keeps nothing between steps."""

    def propose(self, sequence: Sequence, n_drafts: int) -> list[Draft]:
        """What followed the latest earlier place of the longest ending that has stood before, up to 4 tokens long."""
        return [Draft(token_id) for token_id in continuation(sequence.tokens, n_drafts)]

    def forget(self, sequence: Sequence) -> None:
        """Nothing to forget."""


def continuation(tokens: Many[int], n: int) -> list[int]:
    """At most `n` tokens after the latest earlier occurrence of the longest repeated ending; empty if none repeats."""
    for length in range(min(LONGEST_MATCH, len(tokens) - 1), SHORTEST_MATCH - 1, -1):
        ending = tokens[-length:]
        for start in range(len(tokens) - length - 1, -1, -1):
            # Comparing the last token first makes most places cost one comparison.
            if tokens[start + length - 1] == ending[-1] and tokens[start : start + length] == ending:
                return list(tokens[start + length : start + length + n])
    return []
