"""What a lesson is once its file has been read: front matter, blocks in order, and the faults found on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec


class FrontMatter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lines between `---` at the top of a lesson."""

    title: str
    question: str
    """What people really ask, and what the lesson answers."""
    minutes: int
    model: str = "story"
    prompt: str = ""
    """What the prompt box holds when the lesson opens; the recording was made with it."""
    new_tokens: int = 10
    recording: str = ""
    """Name of the run in lessons/recordings that is on the page before the first live one; a lesson without a `:::run`
    needs none."""
    needs: str = ""
    """Lessons that come before this one, by slug, separated by commas."""
    temperature: float = 0.0
    seed: int = 0
    ignore_eos: bool = True
    """Without an end-of-text stop, counts do not depend on the story."""
    serving: str = ""
    """How the lesson's run is served, as in `cache=recomputed, drafts=prompt_lookup`."""
    other: str = ""
    """How a second run of the same prompt is served, begun when the first has ended; empty: there is none."""
    other_recording: str = ""
    """The recording that stands in for the second run."""
    presets: tuple[str, ...] = ()
    """`label | prompt, or @file | new tokens` for each `preset:` line: buttons above the box."""


@dataclass(frozen=True)
class Setting:
    """One `key: value` line of a block."""

    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Block:
    """One directive, or the plain Markdown between two of them (name "prose").

    `line` is where it starts in the file and `body_line` where its text starts, both counted from 1.
    """

    name: str
    argument: str
    settings: tuple[Setting, ...]
    body: str
    line: int
    body_line: int

    def value(self, key: str) -> str | None:
        """The last value of a setting; None where the block has none."""
        values = self.values(key)
        return values[-1] if values else None

    def values(self, key: str) -> list[str]:
        """Every value of a setting that may be repeated, in order."""
        return [setting.value for setting in self.settings if setting.key == key]


@dataclass(frozen=True, order=True)
class Fault:
    """Something a teacher has to put right, and where."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Lesson:
    """A lesson as read. `faults` holds what reading alone can tell; `check` finds the rest."""

    path: Path
    slug: str
    """The address of its page: the file name without its number."""
    number: int
    front: FrontMatter
    blocks: tuple[Block, ...]
    faults: tuple[Fault, ...] = field(default=())

    def named(self, name: str) -> list[Block]:
        """Every block of one directive, in order."""
        return [block for block in self.blocks if block.name == name]

    def find(self, name: str, argument: str) -> Block | None:
        """The block of a directive with this argument, e.g. the card or the prediction of that id."""
        return next((block for block in self.named(name) if block.argument == argument), None)

    def runs_after(self, question: str) -> bool:
        """Whether a typed prompt waits for this prediction and runs once it is made."""
        return any(run.value("asks") == question for run in self.named("run"))
