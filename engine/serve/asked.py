"""The fields that both OpenAI-compatible routes share, and what each means to the engine.

A field is served, or has no effect on what is written (`user` and its like), or is refused by name when it is set to
something that would change the answer. A field that is not known at all is refused, too: nothing is ignored in silence.
"""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

import msgspec

from engine.account.record import Sampling, Serving
from engine.loop.request import MAX_SEED
from engine.serve.faults import Refused

MAX_CHOICES = 8
"""Each is a request of its own and takes a place in the batch."""
MAX_STOPS = 4


class StreamOptions(msgspec.Struct, frozen=True):
    """`include_usage`: send the token counts in a last chunk."""

    include_usage: bool | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """OpenAI's fields; `top_k`, `ignore_eos` and `reuse_prefix` are extensions. A JSON null means the default."""

    model: str
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    ignore_eos: bool | None = None
    reuse_prefix: bool | None = None

    presence_penalty: Any = None
    frequency_penalty: Any = None
    repetition_penalty: Any = None
    logit_bias: Any = None
    min_p: Any = None
    min_tokens: Any = None
    stop_token_ids: Any = None

    user: Any = None
    metadata: Any = None
    store: Any = None
    service_tier: Any = None
    safety_identifier: Any = None
    prompt_cache_key: Any = None
    prompt_cache_retention: Any = None

    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {
        "presence_penalty": (0,),
        "frequency_penalty": (0,),
        "repetition_penalty": (1,),
        "logit_bias": ({},),
        "min_p": (0,),
        "min_tokens": (0,),
        "stop_token_ids": ([],),
    }
    """Field -> the values beside null that change nothing; any other is refused."""

    def check(self) -> None:
        """Raise Refused for what is out of bounds, or would have to be ignored."""
        for name, harmless in self.unsupported.items():
            value = getattr(self, name)
            if value is not None and value not in harmless:
                raise unsupported(name)
        if not 1 <= self.n_choices <= MAX_CHOICES:
            raise Refused(400, "bad_n", f"n must be from 1 to {MAX_CHOICES}; it is {self.n}.", "n")
        if self.seed is not None and not 0 <= self.seed <= MAX_SEED:
            raise Refused(400, "bad_sampling", f"seed must be a whole number from 0 to {MAX_SEED}.", "seed")
        check_length("max_tokens", self.max_tokens)

    @property
    def n_choices(self) -> int:
        """How many replies are wanted."""
        return 1 if self.n is None else self.n

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the token counts."""
        return bool(self.stream_options and self.stream_options.include_usage)

    def samplings(self, max_new_tokens: int) -> list[Sampling]:
        """The engine's settings, one a choice: choice i draws with seed + i (mod 2^53).

        So choice 0 is what n = 1 gives. Without a seed one is drawn; the records say which.
        """
        seed = secrets.randbelow(2**31) if self.seed is None else self.seed
        one = Sampling(
            temperature=1.0 if self.temperature is None else self.temperature,
            top_k=self.top_k or 0,
            top_p=1.0 if self.top_p is None else self.top_p,
            max_new_tokens=max_new_tokens,
            ignore_eos=bool(self.ignore_eos),
        )
        return [msgspec.structs.replace(one, seed=(seed + i) & MAX_SEED) for i in range(self.n_choices)]

    def serving(self) -> Serving:
        """Unless told otherwise a request begins from what an earlier one with the same beginning has left."""
        return Serving(reuse_prefix=self.reuse_prefix is not False)

    def stops(self) -> list[str]:
        """The texts to stop before. Raises Refused."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if len(stops) > MAX_STOPS or not all(stops):
            raise Refused(400, "bad_stop", f"stop takes up to {MAX_STOPS} texts, none of them empty.", "stop")
        return stops


def unsupported(name: str) -> Refused:
    """The refusal of a field that would change the answer."""
    return Refused(400, "unsupported", f"{name} is not supported by this engine; leave it out.", name)


def check_length(name: str, value: int | None) -> None:
    """Raise Refused unless it is None or at least 1."""
    if value is not None and value < 1:
        raise Refused(400, "bad_sampling", f"{name} must be a whole number, 1 or more; it is {value}.", name)
