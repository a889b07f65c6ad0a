"""The story files that the bundled model is trained on, and how much of each a pass over the mixture takes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One text file of stories, separated by a line with the end-of-text mark.

    Attributes:
        name: the file's name without its ending.
        text: what it is, for the model card.
        licence: under which the text may be used.
        share: passes over the file in one pass over the mixture; 0.25 takes a random quarter of its stories.
        anneal: the same for the last stretch. Leaning on TinyStories there was tried and made held-out loss worse: they
            had been read often enough.
        renamed: how many further copies with other heroes' names are made (see `names.py`).
    """

    name: str
    text: str
    licence: str
    share: float
    anneal: float
    renamed: int


TINY = "CDLA-Sharing-1.0"
SOURCES = (
    Source("tinystories", "TinyStories, V1 and V2-GPT4", TINY, share=3.0, anneal=2.0, renamed=11),
    Source("tinystories_recased", "more of it, capitals restored by a script", TINY, share=1.0, anneal=1.0, renamed=5),
    Source(
        "tinyfabulist_apache_mit",
        "short fables written by Apache- or MIT-licensed models (klusai/tinyfabulist)",
        "MIT",
        share=1.0,
        anneal=1.0,
        renamed=0,
    ),
    Source(
        "fairytaleqa",
        "whole fairy tales (FairytaleQA)",
        "Apache-2.0, texts in the public domain",
        share=0.25,
        anneal=0.25,
        renamed=0,
    ),
    Source(
        "pd_gutenberg_children",
        "Lang, Grimm, Andersen, Jacobs, Burgess and others; older English",
        "public domain",
        share=0.1,
        anneal=0.15,
        renamed=0,
    ),
)
