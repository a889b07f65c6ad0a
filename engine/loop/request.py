"""What is asked of the engine: a prompt and how to choose tokens, checked before anything is computed.

Two kinds of check, both refusing with a `RequestError` in plain words. What can be judged without a model (is it text,
are the settings sane) is checked when the object is built; what needs the model's vocabulary and context is checked
when the request is submitted (`read_prompt`). No torch here, so that any process may build and check a request.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from engine.account.record import CacheMode, DraftSource, Sampling, Serving, WeightFormat

MAX_TEMPERATURE = 100.0
MAX_DRAFTS = 16
MAX_SEED = 2**53 - 1
"""A browser reads the record, too, and holds integers exactly only up to here."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RequestError(ValueError):
    """A request that cannot be served as asked.

    `code` is for programs (`empty_prompt`, `not_text`, `prompt_too_long`, `too_many_new_tokens`, `bad_sampling`,
    `bad_serving`, `no_draft_model`, `other_weights`, `bad_request_id`, `duplicate_request_id`, `broken_handover`,
    `engine_closed`);
    `message` is for the person who asked.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SamplingParams(Sampling, frozen=True, forbid_unknown_fields=True):
    """`Sampling` whose values have been checked; raises `RequestError("bad_sampling", ...)` naming the field.

    temperature 0..100 (0: greedy), top_k >= 0 (0: off), 0 < top_p <= 1 (1: off), seed 0..2^53-1, max_new_tokens >= 1.
    """

    def __post_init__(self) -> None:
        temperature = _number("temperature", self.temperature)
        if not 0.0 <= temperature <= MAX_TEMPERATURE:
            raise _bad("temperature", "a number from 0 (always the likeliest token) to 100", self.temperature)
        if not 0.0 < _number("top_p", self.top_p) <= 1.0:
            raise _bad("top_p", "above 0 and at most 1 (1 switches it off)", self.top_p)
        _whole("top_k", self.top_k, 0, None, "a whole number, 0 or more (0 switches it off)")
        _whole("seed", self.seed, 0, MAX_SEED, f"a whole number from 0 to {MAX_SEED}")
        _whole("max_new_tokens", self.max_new_tokens, 1, None, "a whole number, 1 or more")
        if not isinstance(self.ignore_eos, bool):
            raise _bad("ignore_eos", "true or false", self.ignore_eos)


@dataclass(frozen=True)
class Request:
    """A prompt, how to sample, how to serve it, and optionally an id (else 128 random bits in hexadecimal).

    Whitespace alone is a prompt (the model reads it as tokens like any other); nothing at all is not. Control
    characters are passed to the tokenizer as they are. Raises `RequestError` with code `not_text`, `empty_prompt`,
    `bad_serving` or `bad_request_id`.
    """

    prompt: str
    sampling: Sampling = field(default_factory=SamplingParams)
    request_id: str | None = None
    serving: Serving = field(default_factory=Serving)

    def __post_init__(self) -> None:
        _check_text(self.prompt)
        if not isinstance(self.sampling, Sampling):
            raise RequestError("bad_sampling", "The sampling settings must be a SamplingParams object.")
        if not isinstance(self.sampling, SamplingParams):
            object.__setattr__(self, "sampling", SamplingParams(**msgspec.structs.asdict(self.sampling)))
        _check_serving(self.serving)
        if self.request_id is not None and not _is_request_id(self.request_id):
            raise RequestError("bad_request_id", "A request id is 1 to 64 letters, digits, hyphens or underscores.")


def read_prompt(
    request: Request, encode: Callable[[str], list[int]], longest_token_bytes: int, context_length: int
) -> list[int]:
    """Tokenise the prompt and check that it and the reply fit the context; returns the token ids.

    A prompt whose bytes could not fit even if every token were the vocabulary's longest is refused before it is
    tokenised, so the work is bounded by the context. Raises `RequestError`: `prompt_too_long`, `too_many_new_tokens`,
    `empty_prompt`.
    """
    bound = context_length * longest_token_bytes
    # Tokenizers of this family compose characters (NFC) first, which can shorten a text: judge the shorter form.
    if _size(request.prompt) > bound and _size(unicodedata.normalize("NFC", request.prompt)) > bound:
        raise RequestError(
            "prompt_too_long",
            f"The prompt is {_size(request.prompt):,} bytes long. This model reads at most {context_length:,} tokens, "
            f"and its longest token has {longest_token_bytes} bytes, so the prompt cannot fit.",
        )
    ids = encode(request.prompt)
    _check_fit(len(ids), request.sampling.max_new_tokens, context_length)
    return ids


def _check_fit(n_prompt: int, max_new_tokens: int, context_length: int) -> None:
    if n_prompt == 0:
        raise RequestError("empty_prompt", "The prompt has no tokens. Type some text for the model to continue.")
    room = context_length - n_prompt
    if room < 1:
        raise RequestError(
            "prompt_too_long",
            f"The prompt has {n_prompt:,} tokens. This model holds {context_length:,} tokens, prompt and reply "
            f"together, so a prompt may have at most {context_length - 1:,}.",
        )
    if max_new_tokens > room:
        raise RequestError(
            "too_many_new_tokens",
            f"{n_prompt:,} prompt tokens and {max_new_tokens:,} new ones are more than the {context_length:,} that "
            f"this model holds. With this prompt, ask for at most {room:,} new tokens.",
        )


def _check_text(prompt: object) -> None:
    if not isinstance(prompt, str):
        raise RequestError("not_text", f"The prompt must be text; this is {_kind(prompt)}.")
    if prompt == "":
        raise RequestError("empty_prompt", "The prompt is empty. Type some text for the model to continue.")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"U+{ord(prompt[error.start]):04X}"
        raise RequestError(
            "not_text",
            f"Character {error.start + 1:,} of the prompt is half a character ({code}, a surrogate without its other "
            "half), so the prompt is not valid text.",
        ) from None


def _check_serving(serving: object) -> None:
    if not isinstance(serving, Serving):
        raise RequestError("bad_serving", "The serving settings must be a Serving object.")
    known = {
        "cache": get_args(CacheMode), "drafts": get_args(DraftSource), "weights": (None, *get_args(WeightFormat)),
    }  # fmt: skip
    for name, choices in known.items():
        if getattr(serving, name) not in choices:
            raise RequestError("bad_serving", f"{name} must be one of {', '.join(filter(None, choices))}.")
    whole = isinstance(serving.n_drafts, int) and not isinstance(serving.n_drafts, bool)
    if not whole or not 1 <= serving.n_drafts <= MAX_DRAFTS:
        raise RequestError("bad_serving", f"n_drafts must be a whole number from 1 to {MAX_DRAFTS}.")
    if serving.cache == "recomputed" and (serving.drafts != "none" or serving.reuse_prefix):
        raise RequestError(
            "bad_serving",
            "A request that keeps nothing between passes can neither check drafts nor reuse a prefix: "
            "both need the cache.",
        )


def _kind(value: object) -> str:
    return (
        "nothing"
        if value is None
        else "raw bytes"
        if isinstance(value, bytes)
        else f"a value of type {type(value).__name__}"
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _is_request_id(value: object) -> bool:
    return isinstance(value, str) and _REQUEST_ID.fullmatch(value) is not None


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _bad(name, "an ordinary number", value)
    return float(value)


def _whole(name: str, value: object, low: int, high: int | None, wanted: str) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):  # type: ignore[operator]
        raise _bad(name, wanted, value)


def _bad(name: str, wanted: str, given: object) -> RequestError:
    shown = repr(given)
    shown = shown if len(shown) <= 40 else shown[:40] + "…"
    return RequestError("bad_sampling", f"{name} must be {wanted}; it is {shown}.")
