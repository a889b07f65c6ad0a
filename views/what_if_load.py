"""Arrivals and policies of the what-ifs, in the words of the pages: one place for the choices that several offer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import get_args

from engine.loop.arrivals import LENGTHS, Arrival, ArrivalProcess, Fixed, Lengths, LogNormal, load
from engine.loop.policy import Policy, PolicyName
from engine.loop.simulator import Simulation
from lessons.playback import Playback
from views.virtual_machines import what_if_shape
from views.words import N_, Words, _

POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)
PROCESSES: tuple[ArrivalProcess, ...] = get_args(ArrivalProcess)

POLICY_WORDS: Words[PolicyName] = Words(
    {
        "continuous": N_("continuous: whoever is ready takes part in every step, oldest first"),
        "decode_first": N_("decodes first: then prompts, in chunks, with what the step has left"),
        "prefill_first": N_("prompts first: while a prompt waits, decodes stand still"),
        "static": N_("static: a batch comes in together, and nobody joins until all of it has ended"),
    }
)
PROCESS_WORDS: Words[ArrivalProcess] = Words(
    {
        "poisson": N_("independent of each other"),
        "constant": N_("at equal distances"),
        "bursts": N_("eight at once"),
    }
)
SHORT = Lengths("short", Fixed(200), LogNormal(24, 40), "an example of the course")
"""Replies of very different lengths, few enough that a picture holds them."""

LENGTH_WORDS: Words[str] = Words(
    {
        "short": N_("short: 200 in, around 24 out"),
        "chat": N_("chat: around 1,000 in, 130 out"),
        "code": N_("code: around 1,500 in, 13 out"),
        "story": N_("story: 8 + 10 tokens"),
        "question": N_("question: 500 + 200 tokens"),
        "document": N_("document: 2,000 + 100 tokens"),
    }
)


def policy_name(name: PolicyName) -> str:
    """The name alone, without what it does."""
    return POLICY_WORDS[name].partition(":")[0]


def policy_in_words(policy: Policy) -> str:
    """A policy and its bounds in a sentence or two."""
    chunk = (
        _("Prompts are taken whole.")
        if policy.chunk is None
        else _("While others decode, at most {chunk} prompt tokens go into a step.").format(chunk=policy.chunk)
    )
    bounds = _("At most {n} requests at once, and {tokens} tokens a step.").format(
        n=policy.max_running, tokens=f"{policy.token_budget:,}"
    )
    words = POLICY_WORDS[policy.name]
    return f"{words[0].upper()}{words[1:]}. {bounds} {chunk}"


@lru_cache(64)
def arrivals(
    shape: str, process: ArrivalProcess, per_second: float, n: int, lengths: Lengths, seed: int
) -> tuple[Arrival, ...]:
    """A load that a model's context holds; raises `BadLoad` or `NotKnown`."""
    context = what_if_shape(shape).context_length
    return tuple(load(process, per_second, n, lengths, context_length=context, seed=seed))


def lengths_of(name: str) -> Lengths:
    """The lengths behind a key of `LENGTH_WORDS`."""
    return SHORT if name == SHORT.name else LENGTHS[name]


def playback_of(name: str, policy: Policy, simulation: Simulation, asked: Sequence[Arrival]) -> Playback:
    """A simulation of one machine as a playback; its tickets count the arrivals from 1, in their order."""
    numbered = dict(enumerate(sorted(asked, key=lambda one: one.at_ns), start=1))
    return Playback(
        name, policy, simulation.rows,
        {ticket: one.at_ns for ticket, one in numbered.items()},
        {ticket: one.n_prompt for ticket, one in numbered.items()},
    )  # fmt: skip
