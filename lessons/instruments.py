"""The instruments that a lesson or the Lab may show: plain data that the checker checks against.

An instrument named `what-if` is drawn by `show` in views/instruments/what_if.py, and the results that it publishes are
names in prose and answers: `what_if.ratio`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lessons.named_shapes import MACHINES, SHAPE_KEYS, WAYS
from lessons.words import N_

NUMBER = r"\d+(\.\d+)?"
WHOLE = r"\d+"
TEXT = r".+"
BITS = r"32|16|8|4\.5|4\.25|4"
"""Bits a weight, scales included."""
SHAPE = "|".join(SHAPE_KEYS)
SHAPES = rf"({SHAPE})( ({SHAPE}))*"
"""Several shapes, with spaces between."""
ANY_SHAPE = rf"{SHAPE}|own"
OWN = r"([a-z_]+=\d+)( [a-z_]+=\d+)*"
"""A person's own model: the fields of engine.account.own_shape.Numbers."""
MACHINE = "|".join(("machine", *MACHINES))
LINK = "|".join(WAYS)
POLICY = "continuous|decode_first|prefill_first|static"
LENGTHS = "short|chat|code|story|question|document"
TILED = r"[1-9]\d{0,3}"
"""Tokens of a prompt that is cut into tiles."""
TILE = r"1|2|4|8|16|32|64|128|256"


@dataclass(frozen=True)
class Instrument:
    """What the checker, the lesson page and the Lab need to know of one instrument."""

    title: str
    purpose: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Setting -> the regular expression that its whole value must match."""
    required: frozenset[str] = frozenset()
    publishes: Mapping[str, str] = field(default_factory=dict)
    """Result -> its kind (count, bytes, time in ns, ratio, rate, text, ...), without the instrument's own name."""
    needs_run: bool = False
    """Whether it draws the run in view; then it waits until there is one that has ended."""
    in_lab: bool = True
    """Whether it makes sense without a lesson around it."""

    def problem(self, key: str, value: str) -> str | None:
        """What is wrong with a setting, in words; None if nothing is."""
        if key not in self.settings:
            return f"unknown setting {key!r} (known: {', '.join(sorted(self.settings)) or 'none'})"
        if not re.fullmatch(self.settings[key], value):
            return f"{key}: {value!r} is not of the form {self.settings[key]}"
        return None


INSTRUMENTS: dict[str, Instrument] = {
    "metrics": Instrument(
        N_("Timings"), N_("Queue, first token, gaps and rates of the run, each with how it was made."), needs_run=True,
    ),
    "passes": Instrument(
        N_("When each pass ran"), N_("Every pass of the run on a time axis to scale."), needs_run=True,
    ),
    "memory": Instrument(
        N_("What is kept"), N_("KV cache and state of the run on one byte axis, with the crossover."), needs_run=True,
    ),
    "trace": Instrument(
        N_("Inside one DeltaNet head"), N_("State of one head and times per layer, from an instrumented second pass."),
        needs_run=True,
    ),
    "race": Instrument(
        N_("Two runs on one clock"),
        N_("The same prompt with a cache and with everything recomputed: time, tokens, odds."),
        needs_run=True,
        publishes={
            "positions": "count", "other_positions": "count", "positions_ratio": "ratio", "time": "time",
            "other_time": "time", "time_ratio": "ratio", "step": "time", "other_first_steps": "time",
            "other_last_steps": "time", "gap": "ratio", "tolerance": "ratio", "same_tokens": "count",
        },
    ),
    "kept": Instrument(
        N_("What any model keeps"),
        N_("KV cache and state of any model at any length, by layer, and other ways of keeping."),
        settings={"shape": ANY_SHAPE, "own": OWN, "positions": r"[1-9]\d{0,5}"},
    ),
    "roofline": Instrument(
        N_("The roofline"),
        N_("What a machine allows at most, and passes under it: operations a byte, operations a second."),
        settings={"shape": ANY_SHAPE, "own": OWN, "machine": MACHINE},
        publishes={
            f"{phase}_{what}": kind
            for phase in ("prefill", "decode")
            for what, kind in {
                "intensity": "ratio", "rate": "operations a second", "bandwidth": "bytes a second", "bytes": "bytes",
                "operations": "count", "share": "ratio",
            }.items()
        },
    ),
    "bits": Instrument(
        N_("Fewer bits"),
        N_("Weights in 16, 8 and 4 bits: bytes, odds, text and speed, and real weights before and after."),
        settings={"shape": ANY_SHAPE, "own": OWN, "machine": MACHINE},
        publishes={
            **{
                f"{prefix}{weights}_{what}": "ratio"
                for prefix in ("", "large_")
                for weights in ("int8", "int4")
                for what in ("bytes", "decode", "prefill")
            },
            **{f"{weights}_{what}": "ratio" for weights in ("int8", "int4") for what in ("same", "nats")},
            **{f"{weights}_rate": "bytes a second" for weights in ("bf16", "int4", "large_bf16", "large_int4")},
        },
    ),
    "texts": Instrument(
        N_("Two texts"),
        N_("The same prompt with weights of 16 bits and of fewer: where the texts part, the odds there, the pace."),
        settings={"fewer": "int8|int4"}, needs_run=True,
    ),
    "what-if": Instrument(
        N_("What if"),
        N_("Any model on any machine: what it holds, what a step reads, and the times that follow at best."),
        settings={
            "shape": ANY_SHAPE, "own": OWN, "machine": MACHINE, "machines": r"[1-9]\d?", "bits": BITS,
            "tokens_in": r"[1-9]\d{0,6}", "tokens_out": r"[1-9]\d{0,6}", "batch": r"[1-9]\d{0,3}",
        },
    ),
    "tiles": Instrument(
        N_("Attention by the tile"),
        N_("The loop of the attention kernel, turn by turn, and the bytes that tiling saves."),
        settings={"shape": SHAPE, "tokens": TILED, "queries": TILE, "keys": TILE},
        publishes={
            "tokens": "count", "queries": "count", "keys": "count", "programs": "count", "tiles": "count",
            "tiled": "bytes", "single": "bytes", "written": "bytes", "least": "bytes", "kv_ratio": "ratio",
            "on_chip": "bytes",
        },
    ),
    "pages": Instrument(
        N_("Pages of a cache"),
        N_("Several chats in one pool of pages: who owns which, what is shared, what is left over."),
        settings={"chats": r"[1-9]|1\d|2[0-4]", "length": r"\d{1,4}", "prefix": r"\d{1,3}", "crowd": r"\d{1,4}"},
        publishes={
            "page_size": "count", "pool_pages": "count", "pool_positions": "count", "context": "count",
            "running": "count", "waiting": "count", "positions": "count", "used_pages": "count",
            "free_pages": "count", "shared_pages": "count", "saved_pages": "count", "empty_places": "count",
            "whole_context_fits": "count", "kv_bytes_per_page": "bytes",
        },
    ),
    "batch-table": Instrument(
        N_("The step table"),
        N_("Who took part in every step, who waited and why: of the engine, or of a simulated load."),
        settings={
            "source": "engine|simulated", "n": "[2-8]", "shape": SHAPE, "machine": MACHINE, "first": POLICY,
            "second": POLICY, "at_once": r"[1-9]|1[0-6]", "chunk": WHOLE, "process": "poisson|constant|bursts",
            "rate": NUMBER, "requests": r"[1-9]|1\d|2[0-4]", "lengths": LENGTHS, "load_seed": r"\d{1,4}",
            "mine": r"[1-9]|1\d|2[0-4]",
        },
        publishes={
            "n": "count", "alone_rate": "rate", "all_rate": "rate", "gain": "ratio", "own_rate_alone": "rate",
            "own_rate": "rate", "own_share": "ratio", "first_time": "time", "second_time": "time",
            "time_ratio": "ratio", "first_ttft": "time", "second_ttft": "time", "first_mine": "time",
            "second_mine": "time", "first_rate": "rate", "second_rate": "rate", "at_once": "count",
            "requests": "count",
        },
    ),
    "collision": Instrument(
        N_("When phases collide"),
        N_("One long prompt among decoders: who stalls without chunks, and what chunks cost."),
        settings={
            "source": "simulated|recorded|engine", "shape": SHAPE, "machine": MACHINE, "prompt_tokens": r"[1-9]\d{2,4}",
            "decoders": r"[1-9]|1[0-6]", "chunk": r"[1-9]\d{1,3}",
        },
        publishes={
            f"{real}{what}": kind
            for real in ("", "real_")
            for what, kind in {
                "decoders": "count", "prompt": "count", "chunk": "count", "steps": "count", "plain_gap": "time",
                "stall_whole": "time", "stall_chunk": "time", "stall_ratio": "ratio", "lost": "ratio",
                "ttft_whole": "time", "ttft_chunk": "time", "ttft_ratio": "ratio", "small": "count",
                "small_steps": "count", "small_stall": "time", "small_ttft": "time", "small_ratio": "ratio",
            }.items()
        }
        | {
            "own_decoders": "count", "own_prompt": "count", "own_chunk": "count", "own_steps": "count",
            "own_plain_gap": "time", "own_stall": "time", "own_stall_ratio": "ratio", "own_ttft": "time",
        },
    ),
    "two-pools": Instrument(
        N_("Two pools"),
        N_("Two machines: both do everything, or one reads prompts and hands over to one that writes."),
        settings={
            "shape": SHAPE, "machine": MACHINE, "link": LINK, "lengths": LENGTHS, "rate": NUMBER,
            "requests": r"[4-9]|[1-9]\d|1\d\d|200", "load_seed": r"\d{1,4}", "at_once": r"[1-9]|[1-5]\d|6[0-4]",
            "chunk": r"[1-9]\d{1,3}",
        },
        publishes={
            "moved": "bytes", "transfer": "time", "longest_wait": "time", "second_token": "time",
            "second_token_worst": "time",
            **{
                f"{arrangement}_{what}": "rate" if what == "rate" else "time"
                for arrangement in ("whole", "chunks", "split")
                for what in ("ttft", "ttft_p99", "gap", "gap_p99", "gap_worst", "rate")
            },
        },
    ),
    "percentiles": Instrument(
        N_("Percentiles of a service"),
        N_("Waits by prompt length and by concurrency, beside the mean that hides them."),
        settings={
            "shape": SHAPE, "machine": MACHINE, "policy": POLICY, "at_once": r"[1-9]|[1-9]\d|1\d\d|2[0-4]\d|25[0-6]",
            "chunk": r"\d{1,4}", "process": "poisson|constant|bursts", "rate": NUMBER, "requests": r"[1-9]\d{0,3}",
            "lengths": f"{LENGTHS}|fixed", "prompt_tokens": r"[1-9]\d{0,4}", "reply_tokens": r"[1-9]\d{0,3}",
            "load_seed": r"\d{1,4}", "limit_ms": r"[1-9]\d{0,5}",
        },
        publishes={
            "requests": "count", "beyond": "count", "good_share": "ratio", "rate": "rate", "limit": "time",
            **dict.fromkeys(
                (
                    "queue_mean", "queue_p99", "prefill_p50", "prefill_p99", "ttft_mean", "ttft_p50", "ttft_p90",
                    "ttft_p99", "ttft_worst", "gap_mean", "gap_p50", "gap_p99", "gap_worst", "short_ttft_p50",
                    "long_ttft_p50",
                ),
                "time",
            ),
        },
    ),
    "state": Instrument(
        N_("Inside the fixed state"),
        N_("How long each head keeps, what a token erases and writes, where a name survives."),
        settings={"part": "heads|recall|try"},
        publishes={
            "heads": "count", "shortest": "ratio", "median": "ratio", "longest": "ratio", "longest_layer": "count",
            "longest_head": "count", "under_two": "count", "left_near": "ratio", "left_far": "ratio",
            "name_pairs": "count", "name_near": "count", "name_far": "count", "name_shift_near": "ratio",
            "name_shift_far": "ratio", "name_times_near": "ratio", "name_times_far": "ratio",
            "name_cache_share": "ratio", "name_state_share": "ratio",
        },
    ),
    "drafts": Instrument(
        N_("Several tokens a read"), N_("Guesses and how many held, tokens a pass, and the time against a plain run."),
        needs_run=True,
        publishes={
            "drafted": "count", "accepted": "count", "judged": "count", "checks": "count", "plain": "count",
            "n_drafts": "count", "acceptance": "ratio", "tokens_per_check": "ratio", "expected_per_check": "ratio",
            "tokens_per_decode": "ratio", "check_cost": "ratio", "time": "time", "other_time": "time",
            "speedup": "ratio", "same_tokens": "count",
        },
    ),
    "own-runs": Instrument(
        N_("Reading and writing in your runs"), N_("Your latest runs: time a token read and written, and looks back."),
        publishes={
            "n": "count", "prompt_tokens": "count", "prefill_passes": "count", "new_tokens": "count",
            "decode_passes": "count", "read": "time", "write": "time", "write_over_read": "ratio",
            "looks_back": "count",
        },
    ),
}  # fmt: skip
"""Name -> instrument, in the order of the Lab's box."""


def prefix_of(name: str) -> str:
    """An instrument's name as it stands in expressions and as its module is called: `what-if` -> `what_if`."""
    return name.replace("-", "_")


def published_kinds(name: str) -> dict[str, str]:
    """Every name in expressions that an instrument gives, and its kind; none for an unknown instrument."""
    known = INSTRUMENTS.get(name)
    return {f"{prefix_of(name)}.{what}": kind for what, kind in known.publishes.items()} if known else {}
