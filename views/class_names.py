"""Names in a class: the code that its learners type, and the pseudonym under which each of them takes part.

A code has six of twenty letters and digits, so there are 64 million. None of them looks like another from the back of a
room (no 0 or O, 1 or I, 2 or Z, 5 or S, 8 or B, U or V), and without vowels no code is a word. A pseudonym is a colour
or the like and an animal; nobody's own name is asked for, and nothing that a person typed ever stands on a projector.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

ALPHABET = "CDFHJKMNPQRTWXY34679"
CODE_LENGTH = 6

ADJECTIVES = (
    "amber", "azure", "blue", "brave", "bright", "calm", "clever", "copper", "coral", "curious", "gentle", "golden",
    "green", "happy", "honest", "indigo", "ivory", "jade", "jolly", "kind", "lively", "lucky", "mellow", "merry",
    "nimble", "noble", "olive", "orange", "patient", "pearl", "polite", "purple", "quick", "quiet", "ruby", "scarlet",
    "silver", "snowy", "steady", "sunny", "swift", "tidy", "violet", "warm", "wise", "witty",
)  # fmt: skip
ANIMALS = (
    "alpaca", "badger", "beaver", "bison", "camel", "cheetah", "cricket", "curlew", "deer", "dolphin", "dragonfly",
    "eagle", "falcon", "ferret", "finch", "firefly", "fox", "gazelle", "giraffe", "hamster", "hare", "hedgehog",
    "heron", "hummingbird", "ibex", "jackdaw", "kestrel", "kingfisher", "koala", "ladybird", "lark", "lemur", "lizard",
    "lynx", "magpie", "marten", "moose", "newt", "nightingale", "octopus", "otter", "owl", "panda", "pelican",
    "penguin", "puffin", "quail", "rabbit", "raven", "robin", "salmon", "seal", "sparrow", "squirrel", "stork",
    "swallow", "swan", "tiger", "toucan", "turtle", "walrus", "wombat", "wren", "zebra",
)  # fmt: skip


def new_class_code() -> str:
    """A code drawn anew; whether it is taken, the store says."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def normal_class_code(typed: str) -> str:
    """A code as it is kept, however it was typed: capitals, spaces and hyphens do not matter."""
    return "".join(letter for letter in typed.upper() if letter.isalnum())


def looks_like_a_class_code(typed: str) -> bool:
    """Whether this could be a code at all: what is not is a slip of the fingers, and is not looked up."""
    code = normal_class_code(typed)
    return len(code) == CODE_LENGTH and set(code) <= set(ALPHABET)


def shown_class_code(code: str) -> str:
    """As a person reads it aloud: three and three."""
    return f"{code[:3]} {code[3:]}"


def new_pseudonym(taken: Collection[str]) -> str:
    """A pseudonym that nobody in the class has; raises `LookupError` if all are taken."""
    free = [name for one in ADJECTIVES for animal in ANIMALS if (name := f"{one} {animal}") not in taken]
    if not free:
        raise LookupError("every pseudonym is taken")
    return secrets.choice(free)
