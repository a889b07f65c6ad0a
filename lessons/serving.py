"""How a lesson's runs are served, read from its front matter: `cache=recomputed, drafts=prompt_lookup`."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from engine.account.record import Sampling, Serving
from lessons import catalogue
from lessons.structure import FrontMatter


class OptionError(ValueError):
    """A line of the front matter that cannot be used; the message is for the lesson's author."""


@dataclass(frozen=True)
class Preset:
    """A prompt and a length that one button asks for."""

    label: str
    prompt: str
    new_tokens: int


def read_serving(text: str) -> Serving:
    """`name=value` pairs with commas between; raises `OptionError`."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    try:
        return msgspec.convert({name.strip(): value.strip() for name, _, value in pairs}, Serving, strict=False)
    except msgspec.ValidationError as error:
        raise OptionError(f"{text!r}: {error}") from None


def read_preset(text: str) -> Preset:
    """`label | prompt, or @file | new tokens`; raises `OptionError`."""
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 3 or not all(parts) or not parts[2].isdecimal() or int(parts[2]) < 1:
        raise OptionError(f"preset: is written `label | prompt or @file | new tokens`, not {text!r}")
    try:
        return Preset(parts[0], catalogue.prompt_text(parts[1].strip("\"'")), int(parts[2]))
    except OSError:
        raise OptionError(f"preset: there is no lessons/prompts/{parts[1][1:]}.txt") from None


def sampling_of(front: FrontMatter) -> Sampling:
    """How a lesson's run chooses tokens: greedy unless it says otherwise."""
    return Sampling(
        temperature=front.temperature, seed=front.seed, max_new_tokens=front.new_tokens, ignore_eos=front.ignore_eos
    )
