"""What a step gave one sequence."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Choice(NamedTuple):
    """A token that a pass gave, and the logits [vocab] that it was chosen from; nobody writes to them any more."""

    token_id: int
    logits: NDArray[np.float32]


class Result(NamedTuple):
    """The tokens of one part: none yet, one, or with drafts several; and the instant at which they existed."""

    choices: Many[Choice]
    end_ns: int
    failure: str | None = None

    @property
    def accepted(self) -> int:
        """Drafts that stood and stay in memory: each but the last token has been through the model already."""
        return max(len(self.choices) - 1, 0)
