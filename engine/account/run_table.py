"""A run as tables for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from engine.account.cost import crossover_positions
from engine.account.metrics import Timings, timings
from engine.account.record import Emission, End, Error, Pass, Run, Token

EVIDENCE = {"measured": "measured here", "simulated": "simulated"}


def passes_table(run: Run) -> Table:
    """One row a pass: what went in, how long it took, what is held afterwards, and the token that came out with its
    odds.
    """
    header = run.header
    where = f"{header.device.name}, {header.device.threads} thread(s)"
    title = f"{header.model.name} on {where}, {EVIDENCE[header.evidence]}"
    table = Table(title=escape(title), title_justify="left", caption=_ending(run), caption_justify="left")
    for name in ("pass", "phase", "in", "ms", "KV held", "state held", "token out", "odds"):
        table.add_column(name, justify="left" if name in ("phase", "token out") else "right")
    for one in run.passes:
        table.add_row(*_row(one))
    return table


def timings_table(run: Run) -> Table:
    """The run's timings, prompt and output speed apart."""
    table = Table(show_header=False, title="timings", title_justify="left")
    for name, value in _figures(timings(run)):
        table.add_row(name, value)
    crossover = crossover_positions(run.header.model)
    if crossover is not None:
        table.add_row("KV cache reaches the size of the state at", f"{crossover:,} positions (computed)")
    return table


def _row(one: Pass) -> list[str]:
    return [
        str(one.number),
        one.phase,
        str(len(one.token_ids)),
        f"{(one.end_ns - one.start_ns) / 1e6:.2f}",
        _bytes(one.kv_bytes_held),
        _bytes(one.state_bytes_held),
        " ".join(escape(_quoted(emission.token)) for emission in one.emitted),
        " ".join(_odds(emission) for emission in one.emitted),
    ]


def _odds(emission: Emission) -> str:
    """The model's own probability of the token that was chosen; nothing for one that nobody computed."""
    return "" if emission.odds is None else f"{emission.odds:.1%}"


def _figures(t: Timings) -> list[tuple[str, str]]:
    n = len(t.itl_ns)
    return [
        ("passes", f"{t.n_passes} ({t.n_decode_passes} decode)"),
        ("queue", _ms(t.queue_ns)),
        ("prefill", _ms(t.prefill_ns)),
        ("time to first token", _ms(t.ttft_ns)),
        ("inter-token latency p50", f"{_ms(t.itl_p50_ns)} (n = {n})"),
        ("inter-token latency p95", f"{_ms(t.itl_p95_ns)} (n = {n})"),
        ("time per output token", _ms(t.tpot_ns)),
        ("end to end", _ms(t.e2e_ns)),
        ("prompt tokens a second", rate(t.prompt_tokens_per_s)),
        ("output tokens a second", rate(t.output_tokens_per_s)),
    ]


def _ending(run: Run) -> str:
    end = run.end
    if isinstance(end, Error):
        return escape(f"failed: {end.message}")
    words = {"stop": "end of text", "length": "token limit reached", "cancelled": "stopped on request"}
    return words[end.reason] if isinstance(end, End) else "not finished"


def _quoted(token: Token) -> str:
    """Printable on one line: control characters and line ends are written as escapes."""
    return repr(token.text)


def _bytes(count: int) -> str:
    return f"{count / 1024:,.1f} KiB"


def _ms(duration_ns: float | None) -> str:
    return "" if duration_ns is None else f"{duration_ns / 1e6:.2f} ms"


def rate(per_second: float | None) -> str:
    """Tokens a second: whole ones, of few also tenths; blank if unknown."""
    return "" if per_second is None else f"{per_second:,.{0 if per_second >= 10 else 1}f}"
