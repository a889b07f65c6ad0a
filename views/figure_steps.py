"""The step table as a picture: a row for each request, a block for each of its parts in a step, time to scale.

Several playbacks stand under each other on one clock. Prefill is solid, decode hatched, waiting a thin grey bar; the
visitor's own request carries a mark and the word "you".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from engine.account.step_record import StepRow
from lessons.filters import milliseconds
from lessons.playback import Playback
from views.engine_words import told
from views.evidence import Evidence
from views.figure_panels import Panel, axis_number, panels_layout
from views.figure_style import FAINT, ON_COLOUR, Drawn, phase_pattern, whole_figure
from views.palette import COLOURS, Theme
from views.words import N_, Words, _

Doing = Literal["waits", "prefill", "decode"]
DOINGS: tuple[Doing, ...] = ("waits", "prefill", "decode")

SEPARATE, MOST_STEPS, WIDE_STEPS = 700, 150, 40
"""Up to so many parts, of so many steps, each part is a block of its own; beyond, neighbours that do the same become
one. Up to so many steps, blocks are wide enough for a line of a whole pixel between them.
"""
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
    parts = [part for of_one in _by_ticket(one).values() for part in of_one]
    return list(_joined(parts)) if merged else parts


def _by_ticket(one: Playback) -> dict[int, list[Stretch]]:
    """A wait is what lies between two parts (or before the first) while the table names the request as waiting."""
    found: dict[int, list[Stretch]] = {ticket: [] for ticket in one.arrivals}
    since, reasons = dict(one.arrivals), dict[int, str]()
    for row in one.rows:
        reasons |= {wait.ticket: wait.reason for wait in row.waiting}
        for share in row.shares:
            ticket = share.ticket
            if (parts := found.get(ticket)) is None:
                continue
            reason = reasons.pop(ticket, "")
            if row.start_ns > since[ticket] and (reason or not parts):
                parts.append(Stretch(ticket, "waits", since[ticket], row.start_ns, 0, 0, reason))
            parts.append(Stretch(ticket, share.phase, row.start_ns, row.end_ns, share.n_tokens, 1, ""))
            since[ticket] = row.end_ns
    return found


def _joined(parts: Iterable[Stretch]) -> Iterator[Stretch]:
    """Neighbours of one request that do the same become one; waits have reasons of their own."""
    for (_ticket, doing), same in groupby(parts, lambda part: (part.ticket, part.doing)):
        group = list(same)
        if doing == "waits":
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
    edge_px = _edge_px(playbacks)
    traces = [
        {**trace, "xaxis": f"x{axis_number(place)}", "yaxis": f"y{axis_number(place)}"}
        for place, one in enumerate(playbacks, start=1)
        for trace in _blocks(one, theme, own, edge_px=edge_px, legend=place == 1)
    ]
    layout = panels_layout(_panels(playbacks, own, since), min(0.5, 44 / _height(playbacks)), theme)
    layout |= {
        "barmode": "overlay", "bargap": 0.2, "showlegend": True, "margin": {"t": 52},
        "legend": {
            "orientation": "h", "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top",
            "itemclick": False, "font": {"size": 13},
        },
    }  # fmt: skip
    figure = whole_figure(traces, layout, theme, _height(playbacks))
    return Drawn(figure, title, describe(playbacks), evidence, how, step_table(playbacks), note=_left_out(playbacks))


def _edge_px(playbacks: Sequence[Playback]) -> float:
    """The line around every part of a step, a fine one where they are narrow; 0 where neighbours become one."""
    n_steps = max((len(one.rows) for one in playbacks), default=0)
    if n_steps > MOST_STEPS or sum(len(row.shares) for one in playbacks for row in one.rows) > SEPARATE:
        return 0
    return 1 if n_steps <= WIDE_STEPS else 0.5


def _panels(playbacks: Sequence[Playback], own: Collection[int], since: str | None) -> list[Panel]:
    """One for each playback, all on the clock of the last."""
    end_ms = max((one.end_ns for one in playbacks), default=0) / 1e6
    shared = {"range": [0, end_ms * 1.02 or 1.0]}
    last = axis_number(len(playbacks))
    panels = []
    for one in playbacks:
        labels = [row_label(ticket, own) for ticket in _shown(one)]
        rows = {
            "type": "category", "categoryorder": "array", "categoryarray": labels[::-1],
            "range": [-0.6, len(labels) - 0.4], "showgrid": False, "tickfont": {"size": 12},
        }  # fmt: skip
        clock = {"matches": f"x{last}", "showticklabels": False, **shared}
        panels.append(Panel(one.name, _n_rows(one), clock, rows))
    title = {"text": since or _("ms since the first request came")}
    return [*panels[:-1], panels[-1]._replace(x={"title": title, **shared})] if panels else []


def row_label(ticket: int, own: Collection[int]) -> str:
    """A request's name on the axis: its number at the engine."""
    return f"<b>▶ {_('you')} #{ticket}</b>" if ticket in own else f"#{ticket}"


def _shown(one: Playback) -> list[int]:
    return list(one.arrivals)[:MOST_ROWS]


def _n_rows(one: Playback) -> int:
    return max(2, len(_shown(one)))


def _height(playbacks: Sequence[Playback]) -> int:
    return 110 + sum(ROW_PX * _n_rows(one) + 30 for one in playbacks)


def _blocks(
    one: Playback, theme: Theme, own: Collection[int], *, edge_px: float, legend: bool
) -> Iterator[dict[str, Any]]:
    found = stretches(one, merged=not edge_px)
    for doing in DOINGS:
        parts = _shown_parts(one, found, doing)
        marker = _marker(doing, theme, edge_px)
        hatched = doing == "decode" and edge_px > 0
        yield {
            **_bars(parts, own, 0.22 if doing == "waits" else 0.82), "name": _NAMES[doing],
            "showlegend": legend and not hatched,
            "marker": marker if not hatched else marker | {"pattern": None},
            "customdata": [[part.ticket, part.n_steps, part.n_tokens, told(part.reason)] for part in parts],
            "hovertemplate": _HOVER[doing] + "<extra></extra>",
        }  # fmt: skip
        if hatched:
            yield _hatch(_shown_parts(one, _joined(found), doing), theme, own)
            if legend:  # a bar without a length, which looks as both together do
                yield {**_bars(parts[:1], own, 0), "x": [None], "name": _NAMES[doing], "marker": marker}


def _shown_parts(one: Playback, found: Iterable[Stretch], doing: Doing) -> list[Stretch]:
    shown = set(_shown(one))
    return [part for part in found if part.doing == doing and part.ticket in shown]


def _bars(parts: Sequence[Stretch], own: Collection[int], width: float) -> dict[str, Any]:
    return {
        "type": "bar", "orientation": "h", "width": width,
        "base": [part.start_ns / 1e6 for part in parts],
        "x": [(part.end_ns - part.start_ns) / 1e6 for part in parts],
        "y": [row_label(part.ticket, own) for part in parts],
    }  # fmt: skip


def _hatch(joined: Sequence[Stretch], theme: Theme, own: Collection[int]) -> dict[str, Any]:
    """The second sign of decode, over neighbouring parts at once: hundreds of hatched bars take Plotly twice as long as
    plain ones. Between the parts its lines have the colour of the ground.
    """
    pattern = {**phase_pattern("decode"), "fgcolor": ON_COLOUR[theme], "fgopacity": 0.5}
    marker = {"color": "rgba(0,0,0,0)", "line": {"width": 0}, "pattern": pattern}
    return {**_bars(joined, own, 0.82), "name": "", "showlegend": False, "hoverinfo": "skip", "marker": marker}


def _marker(doing: Doing, theme: Theme, edge_px: float) -> dict[str, Any]:
    if doing == "waits":
        return {"color": FAINT[theme], "opacity": 0.45, "line": {"width": 0}}
    line = {"width": edge_px, "color": ON_COLOUR[theme]}
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
