"""What a load test will ask, decided before it begins: the same options give the same requests, in the same order.

Open loop: requests arrive at given instants whether or not earlier ones have ended, as from a large public; a service
that is too slow shows it in its queue. Closed loop: a fixed number of users, each of whom asks again some time after
the last answer has ended; a service that is too slow is asked less. Results of the two must not be compared. A recorded
workload is an open loop whose instants and lengths are those of the file.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import msgspec
import numpy as np

from engine.account.record import Sampling, Serving
from engine.account.workload import Workload
from engine.loop import arrivals
from engine.loop.arrivals import LENGTHS, ArrivalProcess, BadLoad, Lengths
from engine.serve.load_prompts import Prompts

REQUESTS = 50
"""Without a number of requests or seconds."""
MOST_REQUESTS = 20_000
N_OPENINGS = 2
"""System prompts that requests share if prefixes may be reused."""

_PAIR = re.compile(r"(\d{1,7}),(\d{1,7})")
_NO_CONTEXT = 1 << 40


class LoadOptions(msgspec.Struct, frozen=True):
    """What to ask for. Exactly one of `rate` (open loop, requests a second), `users` (closed loop) and `workload` (the
    name of a recorded one, played `speed` times as fast). Raises BadLoad.

    `think_s` is the mean of exponential pauses. `cancel` is the share of requests whose user leaves before the end.
    """

    rate: float | None = None
    users: int | None = None
    think_s: float = 0.0
    requests: int | None = None
    seconds: float | None = None
    lengths: str = "chat"
    arrivals: ArrivalProcess = "poisson"
    cancel: float = 0.0
    reuse_prefix: bool = False
    seed: int = 0
    workload: str | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.rate, self.users, self.workload)) != 1:
            raise BadLoad("Give a rate (open loop), a number of users (closed loop) or a recorded workload; not both.")
        _check(_positive(self.speed), "speed", "a number above 0", self.speed)
        _check(self.rate is None or _positive(self.rate), "rate", "a number of requests a second above 0", self.rate)
        _check(self.users is None or self.users >= 1, "users", "a whole number, 1 or more", self.users)
        _check(math.isfinite(self.think_s) and self.think_s >= 0, "think", "0 seconds or more", self.think_s)
        if self.think_s and self.users is None:
            raise BadLoad("think is a pause of the users of a closed loop; with a rate there are none.")
        bound = f"a whole number from 1 to {MOST_REQUESTS:,}"
        _check(self.requests is None or 1 <= self.requests <= MOST_REQUESTS, "requests", bound, self.requests)
        _check(self.seconds is None or _positive(self.seconds), "seconds", "above 0", self.seconds)
        _check(0 <= self.cancel <= 1, "cancel", "a share from 0 to 1", self.cancel)
        _check(0 <= self.seed < 2**53, "seed", "a whole number from 0 to 2^53 - 1", self.seed)
        if self.arrivals not in ("poisson", "constant", "bursts"):
            raise BadLoad(f"arrivals must be poisson, constant or bursts; it is {self.arrivals!r}.")
        lengths_of(self.lengths)

    @property
    def open_loop(self) -> bool:
        """Whether requests come at given instants, whatever becomes of earlier ones."""
        return self.users is None


class Ask(NamedTuple):
    """One request to come."""

    number: int
    at_ns: int | None
    """When it is sent, from the start; None in a closed loop."""
    n_prompt: int
    n_new: int
    cut: bool
    """Whether the drawn lengths were cut to the model's context."""
    leaves_after: int | None
    """Tokens after which its user leaves (0: at once); None for one who stays."""
    think_s: float
    """How long its user pauses after it."""
    prompt: str | None = None
    """Its text, where a recorded workload holds it and the model's context holds the text."""


class LoadPlan:
    """The requests of a load test, and their texts, made when they are asked for."""

    def __init__(
        self, options: LoadOptions, prompts: Prompts, context_length: int, recorded: Workload | None = None
    ) -> None:
        """Draw the requests, or take those of a recorded workload; raises `BadLoad`."""
        if (recorded is None) != (options.workload is None):
            raise BadLoad("A recorded workload comes with its requests.")
        self.options = options
        self._prompts = prompts
        drawn = _drawn(options, context_length) if recorded is None else _replayed(options, recorded, context_length)
        self.asks = _asks(options, drawn)
        lengths = sorted(ask.n_prompt for ask in self.asks)
        self.opening_tokens = lengths[len(lengths) // 2] // 2 if options.reuse_prefix and lengths else 0
        """Tokens of the beginnings that requests share; a prompt that is no longer than that has its own."""

    def prompt(self, ask: Ask) -> str:
        """The request's text, of exactly `n_prompt` tokens, or as it was recorded. Raises ValueError if the tokenizer
        admits none.
        """
        if ask.prompt is not None:
            return ask.prompt
        seed = self.options.seed
        opening = ""
        if 0 < self.opening_tokens < ask.n_prompt:
            opening = self._prompts.prompt(f"opening/{seed}/{ask.number % N_OPENINGS}", self.opening_tokens)
        return self._prompts.prompt(f"prompt/{seed}/{ask.number}", ask.n_prompt, opening)

    def sampling(self, ask: Ask) -> Sampling:
        """Greedy, and on to the wanted number of tokens: an early end would make the lengths the model's choice."""
        return Sampling(max_new_tokens=ask.n_new, ignore_eos=True)

    @property
    def planned(self) -> int | None:
        """How many requests will be sent; None if only the time decides."""
        bounded = self.options.requests is not None or self.options.seconds is None or self.options.open_loop
        return len(self.asks) if bounded else None

    @property
    def serving(self) -> Serving:
        """How the requests ask to be served."""
        return Serving(reuse_prefix=self.options.reuse_prefix)


def lengths_of(name: str) -> Lengths:
    """Lengths by name, or "P,N" for requests that are all alike; raises `BadLoad`."""
    if name in LENGTHS:
        return LENGTHS[name]
    pair = _PAIR.fullmatch(name.replace(" ", ""))
    if pair is None:
        known = ", ".join(LENGTHS)
        raise BadLoad(f"There are no lengths {name[:40]!r}. There are {known}, and P,N (for example 200,50).")
    return arrivals.fixed(int(pair[1]), int(pair[2]))


def _draw(options: LoadOptions, context_length: int) -> list[arrivals.Arrival]:
    """Instants and lengths; in a closed loop the instants are not used."""
    process = options.arrivals if options.rate is not None else "constant"
    rate = options.rate if options.rate is not None else 1.0
    drawn = arrivals.load(
        process, rate, _enough(options), lengths_of(options.lengths), context_length=context_length, seed=options.seed
    )
    if options.rate is None or options.seconds is None:
        return drawn
    return [arrival for arrival in drawn if arrival.at_ns <= options.seconds * 1e9]


def _enough(options: LoadOptions) -> int:
    """How many to draw: as many as are asked for, or surely more than come in the time."""
    if options.requests is not None:
        return options.requests
    if options.seconds is None:
        return REQUESTS
    if options.rate is None:
        return MOST_REQUESTS
    expected = options.rate * options.seconds
    return min(MOST_REQUESTS, math.ceil(expected + 8 * math.sqrt(arrivals.BURST * expected)) + arrivals.BURST)


class _Drawn(NamedTuple):
    """A request before its user's ways have been drawn."""

    arrival: arrivals.Arrival
    cut: bool
    prompt: str | None = None


def _drawn(options: LoadOptions, context_length: int) -> list[_Drawn]:
    drawn, uncut = _draw(options, context_length), _draw(options, _NO_CONTEXT)
    return [_Drawn(arrival, arrival != whole) for arrival, whole in zip(drawn, uncut, strict=False)]


def _replayed(options: LoadOptions, recorded: Workload, context_length: int) -> list[_Drawn]:
    """The requests of a file that are within what was asked for, cut as drawn ones are to the model's context."""
    found: list[_Drawn] = []
    for ask in recorded.requests[: options.requests]:
        at_ns = round(ask.at_ns / options.speed)
        if options.seconds is not None and at_ns > options.seconds * 1e9:
            break
        n_new = min(ask.n_new, context_length // 2)
        n_prompt = min(ask.n_prompt, context_length - n_new)
        cut = (n_prompt, n_new) != (ask.n_prompt, ask.n_new)
        found.append(_Drawn(arrivals.Arrival(at_ns, n_prompt, n_new), cut, None if cut else ask.prompt))
    return found


def _asks(options: LoadOptions, drawn: list[_Drawn]) -> list[Ask]:
    leaving, pausing = np.random.default_rng([options.seed, 1]).spawn(2)
    leaves = leaving.random(len(drawn)) < options.cancel
    shares = leaving.random(len(drawn))
    pauses = pausing.exponential(1.0, len(drawn)) * options.think_s
    return [
        Ask(
            number=number,
            at_ns=arrival.at_ns if options.open_loop else None,
            n_prompt=arrival.n_prompt,
            n_new=arrival.n_new,
            cut=cut,
            leaves_after=int(shares[number] * arrival.n_new) if leaves[number] else None,
            think_s=float(pauses[number]),
            prompt=prompt,
        )
        for number, (arrival, cut, prompt) in enumerate(drawn)
    ]


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _check(holds: bool, name: str, wanted: str, given: object) -> None:
    if not holds:
        raise BadLoad(f"{name} must be {wanted}; it is {given}.")
