"""The rules by which a step is put together: four policies, each a few words, and their bounds.

- `continuous`: everyone who runs takes part in every step, oldest first (Orca, Yu et al., OSDI 2022).
- `decode_first`: decodes first, prompts in chunks with what the budget leaves (Sarathi-Serve, arXiv 2403.02310).
- `prefill_first`: while a prompt waits, only prompts are computed and decodes stand still (the first scheduler of vLLM,
  arXiv 2309.06180).
- `static`: a batch comes in together, and nobody joins until all of it has ended.
"""

from __future__ import annotations

from typing import Literal

import msgspec

PolicyName = Literal["continuous", "decode_first", "prefill_first", "static"]


class BadPolicy(ValueError):
    """A bound that no step could keep; the message says which."""


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How steps are planned.

    `token_budget` bounds the tokens of a step. `chunk` bounds the prompt tokens of a step in which others decode, so
    that nobody's next token waits for a long prompt; None takes prompts whole. Alone, a prompt is never cut: nobody
    would gain. Raises `BadPolicy`.
    """

    name: PolicyName = "decode_first"
    max_running: int = 16
    token_budget: int = 2048
    chunk: int | None = 64

    def __post_init__(self) -> None:
        bounds = {"max_running": self.max_running, "token_budget": self.token_budget, "chunk": self.chunk}
        for what, bound in bounds.items():
            if bound is not None and bound < 1:
                raise BadPolicy(f"{what} must be 1 or more; it is {bound}.")

    @property
    def prompt_bound(self) -> int:
        """Most prompt tokens of a step in which others decode."""
        return self.token_budget if self.chunk is None else min(self.chunk, self.token_budget)
