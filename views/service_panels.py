"""A service report on a page: what the mean says, what it hides, percentiles by prompt length and by concurrency."""

from __future__ import annotations

from engine.account.distribution import Bucket
from engine.account.service import ServiceReport
from lessons.filters import milliseconds, significant
from views.cards import Card, show_cards
from views.evidence import Evidence
from views.figure_percentiles import Panel, percentiles_figure
from views.figure_style import Drawn
from views.palette import Theme
from views.words import N_, _, ngettext


def range_in_words(bucket: Bucket) -> str:
    """A range of whole numbers: "3 to 4", "8,193 and more"."""
    if bucket.high is None:
        return _("{n} and more").format(n=f"{bucket.low:,}")
    low, high = f"{bucket.low:,}", f"{bucket.high:,}"
    return low if low == high else _("{low} to {high}").format(low=low, high=high)


def _others(bucket: Bucket) -> str:
    most = bucket.low if bucket.high is None else bucket.high
    return ngettext("{n} other", "{n} others", most).format(n=range_in_words(bucket))


def first_tokens(report: ServiceReport, theme: Theme, *, evidence: Evidence, how: str) -> Drawn:
    """Waits until the first token: its two parts, by prompt length, and by how many others were there."""
    found = report.finished.latencies
    mean = found.ttft_ns.mean
    lengths = [
        (_("{n} tokens").format(n=range_in_words(one.prompt_tokens)), one.group.latencies.ttft_ns)
        for one in report.by_length
    ]
    others = [(_others(one.others), one.ttft_ns) for one in report.finished.by_in_flight]
    parts = [(_("queue"), found.queue_ns), (_("prefill"), found.prefill_ns)]
    panels = [
        Panel(_("queue and prefill apart"), "prefill", parts),
        Panel(_("all, and by prompt length"), "prefill", [(_("all"), found.ttft_ns), *lengths], mean),
        Panel(_("by others there at arrival"), "prefill", others, mean),
    ]
    return percentiles_figure(
        panels,
        theme,
        title=_("How long people wait for the first token"),
        evidence=evidence,
        how=f"{how}\n\n{_(_HOW)}",
    )


def gaps(report: ServiceReport, theme: Theme, *, evidence: Evidence, how: str) -> Drawn | None:
    """Gaps between tokens, by how many shared the step; None where nobody got a second token."""
    found = report.finished
    if not found.latencies.itl_ns.n:
        return None
    panel = Panel(
        _("all gaps, and by requests in the step"), "decode",
        [
            (_("all"), found.latencies.itl_ns),
            *((_("{n} in the step").format(n=range_in_words(one.shared_by)), one.itl_ns) for one in found.by_shared),
        ],
        found.latencies.itl_ns.mean,
    )  # fmt: skip
    return percentiles_figure(
        [panel], theme, title=_("How evenly it flows"), evidence=evidence, how=f"{how}\n\n{_(_HOW)}"
    )


_HOW = N_(
    "Percentiles are nearest-rank: each is a value that somebody got. Under a hundred values the 99th is simply the "
    "worst. Only requests that came to their own end are in them; how the others ended is counted apart. The dotted "
    "line is the mean of all."
)


def show_report(report: ServiceReport) -> None:
    """The mean, beside what it hides; what is not known has no card."""
    found, worst, good = report.finished.latencies, report.starved, report.goodput
    limits = good.limits
    served = _("within {ttft} and {tpot} a token").format(
        ttft=milliseconds(limits.ttft_ns), tpot=milliseconds(limits.tpot_ns)
    )
    over = ngettext("over {n} request", "over {n} requests", found.ttft_ns.n)
    cards = [
        (_("Mean time to first token"), _ms(found.ttft_ns.mean), over.format(n=found.ttft_ns.n)),
        (_("Half of them within"), _ms(found.ttft_ns.p50), _("p50")),
        (_("99 of 100 within"), _ms(found.ttft_ns.p99), _("p99")),
        (_("The worst of all"), _ms(worst.worst_ttft_ns), _("nobody's mean")),
        (_("Served well"), None if good.share is None else f"{good.share:.0%}", served),
        (_("Tokens a second of all"), _rate(report.throughput.output_tokens_per_s), _("the whole service")),
    ]
    show_cards([Card(*one) for one in cards if one[1] is not None])


def _ms(value: float | None) -> str | None:
    return None if value is None else milliseconds(value)


def _rate(value: float | None) -> str | None:
    return None if value is None else significant(value)


def results(report: ServiceReport) -> dict[str, float | int | None]:
    """What prose and questions may use."""
    found, worst = report.finished.latencies, report.starved
    shortest, longest = report.by_length[0], report.by_length[-1]
    return {
        "requests": report.n_runs,
        "queue_mean": found.queue_ns.mean,
        "queue_p99": found.queue_ns.p99,
        "prefill_p50": found.prefill_ns.p50,
        "prefill_p99": found.prefill_ns.p99,
        "ttft_mean": found.ttft_ns.mean,
        "ttft_p50": found.ttft_ns.p50,
        "ttft_p90": found.ttft_ns.p90,
        "ttft_p99": found.ttft_ns.p99,
        "ttft_worst": worst.worst_ttft_ns,
        "gap_mean": found.itl_ns.mean,
        "gap_p50": found.itl_ns.p50,
        "gap_p99": found.itl_ns.p99,
        "gap_worst": worst.worst_gap_ns,
        "short_ttft_p50": shortest.group.latencies.ttft_ns.p50,
        "long_ttft_p50": longest.group.latencies.ttft_ns.p50,
        "beyond": worst.beyond_ttft,
        "limit": report.goodput.limits.ttft_ns,
        "good_share": report.goodput.share,
        "rate": report.throughput.output_tokens_per_s,
    }
