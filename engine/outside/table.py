"""A run from outside as tables for the shell."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from engine.account.outside_record import OutsideRun
from engine.account.outside_timings import outside_timings
from engine.account.run_table import rate

_MOST_ROWS = 40


def chunks_table(run: OutsideRun) -> Table:
    """One row a chunk, the first ones of a long run."""
    header = run.header
    title = f"{header.model} at {header.server}, /v1/{header.route}, measured from outside"
    table = Table(title=escape(title), title_justify="left", caption_justify="left")
    for name in ("chunk", "came after", "gap", "text"):
        table.add_column(name, justify="left" if name == "text" else "right")
    before = None
    for chunk in run.chunks[:_MOST_ROWS]:
        gap = "" if before is None else _ms(chunk.at_ns - before)
        table.add_row(str(chunk.number + 1), _ms(chunk.at_ns), gap, escape(repr(chunk.text)))
        before = chunk.at_ns
    if len(run.chunks) > _MOST_ROWS:
        table.caption = f"and {len(run.chunks) - _MOST_ROWS} more"
    return table


def figures_table(run: OutsideRun) -> Table:
    """The timings; blank is what cannot be known from here."""
    seen = outside_timings(run)
    n = len(seen.gaps_ns)
    each = "inter-token latency" if seen.one_token_each else "gap between chunks"
    table = Table(show_header=False, title="timings, network included", title_justify="left")
    for name, value in (
        ("chunks", str(seen.n_chunks)),
        ("prompt tokens, as counted there", _count(seen.prompt_tokens)),
        ("new tokens, as counted there", _count(seen.new_tokens)),
        ("time to first token", _ms(seen.ttft_ns)),
        (f"{each} p50", f"{_ms(seen.gap_p50_ns)} (n = {n})"),
        (f"{each} p95", f"{_ms(seen.gap_p95_ns)} (n = {n})"),
        ("time per output token", _ms(seen.tpot_ns)),
        ("end to end", _ms(seen.e2e_ns)),
        ("output tokens a second", rate(seen.output_tokens_per_s)),
        ("passes, memory, bytes, odds", "cannot be seen from outside"),
    ):
        table.add_row(name, value)
    return table


def _ms(duration_ns: float | None) -> str:
    return "" if duration_ns is None else f"{duration_ns / 1e6:.2f} ms"


def _count(n: int | None) -> str:
    return "" if n is None else f"{n:,}"
