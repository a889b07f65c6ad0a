"""A service report as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group as Together
from rich.table import Table

from engine.account.distribution import Distribution
from engine.account.service import ServiceReport

_WORDS = {"measured": "measured here", "simulated": "simulated"}


def service_tables(report: ServiceReport) -> Together:
    """Latencies overall, by prompt length and by concurrency; then what the whole service did, and the worst."""
    return Together(
        _overall(report), _by_length(report), _by_shared(report), _by_in_flight(report), _whole(report)
    )  # fmt: skip


def distribution_table(title: str, rows: Iterable[tuple[str, Distribution, float]]) -> Table:
    """One row a metric: n, percentiles, largest and mean, each value divided by its unit."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("n", "p50", "p90", "p99", "max", "mean"):
        table.add_column(name, justify="right")
    for name, values, unit in rows:
        shown = (values.p50, values.p90, values.p99, values.max, values.mean)
        table.add_row(name, f"{values.n:,}", *(number(value, unit) for value in shown))
    return table


def number(value: float | None, unit: float = 1.0) -> str:
    """Three digits or more; blank for what is not known."""
    if value is None:
        return ""
    scaled = value / unit
    return f"{scaled:,.0f}" if abs(scaled) >= 100 else f"{scaled:.3g}"


def _overall(report: ServiceReport) -> Table:
    found = report.finished.latencies
    how = ", ".join(_WORDS.get(one, one) for one in report.evidence)
    rows = [
        ("queue, ms", found.queue_ns, 1e6),
        ("prefill, ms", found.prefill_ns, 1e6),
        ("time to first token, ms", found.ttft_ns, 1e6),
        ("decode step, ms", found.decode_step_ns, 1e6),
        ("inter-token latency, ms", found.itl_ns, 1e6),
        ("time per output token, ms", found.tpot_ns, 1e6),
        ("end to end, ms", found.e2e_ns, 1e6),
        ("prompt speed, tokens/s a request", found.prompt_speed, 1.0),
        ("output speed, tokens/s a request", found.output_speed, 1.0),
    ]
    return distribution_table(f"{report.finished.n:,} finished requests; {how} by the engine", rows)


def _by_length(report: ServiceReport) -> Table:
    table = _grouped("by prompt length", "prompt tokens", ("ttft", "prefill", "inter-token"))
    for one in report.by_length:
        found = one.group.latencies
        _add(table, one.prompt_tokens.name, found.ttft_ns, found.prefill_ns, found.itl_ns)
    return table


def _by_shared(report: ServiceReport) -> Table:
    table = _grouped("by concurrency: requests in the step", "in the step", ("decode step", "inter-token"))
    for one in report.finished.by_shared:
        _add(table, one.shared_by.name, one.decode_step_ns, one.itl_ns)
    return table


def _by_in_flight(report: ServiceReport) -> Table:
    table = _grouped("by concurrency: others there at arrival", "others", ("ttft", "queue"))
    for one in report.finished.by_in_flight:
        _add(table, one.others.name, one.ttft_ns, one.queue_ns)
    return table


def _grouped(title: str, what: str, metrics: tuple[str, ...]) -> Table:
    table = Table(title=f"{title}; ms: p50 / p90 / p99 (n)", title_justify="left")
    table.add_column(what, justify="right")
    for metric in metrics:
        table.add_column(metric, justify="right")
    return table


def _add(table: Table, name: str, *columns: Distribution) -> None:
    table.add_row(name, *(_short(values) for values in columns))


def _short(values: Distribution) -> str:
    if not values.n:
        return ""
    shown = " / ".join(number(value, 1e6) for value in (values.p50, values.p90, values.p99))
    return f"{shown} ({values.n:,})"


def _whole(report: ServiceReport) -> Table:
    table = Table(show_header=False, title="the service", title_justify="left")
    for name, value in _facts(report):
        table.add_row(name, value)
    return table


def _facts(report: ServiceReport) -> list[tuple[str, str]]:
    did, good, worst, done = report.throughput, report.goodput, report.starved, report.work
    limits = (
        f"first token within {number(good.limits.ttft_ns, 1e6)} ms, then {number(good.limits.tpot_ns, 1e6)} ms each"
    )
    beyond = "" if worst.beyond_ttft_share is None else f" ({worst.beyond_ttft_share:.1%})"
    share = "" if good.share is None else f" ({good.share:.1%}, {number(good.good_per_s)} a second)"
    facts = [
        ("how runs ended", ", ".join(f"{count:,} {how}" for how, count in sorted(report.endings.items()))),
        ("refused", f"{report.refused:,}"),
        ("window, s", number(did.window_ns, 1e9)),
        ("prompt throughput, tokens/s", number(did.prompt_tokens_per_s)),
        ("output throughput, tokens/s", number(did.output_tokens_per_s)),
        ("finished requests/s", number(did.finished_per_s)),
        (f"goodput: {limits}", f"{good.good:,} of {good.judged:,}{share}"),
        ("worst first token, ms", number(worst.worst_ttft_ns, 1e6)),
        ("first token beyond its limit", f"{worst.beyond_ttft:,} of {report.n_runs:,}{beyond}"),
        ("never got a token", f"{worst.never_served:,}"),
        ("longest gap, ms", number(worst.worst_gap_ns, 1e6)),
        ("preemptions, tokens computed again", f"{done.preemptions:,}, {done.recomputed_positions:,}"),
    ]
    if done.sought_positions:
        facts.append(("prompt tokens reused", f"{done.reused_positions:,} of {done.sought_positions:,}"))
    if done.drafted_tokens:
        facts.append(("drafted tokens accepted", f"{done.accepted_tokens:,} of {done.drafted_tokens:,}"))
    if report.steps is not None and report.steps.planning_share is not None:
        facts.append(("scheduler's share of a step's time", f"{report.steps.planning_share:.1%}"))
    return facts
