"""Figures of the instrumented second pass: a head's state, what it does at each token, and the time in each layer."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from engine.account.record import Phase
from engine.account.trace_record import TraceRecord
from lessons.filters import milliseconds, significant
from views.figure_style import Drawn, phase_pattern, styled
from views.palette import COLOURS, Theme
from views.safe_text import code_span, plotly_text, token_label
from views.trace_arrays import head_gates, layer_times_ns, state_frames
from views.words import _

ZERO: dict[Theme, str] = {"light": "#f8fafc", "dark": "#111831"}
NEGATIVE: dict[Theme, str] = {"light": "#334155", "dark": "#cbd5e1"}

_LABELLED_TOKENS = 48


def state_figure(trace: TraceRecord, frame: int, theme: Theme) -> Drawn:
    """The state matrix after the token of one frame, in colours symmetric about 0.

    The colours span this frame's own numbers: a head that forgets at once would else be blank after most tokens. The
    note says how large they are beside the largest after any token.
    """
    frames = state_frames(trace.state)
    here, ever = float(np.abs(frames[frame]).max()), float(np.abs(frames).max())
    largest = here or 1.0
    after = token_label(trace.tokens[trace.state.token_indices[frame]].text)
    figure = go.Figure(
        go.Heatmap(
            z=frames[frame],
            zmin=-largest, zmax=largest,
            colorscale=[[0, NEGATIVE[theme]], [0.5, ZERO[theme]], [1, COLOURS[theme]["state"]]],
            colorbar={"thickness": 12, "outlinewidth": 0, "tickformat": ".2~g", "nticks": 5},
            hovertemplate=_("value {y}, key {x}: {z}").format(y="%{y}", x="%{x}", z="%{z:.3g}") + "<extra></extra>",
        )
    )  # fmt: skip
    styled(figure, theme, height=340)
    figure.update_xaxes(title_text=_("key dimension"), showgrid=False, constrain="domain", nticks=6)
    figure.update_yaxes(
        title_text=_("value dimension"),
        showgrid=False,
        autorange="reversed",
        scaleanchor="x",
        constrain="domain",
        nticks=6,
    )
    return Drawn(
        spec=figure,
        title=_("State of layer {layer}, head {head}").format(layer=trace.state.layer + 1, head=trace.state.head + 1),
        description=_("Heat map of a state matrix after the token {token}.").format(token=repr(after)),
        note=_("The largest number in this state is {here}; after any token of this run, {ever}.").format(
            here=significant(here, 2), ever=significant(ever, 2)
        ),
        evidence="instrumented",
        how=_how_state(trace),
        table=_state_table(trace, frames),
    )


def gates_figure(trace: TraceRecord, theme: Theme) -> Drawn:
    """Decay and write strength of the traced head at every token, both between 0 and 1."""
    gates = head_gates(trace, trace.state.layer, trace.state.head)
    places = list(range(len(trace.tokens)))
    figure = go.Figure()
    figure.add_trace(
        go.Bar(
            x=places, y=gates.write_strength, name=_("write strength β"), opacity=0.55,
            marker={"color": COLOURS[theme]["state"]}, hovertemplate="%{y:.3f}",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=places, y=gates.decay, name=_("kept share exp(g)"), mode="lines+markers",
            line={"color": NEGATIVE[theme], "width": 2, "dash": "dot"}, hovertemplate="%{y:.3f}",
        )
    )  # fmt: skip
    styled(figure, theme, height=340)
    figure.update_layout(
        showlegend=True, hovermode="x unified", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    figure.update_yaxes(range=[0, 1.04])
    _label_tokens(figure, trace)
    return Drawn(
        spec=figure,
        title=_("What this head does at each token"),
        description=_("Write strength and kept share of the state at {n} tokens.").format(n=len(places)),
        evidence="instrumented",
        how=_(
            "At each token the head multiplies its state by exp(g), the share it keeps, and then writes β times the "
            "difference between the new value and what the state already held for this key. Both were read from the "
            "model while the same tokens went through once more, one at a time."
        ),
        table={
            _("token"): [token_label(token.text) for token in trace.tokens],
            _("kept share exp(g)"): [round(float(one), 4) for one in gates.decay],
            _("write strength β"): [round(float(one), 4) for one in gates.write_strength],
        },
    )


def layer_times_figure(trace: TraceRecord, theme: Theme) -> Drawn:
    """Time in each layer: the prefill, and the median of the decodes."""
    labels = [
        f"{number} {_('attention') if kind == 'full_attention' else _('DeltaNet')}"
        for number, kind in enumerate(trace.layer_types, 1)
    ]
    figure = go.Figure()
    table: dict[str, list[object]] = {_("layer"): list(labels)}
    names: dict[Phase, str] = {"prefill": _("prefill"), "decode": _("decode, median of {n}")}
    for phase, name in names.items():
        passes = [one for one in trace.passes if one.phase == phase]
        if not passes:
            continue
        times_ms = layer_times_ns(passes) / 1e6
        marker = {"color": COLOURS[theme][phase], "pattern": phase_pattern(phase)}
        figure.add_trace(
            go.Bar(name=name.format(n=len(passes)), x=labels, y=times_ms, marker=marker, hovertemplate="%{y:.3f} ms")
        )
        table[_("{phase} (ms)").format(phase=phase)] = [round(float(one), 4) for one in times_ms]
    styled(figure, theme, height=300)
    figure.update_layout(
        showlegend=True, barmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    figure.update_yaxes(title_text="ms", rangemode="tozero")
    return Drawn(
        spec=figure,
        title=_("Time in each layer"),
        description=_("Bars: the time that each of {n} layers takes.").format(n=len(labels)),
        evidence="instrumented",
        how=_(
            "The run's passes were repeated with the clock read before and after every layer. Reading it costs time "
            "itself, so the sum is more than an undisturbed pass takes. Layers: {total} for the prefill."
        ).format(total=_prefill_total(trace)),
        table=table,
    )


def _label_tokens(figure: go.Figure, trace: TraceRecord) -> None:
    texts = [plotly_text(token_label(token.text), longest=12) for token in trace.tokens]
    if len(texts) <= _LABELLED_TOKENS:
        figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, tickangle=-60)
    else:
        figure.update_xaxes(title_text=_("token number, from 0"))
        figure.update_traces(text=texts, hovertemplate="%{text}: %{y:.3f}")
    figure.update_xaxes(showgrid=False, range=[-0.6, len(texts) - 0.4])


def _prefill_total(trace: TraceRecord) -> str:
    first = [one for one in trace.passes if one.phase == "prefill"]
    return milliseconds(sum(sum(one.layer_ns) for one in first)) if first else "-"


def _how_state(trace: TraceRecord) -> str:
    state = trace.state
    every = (
        _("Kept after every token.") if state.stride == 1 else _("Kept after every {n}th token.").format(n=state.stride)
    )
    return _(
        "The state matrix ({values} × {keys} numbers) of this head was copied out while the run's tokens went through "
        "once more, one at a time, on {machine}. {every} For the page it is rounded to 8 bits a number."
    ).format(values=state.values, keys=state.keys, machine=code_span(trace.device.name), every=every)


def _state_table(trace: TraceRecord, frames: np.ndarray) -> dict[str, list[object]]:
    """A summary a token: the matrix itself has too many numbers to read."""
    texts = [trace.tokens[index].text for index in trace.state.token_indices]
    return {
        _("after token"): [token_label(text) for text in texts],
        _("largest magnitude"): [round(float(np.abs(frame).max()), 4) for frame in frames],
        _("root mean square"): [round(float(np.sqrt(np.mean(frame**2))), 4) for frame in frames],
    }
