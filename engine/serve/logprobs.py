r"""Log probabilities as OpenAI's two kinds of answer tell them.

They are natural logs of the model's own odds, the softmax of its logits before temperature and truncation. A token
that is not whole characters is written as its bytes (`bytes:\xc3`), so that two halves stay two.
"""

from __future__ import annotations

import math
from typing import Any

from engine.account.record import Candidate, Emission, Token
from engine.serve.completion_text import Placed


def completion_logprobs(tokens: list[Placed], n: int) -> dict[str, Any]:
    """`logprobs` of a completion: four lists of one entry a token, `top_logprobs` with the `n` likeliest."""
    emissions = [placed.emission for placed in tokens]
    return {
        "tokens": [_written(emission.token) for emission in emissions],
        "token_logprobs": [_log(_chosen(emission).model) for emission in emissions],
        "top_logprobs": [_top_by_text(emission, n) for emission in emissions] if n else None,
        "text_offset": [placed.offset for placed in tokens],
    }


def chat_logprobs(tokens: list[Placed], n: int) -> dict[str, Any]:
    """`logprobs` of a chat reply: one object a token, with its bytes, and the `n` likeliest in the same form."""
    content = [
        {**_entry(_chosen(emission)), "top_logprobs": [_entry(one) for one in _leading(emission, n)]}
        for emission, _ in tokens
    ]
    return {"content": content, "refusal": None}


def _entry(candidate: Candidate) -> dict[str, Any]:
    raw = candidate.token.raw
    return {"token": _written(candidate.token), "logprob": _log(candidate.model), "bytes": list(raw)}


def _top_by_text(emission: Emission, n: int) -> dict[str, float | None]:
    return {_written(one.token): _log(one.model) for one in _leading(emission, n)}


def _leading(emission: Emission, n: int) -> list[Candidate]:
    return sorted(emission.candidates, key=lambda one: -one.model)[:n]


def _chosen(emission: Emission) -> Candidate:
    return next(one for one in emission.candidates if one.token.id == emission.token.id)


def _written(token: Token) -> str:
    try:
        return token.raw.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in token.raw)


def _log(probability: float) -> float | None:
    """None for a probability that rounded to 0: JSON has no infinity."""
    return math.log(probability) if probability > 0 else None
