"""Load as numbers: when requests arrive and how long they are, drawn from a seed.

Arrivals are instants in seconds from the start, the first after one gap. The same seed gives the same load here, in the
simulator and in the load generator. Lengths of "chat" and "code" follow what two services of Azure saw on one day in
November 2023 (Patel et al., "Splitwise", ISCA 2024, arXiv 2311.18677, section III): the medians are the paper's, the
means are what later papers give for the published rows (AzurePublicDataset, CC BY), not checked against the rows. Each
is a log-normal distribution with that median and that mean, prompt and reply drawn independently. Real traffic is
lumpier: the paper's chat replies have two humps, and lengths cluster where many requests share a template. A length
that a model cannot hold is cut to what it can.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import msgspec
import numpy as np

ArrivalProcess = Literal["poisson", "constant", "bursts"]
BURST = 8
"""Requests of a burst that come at once; the gaps between bursts are exponential."""


class BadLoad(ValueError):
    """A load that cannot be drawn; the message says why."""


class Arrival(NamedTuple):
    """One request to come: when, and how many tokens it brings and wants."""

    at_ns: int
    n_prompt: int
    n_new: int


class LogNormal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A length distribution by its median and its mean, in tokens."""

    median: float
    mean: float

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm: mean = median x exp(sigma^2 / 2)."""
        return math.sqrt(2 * math.log(self.mean / self.median))

    def draw(self, n: int, rng: np.random.Generator) -> list[int]:
        """`n` lengths, at least 1."""
        values = self.median * np.exp(self.sigma * rng.standard_normal(n))
        return [max(1, round(value)) for value in values.tolist()]


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Always the same length."""

    tokens: int

    def draw(self, n: int, rng: np.random.Generator) -> list[int]:
        """`n` times the same; takes nothing from the generator."""
        return [self.tokens] * n


class Lengths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long prompts and replies are."""

    name: str
    prompt: LogNormal | Fixed
    reply: LogNormal | Fixed
    source: str

    def draw(self, n: int, rng: np.random.Generator, context_length: int) -> list[tuple[int, int]]:
        """`n` pairs (prompt, reply) that fit the context together: a reply is cut to half of it, then a prompt to the
        room that is left. Raises `BadLoad`.
        """
        if context_length < 2:
            raise BadLoad(f"A prompt and a reply need two positions at least; the context has {context_length}.")
        prompts = self.prompt.draw(n, rng)
        replies = [min(reply, context_length // 2) for reply in self.reply.draw(n, rng)]
        return [(min(p, context_length - r), r) for p, r in zip(prompts, replies, strict=True)]


_AZURE = "Azure LLM inference trace 2023, {}: log-normal with its median and mean (Splitwise, arXiv 2311.18677)"
_COURSE = "an example of the course"

LENGTHS: dict[str, Lengths] = {
    one.name: one
    for one in (
        Lengths("chat", LogNormal(1020, 1155), LogNormal(129, 211), _AZURE.format("conversation")),
        Lengths("code", LogNormal(1500, 2048), LogNormal(13, 28), _AZURE.format("code")),
        Lengths("story", Fixed(8), Fixed(10), _COURSE),
        Lengths("question", Fixed(500), Fixed(200), _COURSE),
        Lengths("document", Fixed(2000), Fixed(100), _COURSE),
    )
}
"""Name -> lengths."""


def fixed(n_prompt: int, n_new: int) -> Lengths:
    """Every request alike; raises `BadLoad`."""
    if n_prompt < 1 or n_new < 1:
        raise BadLoad(f"A request has a prompt token and a new token at least; asked for {n_prompt} and {n_new}.")
    return Lengths(f"{n_prompt} + {n_new}", Fixed(n_prompt), Fixed(n_new), "chosen")


def instants(process: ArrivalProcess, per_second: float, n: int, rng: np.random.Generator) -> list[int]:
    """Nanoseconds at which `n` requests arrive, `per_second` on average, ascending.

    poisson: independent of each other, exponential gaps. constant: equal gaps. bursts: `BURST` at once, exponential
    gaps between bursts. Raises `BadLoad`.
    """
    if not (math.isfinite(per_second) and per_second > 0):
        raise BadLoad(f"The arrival rate must be above 0 requests a second; it is {per_second}.")
    if n < 0:
        raise BadLoad(f"There cannot be {n} requests.")
    gap = 1 / per_second
    if process == "constant":
        gaps = np.full(n, gap)
    elif process == "poisson":
        gaps = rng.exponential(gap, n)
    elif process == "bursts":
        gaps = np.zeros(n)
        gaps[::BURST] = rng.exponential(gap * BURST, len(gaps[::BURST]))
    else:
        raise BadLoad(f"There is no arrival process {process!r}; there are poisson, constant and bursts.")
    return [round(at) for at in (np.cumsum(gaps) * 1e9).tolist()]


def load(
    process: ArrivalProcess, per_second: float, n: int, lengths: Lengths, *, context_length: int, seed: int
) -> list[Arrival]:
    """`n` requests, the same for the same seed. Instants and lengths have generators of their own, so that another
    rate brings the same requests. Raises `BadLoad`.
    """
    when, what = np.random.default_rng(seed).spawn(2)
    at = instants(process, per_second, n, when)
    pairs = lengths.draw(n, what, context_length)
    return [Arrival(at_ns, n_prompt, n_new) for at_ns, (n_prompt, n_new) in zip(at, pairs, strict=True)]
