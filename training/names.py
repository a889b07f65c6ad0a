"""Give the heroes of a story other names, so that a model must read a name in the story instead of knowing it by heart.

A few thousand stories repeat a few dozen names. Read ten times, they teach a small model that girls are called Lily.
The same stories with other names teach it to look back at what she is called, which is what keeps a hero's name.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable

WORD = re.compile(r"\b[A-Z][a-z]+\b")
INTRODUCED = {
    "girl": re.compile(r"\b(?:girl|woman|princess|lady|sister) (?:was |is )?(?:named|called) ([A-Z][a-z]+)\b"),
    "boy": re.compile(r"\b(?:boy|man|prince|brother) (?:was |is )?(?:named|called) ([A-Z][a-z]+)\b"),
}

NOT_ONLY_NAMES = {"Grandma", "Grandpa", "Mark", "May", "Mr", "Mrs", "Rose", "Will"}


def find_names(stories: Iterable[str], at_least: int = 2) -> dict[str, Counter[str]]:
    """Names by kind ("girl", "boy") with how often a story introduces someone of that kind by that name.

    Left out are names introduced fewer than `at_least` times, names that both kinds bear, and words that a sentence may
    begin with for another reason. A name counts as borne by one kind if at least four in five of its bearers are.
    """
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in INTRODUCED}
    for story in stories:
        for kind, pattern in INTRODUCED.items():
            counts[kind].update(pattern.findall(story))
    everyone = counts["girl"] + counts["boy"]
    return {
        kind: Counter(
            {
                name: n
                for name, n in found.items()
                if n >= max(at_least, 0.8 * everyone[name]) and name not in NOT_ONLY_NAMES
            }
        )
        for kind, found in counts.items()
    }


def rename(story: str, names: dict[str, Counter[str]], rng: random.Random) -> str:
    """The story with each known name replaced, everywhere, by another of its kind that the story does not use.

    Frequent names are drawn more often, by the square root of their count, so that rare ones get their turn.
    """
    present = set(WORD.findall(story))
    other: dict[str, str] = {}
    for counts in names.values():
        free = [name for name in counts if name not in present]
        weights = [counts[name] ** 0.5 for name in free]
        for name in sorted(present & set(counts)):
            pick = rng.choices(range(len(free)), weights)[0]
            other[name] = free.pop(pick)
            weights.pop(pick)
    return WORD.sub(lambda match: other.get(match.group(), match.group()), story)
