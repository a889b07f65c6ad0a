"""A run from outside with round times: nine tokens in three chunks."""

from __future__ import annotations

from engine.account.outside_record import Chunk, Counted, OutsideHeader, OutsideRun
from engine.account.record import End, Sampling


def seen_run(**changes: str) -> OutsideRun:
    """Chunks after 100, 130 and 180 ms."""
    asked = {"prompt": "Once upon a time", "model": "llama", "server": "gpu.example:8000"} | changes
    return OutsideRun(
        [
            OutsideHeader(
                index=0, run_id="2" * 32, created="2026-11-30T05:00:00.000+00:00", route="completions",
                sampling=Sampling(temperature=0.7, max_new_tokens=9), client_version="test", **asked,
            ),
            Chunk(1, 0, 100_000_000, ", there"),
            Chunk(2, 1, 130_000_000, " was <b>a</b>"),
            Chunk(3, 2, 180_000_000, " fox."),
            Counted(4, 180_500_000, 5, 9),
            End(5, "length", 180_900_000),
        ]
    )  # fmt: skip
