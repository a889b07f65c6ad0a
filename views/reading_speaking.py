"""A visitor's own finished runs as evidence: how fast each read and wrote, how often it looked back while writing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.account.metrics import timings
from engine.account.record import End, Run
from engine.account.record_file import RecordError
from lessons import catalogue
from views.engine_calls import find_run
from views.visitor import attempt_store, browser

MOST = 12
"""The latest so many runs are looked at."""

BUNDLED = ("story-once-upon-a-time", "story-cached", "story-named-max")
"""Recordings that stand in for a visitor who has run nothing."""


@dataclass(frozen=True)
class ReadAndWrote:
    """One run in the two halves of the metaphor. Times are nanoseconds."""

    begins: str
    """The prompt's beginning."""
    prompt_tokens: int
    new_tokens: int
    prefill_passes: int
    decode_passes: int
    read_ns: float
    """A prompt token's share of the prefill."""
    write_ns: int
    """The median gap from one new token to the next."""
    looks_back: int
    """Entries of earlier tokens that each attention layer read while writing, over all decode passes."""

    @classmethod
    def of(cls, run: Run) -> ReadAndWrote | None:
        """Read a run; None for one that was stopped, that kept nothing, or that wrote fewer than two tokens."""
        told = timings(run)
        whole = isinstance(run.end, End) and run.end.reason != "cancelled"
        kept = run.header.serving.cache == "kept" and run.header.evidence == "measured"
        if not (whole and kept and told.prompt_tokens_per_s and told.itl_p50_ns):
            return None
        decodes = [one for one in run.passes if one.phase == "decode"]
        return cls(
            begins=run.header.prompt, prompt_tokens=len(run.header.prompt_tokens), new_tokens=len(run.emissions),
            prefill_passes=len(run.passes) - len(decodes), decode_passes=len(decodes),
            read_ns=1e9 / told.prompt_tokens_per_s, write_ns=told.itl_p50_ns,
            looks_back=sum(one.start_position for one in decodes),
        )  # fmt: skip


def own_runs() -> list[ReadAndWrote]:
    """The visitor's latest runs that can be read, oldest first; none where the browser keeps no cookie."""
    name = browser()
    run_ids = attempt_store().runs(name)[-MOST:] if name else []
    return _told(run for run_id in run_ids if (run := find_run(run_id).run) is not None)


def bundled_runs() -> list[ReadAndWrote]:
    """The recordings that come with the course; one that cannot be read is left out."""
    return _told(run for name in BUNDLED if (run := _recording(name)) is not None)


def _told(runs: Iterable[Run]) -> list[ReadAndWrote]:
    return [one for run in runs if (one := ReadAndWrote.of(run)) is not None]


def _recording(name: str) -> Run | None:
    try:
        return catalogue.recording(name)
    except (OSError, RecordError):
        return None
