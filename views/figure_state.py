"""Figures of a recurrent state: how long each head keeps, what every token did to one, where a planted name lives."""

from __future__ import annotations

import math
import statistics

import numpy as np
import plotly.graph_objects as go

from engine.account.trace_record import TraceRecord
from lessons.filters import significant
from lessons.recall import Place, Recall
from views.figure_style import FAINT, TEXT, Drawn, styled
from views.palette import COLOURS, Theme
from views.safe_text import code_span, plotly_text, token_label
from views.state_changes import LONGEST_HALF_LIFE, HeadKeeps, changes, heads_keep, longest
from views.words import N_, _

MARKED = (50, 500)
"""Distances, in tokens, that the lesson asks about."""
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star", "hexagon")
_LABELLED_TOKENS = 48


def heads_figure(trace: TraceRecord, theme: Theme, *, recorded: bool) -> Drawn:
    """The half-life of every DeltaNet head, layer by layer, on a logarithmic axis."""
    heads = heads_keep(trace)
    layers = sorted({one.layer for one in heads})
    figure = go.Figure()
    for head in sorted({one.head for one in heads}):
        figure.add_trace(_dots([one for one in heads if one.head == head], head, layers, theme))
    styled(figure, theme, height=330)
    for distance in MARKED:
        figure.add_hline(y=distance, line_dash="dash", line_color=FAINT[theme], line_width=1)
        # On a logarithmic axis a line stands at its number, but a note at the number's logarithm.
        figure.add_annotation(
            x=1, xref="paper", y=math.log10(distance), text=_("{n} tokens").format(n=distance), showarrow=False,
            font={"color": FAINT[theme]}, xanchor="right", yanchor="bottom",
        )  # fmt: skip
    low = min(one.half_life for one in heads)
    figure.update_yaxes(
        type="log", title_text=_("half-life, tokens"), tickformat="~g", dtick=1,
        range=[math.floor(math.log10(low)), math.log10(max(MARKED[-1], longest(heads).half_life) * 2.5)],
    )  # fmt: skip
    figure.update_xaxes(tickvals=list(range(len(layers))), ticktext=[_("layer {n}").format(n=n + 1) for n in layers])
    figure.update_xaxes(range=[-0.5, len(layers) - 0.5], showgrid=False)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    return Drawn(
        spec=figure,
        title=_("How long each head keeps"),
        description=_("Half-lives of {n} heads, from {low} to {high} tokens.").format(
            n=len(heads), low=significant(low, 2), high=significant(longest(heads).half_life, 2)
        ),
        evidence="recorded" if recorded else "instrumented",
        how=_(
            "At each token a head multiplies its state by its decay. The decays were read while {n} tokens went "
            "through once more, on {machine}; the half-life is that of their geometric mean. It says when decay alone "
            "has halved what was written. Later writes can erase it sooner. Decays travel in half precision, so "
            "half-lives beyond {most} tokens cannot be told."
        ).format(n=len(trace.tokens), machine=code_span(trace.device.name), most=f"{LONGEST_HALF_LIFE:,.0f}"),
        table={
            _("layer"): [one.layer + 1 for one in heads],
            _("head"): [one.head + 1 for one in heads],
            _("half-life (tokens)"): [round(one.half_life, 2) for one in heads],
            _("left after {n} tokens").format(n=MARKED[0]): [one.share_after(MARKED[0]) for one in heads],
            _("left after {n} tokens").format(n=MARKED[1]): [one.share_after(MARKED[1]) for one in heads],
        },
    )


def _dots(heads: list[HeadKeeps], head: int, layers: list[int], theme: Theme) -> go.Scatter:
    return go.Scatter(
        name=_("head {n}").format(n=head + 1), mode="markers",
        x=[layers.index(one.layer) for one in heads], y=[one.half_life for one in heads],
        marker={"size": 11, "symbol": SYMBOLS[head % len(SYMBOLS)], "color": COLOURS[theme]["state"],
                "line": {"width": 1, "color": TEXT[theme]}},
        hovertemplate=_("%{x}: %{y:.2g} tokens"),
    )  # fmt: skip


def changes_figure(trace: TraceRecord, theme: Theme, *, recorded: bool) -> Drawn | None:
    """What every token faded, erased and wrote in the traced head; None where not every state was kept."""
    told = changes(trace)
    if not told:
        return None
    labels = [token_label(trace.tokens[one.token_index].text) for one in told]
    parts = {
        _("faded"): ([one.faded for one in told], FAINT[theme], "."),
        _("erased"): ([one.erased for one in told], TEXT[theme], "x"),
        _("written"): ([one.written for one in told], COLOURS[theme]["state"], ""),
    }
    figure = go.Figure()
    for name, (lengths, colour, shape) in parts.items():
        pattern = {"shape": shape, "fillmode": "overlay", "size": 6, "solidity": 0.25}
        marker = {"color": colour, "pattern": pattern}
        figure.add_trace(
            go.Bar(name=name, x=list(range(len(told))), y=lengths, marker=marker, hovertemplate="%{y:.3f}")
        )
    styled(figure, theme, height=330)
    figure.update_layout(
        showlegend=True, barmode="group", bargap=0.25, hovermode="x unified",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    figure.update_yaxes(title_text=_("length of the change"), rangemode="tozero")
    if len(told) <= _LABELLED_TOKENS:
        ticks = [plotly_text(label, longest=12) for label in labels]
        figure.update_xaxes(tickvals=list(range(len(told))), ticktext=ticks, tickangle=-60)
    figure.update_xaxes(showgrid=False, range=[-0.6, len(told) - 0.4])
    return Drawn(
        spec=figure,
        title=_("What each token did to head {head} of layer {layer}").format(
            head=trace.state.head + 1, layer=trace.state.layer + 1
        ),
        description=_("Bars for {n} tokens: how much of the state each faded, erased and wrote.").format(n=len(told)),
        evidence="recorded" if recorded else "instrumented",
        how=_(_HOW_CHANGES),
        table={
            _("token"): labels,
            _("state found"): [round(one.before, 4) for one in told],
            _("faded"): [round(one.faded, 4) for one in told],
            _("erased"): [_rounded(one.erased) for one in told],
            _("written"): [_rounded(one.written) for one in told],
        },
    )


_HOW_CHANGES = N_(
    "The head's state was copied out after every token of an instrumented second pass, rounded to 8 bits a number. "
    "Each bar is the length (root of the sum of squares) of one part of the change. Faded: one minus the decay, times "
    "the state. Then the delta rule takes out what the state holds for this token's key, as far as the write strength "
    "goes: erased. And it puts in the new value: written. The key is the direction of the change itself. Where a "
    "change is too small to stand out from the rounding, its parts are left blank."
)


def recall_figure(recall: Recall, theme: Theme) -> Drawn:
    """How far the odds of a planted name move, by distance, with both memories and with each alone."""
    lines = (
        (_("both memories"), "both", TEXT[theme], "circle-open", "solid", 15),
        (_("KV cache alone"), "cache_alone", COLOURS[theme]["kv"], "square", "dash", 8),
        (_("states alone"), "state_alone", COLOURS[theme]["state"], "diamond", "dot", 9),
    )
    figure = go.Figure()
    for name, kind, colour, symbol, dash, size in lines:
        means = [statistics.fmean(getattr(place, kind)) for place in recall.places]
        spread = [np.quantile(getattr(place, kind), [0.25, 0.75]) for place in recall.places]
        figure.add_trace(
            go.Scatter(
                name=name, x=[place.distance for place in recall.places], y=means, mode="lines+markers",
                line={"color": colour, "dash": dash, "width": 2},
                marker={"symbol": symbol, "size": size, "color": colour, "line": {"width": 2, "color": colour}},
                error_y={
                    "symmetric": False, "thickness": 1, "width": 3, "color": colour,
                    "array": [high - mean for mean, (_low, high) in zip(means, spread, strict=True)],
                    "arrayminus": [mean - low for mean, (low, _high) in zip(means, spread, strict=True)],
                },
                hovertemplate="%{y:.2f}",
            )
        )  # fmt: skip
    styled(figure, theme, height=340)
    figure.update_layout(
        showlegend=True, hovermode="x unified", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    figure.update_xaxes(title_text=_("tokens since the name"), range=[0, recall.places[-1].distance * 1.05])
    top = max(float(np.quantile(place.both, 0.75)) for place in recall.places)
    figure.update_yaxes(title_text=_("shift of ln(odds)"), range=[-0.06 * top, 1.08 * top])
    return Drawn(
        spec=figure,
        title=_("Which memory holds the name?"),
        description=_recall_description(recall),
        evidence="recorded",
        how=_(
            "Texts that differ in a planted name alone were read up to the place where the name is asked for. There "
            "the two memories were exchanged: the KV cache of one text with the states of the other. Shown is how far "
            "the odds of the planted name moved against those of the other name, in natural logarithm: {one} means the "
            "ratio of the odds is {e} times as large. Means over {n} ordered pairs of {names} names; the whiskers are "
            "the middle half. Taken with this project's engine on {day} (`python -m benchmarks.recall`)."
        ).format(
            one=1, e=significant(math.e, 2), n=len(recall.places[0].both), names=len(recall.names),
            day=code_span(recall.created[:10]),
        ),
        table={
            _("tokens since the name"): [place.distance for place in recall.places],
            _("both memories"): [_mean(place.both) for place in recall.places],
            _("KV cache alone"): [_mean(place.cache_alone) for place in recall.places],
            _("states alone"): [_mean(place.state_alone) for place in recall.places],
            _("ratio of odds, times"): [significant(math.exp(_mean(place.both)), 2) for place in recall.places],
        },
    )  # fmt: skip


def mean_effect(place: Place) -> tuple[float, float, float]:
    """Means over the pairs: both memories, the cache alone, the states alone."""
    return _mean(place.both), _mean(place.cache_alone), _mean(place.state_alone)


def _recall_description(recall: Recall) -> str:
    near, far = recall.places[0], recall.places[-1]
    return _("Shift of the name's log odds: {near} after {n} tokens, {far} after {m}.").format(
        near=significant(_mean(near.both), 2), n=near.distance, far=significant(_mean(far.both), 2), m=far.distance
    )


def _mean(values: list[float]) -> float:
    return round(statistics.fmean(values), 4)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
