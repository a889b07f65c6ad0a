"""Two machines for one load, in three arrangements: both do everything (prompts whole, or in chunks), or one reads
prompts and the other writes replies. Each is played out on the virtual clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.account import cost
from engine.account.distribution import Distribution
from engine.account.presets import LINKS, Link
from engine.account.record import ModelShape
from engine.loop.policy import Policy
from engine.loop.simulator import Simulation
from lessons.named_shapes import WAYS
from views.virtual_clock import Setup
from views.what_if_load import arrivals, lengths_of
from views.words import _

Arrangement = Literal["whole", "chunks", "split"]
ARRANGEMENTS: tuple[Arrangement, ...] = ("whole", "chunks", "split")
STEP_TOKENS = 8192


class Chosen(msgspec.Struct, frozen=True):
    """The load, and what serves it."""

    shape: str = "qwen27b"
    machine: str = "h100"
    link: str = "nvlink4"
    lengths: str = "document"
    rate: float = 3.0
    requests: int = 16
    load_seed: int = 5
    at_once: int = 16
    chunk: int = 512

    def setups(self) -> dict[Arrangement, list[Setup]]:
        """The simulations of each arrangement. Two mixed machines are two simulations: requests go to them in turn."""
        asked = arrivals(self.shape, "poisson", self.rate, self.requests, lengths_of(self.lengths), self.load_seed)
        whole = Policy("continuous", self.at_once, STEP_TOKENS, None)
        chunks = Policy("decode_first", self.at_once, STEP_TOKENS, self.chunk)
        halves = [half for half in (asked[0::2], asked[1::2]) if half]
        return {
            "whole": [Setup(self.shape, self.machine, whole, half) for half in halves],
            "chunks": [Setup(self.shape, self.machine, chunks, half) for half in halves],
            "split": [Setup(self.shape, self.machine, whole, asked, WAYS[self.link])],
        }

    def heading(self, arrangement: Arrangement) -> str:
        """For people."""
        return {
            "whole": _("both do both, prompts whole"),
            "chunks": _("both do both, chunks of {n}").format(n=self.chunk),
            "split": _("one reads, one writes"),
        }[arrangement]


class Served(msgspec.Struct, frozen=True):
    """What an arrangement came to; durations in nanoseconds."""

    ttft: Distribution
    gap: Distribution
    """Over all gaps of all requests."""
    second_token: Distribution
    """From the first token to the second: where a hand-over falls."""
    tokens_per_s: float
    """New tokens of everybody over the time until the last one."""
    moved_bytes: float | None = None
    """Of a request, the median; None where nothing moves."""
    transfer_ns: float | None = None
    """On the link, the median."""
    longest_wait_ns: int | None = None
    """From a prompt's end until its transfer began: the other machine was full, or the link was taken."""


def served(simulations: Sequence[Simulation]) -> Served:
    """Sum up the simulations of one arrangement, in which somebody got a token."""
    times = [of_run for one in simulations for of_run in one.timings]
    ends = [one.end_ns for one in simulations]
    tokens = sum(1 + len(one.itl_ns) for one in times if one.ttft_ns is not None)
    moves = [move for one in simulations for move in one.transfers]
    return Served(
        ttft=Distribution.of([one.ttft_ns for one in times if one.ttft_ns is not None]),
        gap=Distribution.of([gap for one in times for gap in one.itl_ns]),
        second_token=Distribution.of([one.itl_ns[0] for one in times if one.itl_ns]),
        tokens_per_s=tokens * 1e9 / max(ends),
        moved_bytes=statistics.median(move.n_bytes for move in moves) if moves else None,
        transfer_ns=statistics.median(move.end_ns - move.start_ns for move in moves) if moves else None,
        longest_wait_ns=max((move.start_ns - move.ready_ns for move in moves), default=None),
    )


def moved_bytes(shape: ModelShape, positions: int) -> int:
    """What a prompt of so many tokens leaves behind and a hand-over moves: KV cache, state, windows."""
    return cost.kv_bytes(shape, positions) + cost.recurrent_state_bytes(shape) + cost.window_bytes(shape)


def transfer_table(shape: ModelShape, lengths: Sequence[int]) -> dict[str, list[str | float]]:
    """Prompt lengths down, links across: milliseconds of a hand-over at the link's full rate."""
    table: dict[str, list[str | float]] = {
        _("prompt tokens"): [f"{n:,}" for n in lengths],
        _("KV cache (MB)"): [round(cost.kv_bytes(shape, n) / 1e6, 1) for n in lengths],
        _("state and windows (MB)"): [
            round((moved_bytes(shape, n) - cost.kv_bytes(shape, n)) / 1e6, 1) for n in lengths
        ],
    }
    for link in LINKS.values():
        table[f"{link.name} (ms)"] = [round(link.transfer_ns(moved_bytes(shape, n)) / 1e6, 2) for n in lengths]
    return table


def link_of(key: str) -> Link:
    """The link behind a key of `lessons.named_shapes.WAYS`."""
    return LINKS[WAYS[key]]


def results(outcome: dict[Arrangement, Served]) -> dict[str, float | None]:
    """What prose and questions may use."""
    split = outcome["split"]
    named: dict[str, float | None] = {
        "moved": split.moved_bytes,
        "transfer": split.transfer_ns,
        "longest_wait": split.longest_wait_ns,
        "second_token": split.second_token.p50,
        "second_token_worst": split.second_token.max,
    }
    for arrangement, one in outcome.items():
        named |= {
            f"{arrangement}_ttft": one.ttft.p50,
            f"{arrangement}_ttft_p99": one.ttft.p99,
            f"{arrangement}_gap": one.gap.p50,
            f"{arrangement}_gap_p99": one.gap.p99,
            f"{arrangement}_gap_worst": one.gap.max,
            f"{arrangement}_rate": one.tokens_per_s,
        }
    return named
