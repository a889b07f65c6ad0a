"""Every directive that a lesson may use: its argument, its settings, and whether text belongs inside.

This table is what the checker checks against, and the whole of the lesson format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lessons.instruments import INSTRUMENTS
from lessons.words import N_

Argument = Literal["none", "id", "choice"]

QUESTION_SETTINGS = frozenset(
    {
        "kind", "answer", "near", "min", "max", "step", "within", "unit", "option", "given", "right", "wrong", "label",
        "outcome", "at", "along", "evidence",
    }
)  # fmt: skip
"""`kind` number: `step: 0.1` takes decimals, `within: 10 %` or `within: 2` is the tolerance. `kind` choice: `option:
key | text` lines, and `answer:` and `near:` hold keys; by `answer: a = <expression>, b = <expression>` the larger is
right. `kind` curve: drawn by hand over the marks `at: 0, 100, 200`, which count what `along:` says, between `min:` and
`max:` of `unit:`; `answer:` and `near:` are an expression of `x`, or one for each mark with commas between, `within:
10 %` is a share of the height, and `evidence:` says how the right one was made. `outcome:` are the words over the right
value in a comparison.
"""


@dataclass(frozen=True)
class Directive:
    """The rules of one directive."""

    purpose: str
    argument: Argument = "none"
    choices: tuple[str, ...] = ()
    settings: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    needs_text: bool = False
    """Whether it must hold Markdown (or, for code, a source)."""


DIRECTIVES: dict[str, Directive] = {
    "screen": Directive(
        N_("Opens a part of the lesson, with a heading; `after: <prediction>` keeps it shut until that guess is made."),
        argument="id", settings=frozenset({"title", "after"}),
    ),
    "predict": Directive(
        N_("A guess before the run. `near: expression -> card` answers a known wrong belief with its card."),
        argument="id", settings=QUESTION_SETTINGS, required=frozenset({"kind", "answer"}), needs_text=True,
    ),
    "run": Directive(
        N_("The box to type a prompt into. `asks: <prediction>` puts that question before the run starts."),
        settings=frozenset({"asks"}),
    ),
    "flipbook": Directive(N_("The picture of every pass; the live run, or the recording before there is one.")),
    "compare": Directive(N_("The guess beside what happened, then the text."), argument="id", needs_text=True),
    "metrics": Directive(N_("Queue, first token, gaps and rates of the run, each with how it was made.")),
    "figure": Directive(N_("A figure of this run."), argument="choice", choices=("passes", "memory")),
    "instrument": Directive(
        N_("An instrument by name; its settings are its own (lessons/instruments.py), its results are names in prose."),
        argument="choice", choices=tuple(INSTRUMENTS),
    ),
    "trace": Directive(N_("State of one DeltaNet head and times per layer, from an instrumented second pass.")),
    "depth": Directive(
        N_("The same thing in three depths; neighbouring blocks become tabs. `source: module:Name` shows engine code."),
        argument="choice", choices=("concept", "maths", "code"), settings=frozenset({"source"}), needs_text=True,
    ),
    "card": Directive(
        N_("The answer to one wrong belief, shown when a guess comes `near:` it."),
        argument="id", settings=frozenset({"title"}), required=frozenset({"title"}), needs_text=True,
    ),
    "check": Directive(
        N_("A question at the end. `given: n = 25` names a number as check.n."),
        argument="id", settings=QUESTION_SETTINGS, needs_text=True,
        required=frozenset({"kind", "answer", "right", "wrong"}),
    ),
    "notes": Directive(
        N_("For whoever teaches; folded away."), argument="choice", choices=("teacher",), needs_text=True,
    ),
    "sources": Directive(N_("What the lesson rests on: author, title, year, what it showed."), needs_text=True),
}  # fmt: skip
