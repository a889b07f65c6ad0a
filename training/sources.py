"""The story files that the bundled model is trained on, and how much of each a pass over the mixture takes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One text file of stories, separated by a line with the end-of-text mark.

    Attributes:
        name: the file's name without its ending.
        share: passes over the file in one pass over the mixture; 0.25 takes a random quarter of its stories.
        anneal: the same for the last stretch, which leans on the plainest stories.
        renamed: how many further copies with other heroes' names are made (see `names.py`).
    """

    name: str
    share: float
    anneal: float
    renamed: int


SOURCES = (
    Source("tinystories", share=3.0, anneal=3.0, renamed=11),
    Source("tinystories_recased", share=1.5, anneal=0.5, renamed=5),
    Source("tinyfabulist_apache_mit", share=1.0, anneal=0.3, renamed=0),
    Source("fairytaleqa", share=0.5, anneal=0.1, renamed=0),
    Source("pd_gutenberg_children", share=0.25, anneal=0.0, renamed=0),
)
