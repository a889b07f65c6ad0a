"""How many tokens a prompt has, before it runs: a question about a prompt that waits is asked with its own numbers."""

from __future__ import annotations

from functools import cache, lru_cache

from engine.loop.model_folder import BUNDLED
from engine.model.config import CheckpointError
from engine.model.tokenizer import Tokenizer


@lru_cache(maxsize=32)
def prompt_tokens(prompt: str, model: str) -> int | None:
    """Tokens of a prompt as a bundled model reads it; None if its tokenizer cannot be read."""
    tokenizer = _tokenizer(model)
    return None if tokenizer is None else len(tokenizer.encode(prompt))


@cache
def _tokenizer(model: str) -> Tokenizer | None:
    try:
        return Tokenizer(BUNDLED / model)
    except CheckpointError:
        return None
