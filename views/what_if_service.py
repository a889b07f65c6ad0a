"""A whole service on the virtual clock: the load, the policy and the machine as a form, and what came of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec
import streamlit as st

from engine.account.goodput import Limits
from engine.account.service import ServiceReport, service_report
from engine.loop.arrivals import ArrivalProcess, fixed
from engine.loop.policy import Policy, PolicyName
from engine.loop.simulator import Simulation
from views.engine_words import told
from views.shape_choice import NAMES
from views.virtual_clock import Setup, simulated, worker
from views.virtual_machines import clock_of, what_if_shape
from views.what_if_choice import Boxes
from views.what_if_load import (
    LENGTH_WORDS,
    PROCESS_WORDS,
    PROCESSES,
    arrivals,
    lengths_of,
)
from views.words import _

LengthsKey = Literal["short", "chat", "code", "story", "question", "document", "fixed"]
STEP_TOKENS = 8192


class Chosen(msgspec.Struct, frozen=True):
    """A load and what serves it. `chunk` 0: prompts whole. The token counts are for lengths that are "fixed"."""

    shape: str = "qwen27b"
    machine: str = "h100"
    policy: PolicyName = "continuous"
    at_once: int = 16
    chunk: int = 0
    process: ArrivalProcess = "poisson"
    rate: float = 5.0
    requests: int = 40
    lengths: LengthsKey = "code"
    prompt_tokens: int = 500
    reply_tokens: int = 200
    load_seed: int = 1
    limit_ms: int = 1000

    def setup(self) -> Setup:
        """What is to be played; raises `BadLoad`."""
        lengths = fixed(self.prompt_tokens, self.reply_tokens) if self.lengths == "fixed" else lengths_of(self.lengths)
        asked = arrivals(self.shape, self.process, self.rate, self.requests, lengths, self.load_seed)
        policy = Policy(self.policy, self.at_once, STEP_TOKENS, self.chunk or None)
        return Setup(self.shape, self.machine, policy, asked)

    @property
    def limits(self) -> Limits:
        """What counts as served well: this wait for the first token, and a reader's pace after it."""
        return Limits(ttft_ns=self.limit_ms * 1_000_000)

    @property
    def how(self) -> str:
        """How the times are made."""
        clock = clock_of(what_if_shape(self.shape), self.machine)
        return _("{model} on {machine}, {how}.").format(
            model=NAMES[self.shape], machine=clock.name, how=told(clock.how)
        )

    def linked(self) -> dict[str, str]:
        """As settings of a link."""
        return {name: str(value) for name, value in msgspec.structs.asdict(self).items()}


def played(chosen: Chosen, key: str) -> tuple[Simulation, ServiceReport] | None:
    """The simulation and its report; None while it is under way, or if it cannot be had (the page says why)."""
    setup = chosen.setup()
    found = simulated([setup], key)
    return (found[0], _report(setup, chosen.limits)) if found else None


@lru_cache(32)
def _report(setup: Setup, limits: Limits) -> ServiceReport:
    """Of a setup that has been played."""
    found = worker().job(setup).future.result()
    return service_report(found.runs, found.rows, window_ns=found.end_ns, limits=limits)


def choose(boxes: Boxes[Chosen]) -> None:
    """The form, at first as asked."""
    with st.grid(3, min_column_width=200, gap="small"):
        boxes.policy("policy", _("Policy"))
        boxes.whole("chunk", _("Prompt tokens a step (0: whole)"), 0, STEP_TOKENS)
        boxes.decimal("rate", _("Requests a second"), 0.01, 1000.0)
        boxes.one_of(
            "lengths", _("Lengths"), [*LENGTH_WORDS, "fixed"],
            lambda name: LENGTH_WORDS.get(name, _("fixed: all alike")),
        )  # fmt: skip
        boxes.model()
        boxes.machine()
    with st.expander(_("More"), key=f"{boxes.key}-more"), st.grid(3, min_column_width=170, gap="small"):
        boxes.whole("at_once", _("At once, at most"), 1, 256)
        boxes.one_of("process", _("Requests come"), PROCESSES, PROCESS_WORDS.__getitem__)
        boxes.whole("requests", _("Requests"), 1, 2000)
        boxes.whole("prompt_tokens", _("Fixed: prompt tokens"), 1, 100_000)
        boxes.whole("reply_tokens", _("Fixed: new tokens"), 1, 10_000)
        boxes.whole("load_seed", _("Seed"), 0, 9999)
        boxes.whole("limit_ms", _("First token wanted within (ms)"), 1, 600_000)
