"""A load test as tables for a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from engine.account.service_table import distribution_table
from engine.serve.load_plan import LoadOptions
from engine.serve.load_result import LoadResult


def request_table(result: LoadResult) -> Table:
    """What was asked for, and that every request is accounted for."""
    table = Table(show_header=False, title=escape(_loop(result.options)), title_justify="left")
    planned = "" if result.planned is None else f" of {result.planned:,} planned"
    stopped = ", interrupted" if result.interrupted else ""
    table.add_row("sent", f"{result.sent:,}{planned}{stopped}")
    table.add_row("ran to an end", f"{result.ran:,}")
    table.add_row("refused", _reasons(result.refused))
    table.add_row("connection lost", _reasons(result.lost))
    if result.cut:
        table.add_row("under way at the interruption", f"{result.cut:,}")
    if result.cancelled_by_plan:
        table.add_row("users who were to leave early", f"{result.cancelled_by_plan:,}")
    if result.cut_lengths:
        table.add_row("lengths cut to the model's context", f"{result.cut_lengths:,}")
    if result.opening_tokens:
        table.add_row("tokens of a shared beginning", f"{result.opening_tokens:,}")
    return table


def client_table(result: LoadResult) -> Table:
    """The same requests on this program's clock."""
    seen = result.client
    rows = [
        ("sending to the first token, ms", seen.ttft_ns, 1e6),
        ("between arrivals of tokens, ms", seen.gap_ns, 1e6),
        ("sending to the last token, ms", seen.e2e_ns, 1e6),
    ]
    if result.options.open_loop:
        rows.append(("sent later than planned, ms", seen.lag_ns, 1e6))
    return distribution_table("as this client saw it, the way there and back included; measured here", rows)


def _loop(options: LoadOptions) -> str:
    if options.workload is not None:
        return f"open loop, recorded workload {options.workload}, {options.speed:g} times as fast; seed {options.seed}"
    if options.rate is not None:
        kind = f"open loop, {options.rate:g} requests/s, {options.arrivals}"
    else:
        pause = f", {options.think_s:g} s of thought" if options.think_s else ""
        kind = f"closed loop, {options.users} user{'' if options.users == 1 else 's'}{pause}"
    return f"{kind}; lengths: {options.lengths}; seed {options.seed}"


def _reasons(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items())) or "0"
