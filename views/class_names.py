"""Names in a class: the code that its learners type, and the pseudonym under which each of them takes part.

A code has six of twenty letters and digits, so there are 64 million. None of them looks like another from the back of a
room (no 0 or O, 1 or I, 2 or Z, 5 or S, 8 or B, U or V), and without vowels no code is a word. A pseudonym is a colour
or the like and an animal; nobody's own name is asked for, and nothing that a person typed ever stands on a projector.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

from views.words import language

ALPHABET = "CDFHJKMNPQRTWXY34679"
CODE_LENGTH = 6

_ENGLISH = (
    "amber", "azure", "blue", "brave", "bright", "calm", "clever", "copper", "coral", "curious", "gentle", "golden",
    "green", "happy", "honest", "indigo", "ivory", "jade", "jolly", "kind", "lively", "lucky", "mellow", "merry",
    "nimble", "noble", "olive", "orange", "patient", "pearl", "polite", "purple", "quick", "quiet", "ruby", "scarlet",
    "silver", "snowy", "steady", "sunny", "swift", "tidy", "violet", "warm", "wise", "witty",
)  # fmt: skip
_ENGLISH_ANIMALS = (
    "alpaca", "badger", "beaver", "bison", "camel", "cheetah", "cricket", "curlew", "deer", "dolphin", "dragonfly",
    "eagle", "falcon", "ferret", "finch", "firefly", "fox", "gazelle", "giraffe", "hamster", "hare", "hedgehog",
    "heron", "hummingbird", "ibex", "jackdaw", "kestrel", "kingfisher", "koala", "ladybird", "lark", "lemur", "lizard",
    "lynx", "magpie", "marten", "moose", "newt", "nightingale", "octopus", "otter", "owl", "panda", "pelican",
    "penguin", "puffin", "quail", "rabbit", "raven", "robin", "salmon", "seal", "sparrow", "squirrel", "stork",
    "swallow", "swan", "tiger", "toucan", "turtle", "walrus", "wombat", "wren", "zebra",
)  # fmt: skip
# In Spanish an adjective follows its noun; these have one form for both genders.
_SPANISH = (
    "ágil", "alegre", "amable", "audaz", "azul", "brillante", "celeste", "constante", "cordial", "cortés", "dulce",
    "elegante", "feliz", "fiel", "firme", "fuerte", "genial", "gentil", "índigo", "jovial", "leal", "libre", "naranja",
    "noble", "paciente", "prudente", "púrpura", "radiante", "rosa", "sagaz", "sonriente", "suave", "tenaz", "turquesa",
    "valiente", "veloz", "verde", "violeta",
)  # fmt: skip
_SPANISH_ANIMALS = (
    "abubilla", "águila", "alondra", "alpaca", "ardilla", "bisonte", "búho", "caballo", "camello", "canguro", "castor",
    "cebra", "ciervo", "cigüeña", "cisne", "colibrí", "conejo", "cuervo", "delfín", "erizo", "flamenco", "foca",
    "gacela", "garza", "gaviota", "golondrina", "grillo", "grulla", "guepardo", "halcón", "hurón", "jirafa", "jilguero",
    "koala", "lagarto", "lémur", "libélula", "liebre", "lince", "luciérnaga", "mariposa", "mariquita", "mirlo", "morsa",
    "nutria", "panda", "pelícano", "petirrojo", "pingüino", "pulpo", "ruiseñor", "salmón", "tejón", "tigre", "tortuga",
    "tucán", "urraca", "zorro",
)  # fmt: skip
PSEUDONYMS = {
    "en": [f"{one} {animal}" for one in _ENGLISH for animal in _ENGLISH_ANIMALS],
    "es": [f"{animal} {one}" for one in _SPANISH for animal in _SPANISH_ANIMALS],
}
"""Language -> all there are."""


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
    """A pseudonym that nobody in the class has, in the language of whoever gets it; raises `LookupError` if all are
    taken.
    """
    free = [name for name in PSEUDONYMS[language()] if name not in taken]
    if not free:
        raise LookupError("every pseudonym is taken")
    return secrets.choice(free)
