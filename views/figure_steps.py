"""The step table as a picture: a row for each request, a block for each of its parts in a step, time to scale.

Several playbacks stand under each other on one clock. Prefill is solid, decode hatched, waiting a thin grey bar; the
visitor's own request carries a mark and the word "you".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.account.step_record import StepRow
from lessons.filters import milliseconds
from lessons.playback import Playback
from views.engine_words import told
from views.evidence import Evidence
from views.figure_style import FAINT, ON_COLOUR, TEXT, Drawn, phase_pattern, styled
from views.palette import COLOURS, Theme
from views.words import N_, Words, _

Doing = Literal["waits", "prefill", "decode"]
DOINGS: tuple[Doing, ...] = ("waits", "prefill", "decode")

SEPARATE = 700
"""Up to so many parts of steps, each is a block of its own; beyond, neighbours that do the same become one."""
ROW_PX = 21
MOST_ROWS = 24
"""Requests drawn of each playback; the table has all."""


class Stretch(NamedTuple):
    """What one request did from one instant to another; nanoseconds."""

    ticket: int
    doing: Doing
    start_ns: int
    end_ns: int
    n_tokens: int
    n_steps: int
    reason: str


def stretches(one: Playback, *, merged: bool) -> list[Stretch]:
    """Everything that each request did and waited for, in order of time within a request."""
    return [part for ticket in one.arrivals for part in _joined(_of_ticket(one, ticket), merged)]


def _of_ticket(one: Playback, ticket: int) -> Iterator[Stretch]:
    """A wait is what lies between two parts (or before the first) while the table names the request as waiting."""
    since, reason = one.arrivals[ticket], ""
    begun = False
    for row in one.rows:
        reason = next((wait.reason for wait in row.waiting if wait.ticket == ticket), reason)
        share = next((share for share in row.shares if share.ticket == ticket), None)
        if share is None:
            continue
        if row.start_ns > since and (reason or not begun):
            yield Stretch(ticket, "waits", since, row.start_ns, 0, 0, reason)
        yield Stretch(ticket, share.phase, row.start_ns, row.end_ns, share.n_tokens, 1, "")
        since, reason, begun = row.end_ns, "", True


def _joined(parts: Iterable[Stretch], merged: bool) -> Iterator[Stretch]:
    for doing, same in groupby(parts, lambda part: part.doing):
        group = list(same)
        if doing == "waits" or not merged:
            yield from group
            continue
        tokens, steps = sum(part.n_tokens for part in group), sum(part.n_steps for part in group)
        yield group[0]._replace(end_ns=group[-1].end_ns, n_tokens=tokens, n_steps=steps)


def steps_figure(
    playbacks: Sequence[Playback],
    theme: Theme,
    *,
    own: Collection[int],
    evidence: Evidence,
    how: str,
    title: str,
    since: str | None = None,
) -> Drawn:
    """One playback or several under each other. `own` are the tickets of the visitor's requests, `since` says what the
    clock counts from.
    """
    figure = make_subplots(
        rows=len(playbacks), cols=1, shared_xaxes=True, vertical_spacing=min(0.5, 44 / _height(playbacks)),
        row_heights=[_n_rows(one) for one in playbacks], subplot_titles=[one.name for one in playbacks],
    )  # fmt: skip
    for place, one in enumerate(playbacks, start=1):
        for trace in _blocks(one, theme, own, legend=place == 1):
            figure.add_trace(trace, row=place, col=1)
    styled(figure, theme, _height(playbacks))
    figure.update_layout(
        barmode="overlay", bargap=0.2, showlegend=True, margin_t=52,
        legend={
            "orientation": "h", "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top",
            "itemclick": False, "font": {"size": 13},
        },
    )  # fmt: skip
    end_ms = max((one.end_ns for one in playbacks), default=0) / 1e6
    figure.update_xaxes(range=[0, end_ms * 1.02 or 1.0])
    figure.update_xaxes(title_text=since or _("ms since the first request came"), row=len(playbacks), col=1)
    for place, one in enumerate(playbacks, start=1):
        labels = [row_label(ticket, own) for ticket in _shown(one)]
        figure.update_yaxes(
            type="category", categoryorder="array", categoryarray=labels[::-1], range=[-0.6, len(labels) - 0.4],
            showgrid=False, tickfont_size=12, row=place, col=1,
        )  # fmt: skip
    # The headings of the parts, which make_subplots puts in the middle.
    figure.update_annotations(x=0, xanchor="left", font={"size": 14, "color": TEXT[theme]})
    return Drawn(figure, title, describe(playbacks), evidence, how, step_table(playbacks), note=_left_out(playbacks))


def row_label(ticket: int, own: Collection[int]) -> str:
    """A request's name on the axis: its number at the engine."""
    return f"<b>▶ {_('you')} #{ticket}</b>" if ticket in own else f"#{ticket}"


def _shown(one: Playback) -> list[int]:
    return list(one.arrivals)[:MOST_ROWS]


def _n_rows(one: Playback) -> int:
    return max(2, len(_shown(one)))


def _height(playbacks: Sequence[Playback]) -> int:
    return 110 + sum(ROW_PX * _n_rows(one) + 30 for one in playbacks)


def _blocks(one: Playback, theme: Theme, own: Collection[int], *, legend: bool) -> Iterator[go.Bar]:
    shown = set(_shown(one))
    n_parts = sum(len(row.shares) for row in one.rows)
    found = [part for part in stretches(one, merged=n_parts > SEPARATE) if part.ticket in shown]
    for doing in DOINGS:
        parts = [part for part in found if part.doing == doing]
        yield go.Bar(
            name=_NAMES[doing], legendgroup=doing, showlegend=legend, orientation="h",
            base=[part.start_ns / 1e6 for part in parts],
            x=[(part.end_ns - part.start_ns) / 1e6 for part in parts],
            y=[row_label(part.ticket, own) for part in parts],
            width=0.22 if doing == "waits" else 0.82,
            marker=_marker(doing, theme, separate=n_parts <= SEPARATE),
            customdata=[[part.ticket, part.n_steps, part.n_tokens, told(part.reason)] for part in parts],
            hovertemplate=_HOVER[doing] + "<extra></extra>",
        )  # fmt: skip


def _marker(doing: Doing, theme: Theme, *, separate: bool) -> dict[str, Any]:
    if doing == "waits":
        return {"color": FAINT[theme], "opacity": 0.45, "line": {"width": 0}}
    line = {"width": 1 if separate else 0, "color": ON_COLOUR[theme]}
    return {"color": COLOURS[theme][doing], "line": line, "pattern": phase_pattern(doing)}


_NAMES: Words[Doing] = Words({"waits": N_("waits"), "prefill": N_("prefill"), "decode": N_("decode")})
_HOVER: Words[Doing] = Words(
    {
        "waits": N_("#%{customdata[0]} waits %{x:.2f} ms<br>%{customdata[3]}"),
        "prefill": N_("#%{customdata[0]} prefill, %{x:.2f} ms<br>steps: %{customdata[1]}, tokens in: %{customdata[2]}"),
        "decode": N_("#%{customdata[0]} decode, %{x:.2f} ms<br>steps: %{customdata[1]}, tokens in: %{customdata[2]}"),
    }
)


def describe(playbacks: Sequence[Playback]) -> str:
    """What the picture shows, for whoever cannot see it."""
    return " ".join(
        _("{name}: {n} requests in {steps} steps, ended after {time}.").format(
            name=one.name, n=len(one.arrivals), steps=len(one.rows), time=milliseconds(one.end_ns)
        )
        for one in playbacks
    )


def _left_out(playbacks: Sequence[Playback]) -> str:
    hidden = max(len(one.arrivals) for one in playbacks) - MOST_ROWS
    return _("{n} more requests are in the table below.").format(n=hidden) if hidden > 0 else ""


def step_table(playbacks: Sequence[Playback]) -> dict[str, list[object]]:
    """Every step a row: who took part with what, memory in use, who waited and why."""
    rows = [(one.name, row) for one in playbacks for row in one.rows]
    table: dict[str, list[object]] = {
        _("engine"): [name for name, _row in rows],
        _("step"): [row.number + 1 for _name, row in rows],
        _("start (ms)"): [round(row.start_ns / 1e6, 3) for _name, row in rows],
        _("duration (ms)"): [round((row.end_ns - row.start_ns) / 1e6, 3) for _name, row in rows],
        _("prefill: #request (tokens)"): [shares_in_words(row, "prefill") for _name, row in rows],
        _("decode: #request"): [shares_in_words(row, "decode") for _name, row in rows],
        _("tokens in"): [sum(share.n_tokens for share in row.shares) for _name, row in rows],
        _("KV pages used"): [row.pages_used for _name, row in rows],
        _("state slots used"): [row.slots_used for _name, row in rows],
        _("waiting, and why"): [waits_in_words(row) for _name, row in rows],
    }
    if len(playbacks) == 1:
        del table[_("engine")]
    return table


def shares_in_words(row: StepRow, phase: str) -> str:
    """Who did this in a step: "#3 (64), #5 (12)" for prompts, "#1, #2" for decodes of one token."""
    parts = [share for share in row.shares if share.phase == phase]
    return ", ".join(
        f"#{share.ticket}" if share.phase == "decode" and share.n_tokens == 1 else f"#{share.ticket} ({share.n_tokens})"
        for share in parts
    )


def waits_in_words(row: StepRow) -> str:
    """Who waited and why, neighbours with one reason together: "#4: the step is full; #5, #6: others are before it"."""
    by_reason = [
        (reason, [f"#{wait.ticket}" for wait in same])
        for reason, same in groupby(row.waiting, lambda wait: wait.reason)
    ]
    return "; ".join(f"{', '.join(tickets)}: {told(reason)}" for reason, tickets in by_reason)
