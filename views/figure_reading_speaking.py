"""Time a token, read and written, for several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.account.record import Phase
from views.evidence import Evidence
from views.figure_style import Drawn, phase_pattern, styled
from views.palette import COLOURS, Theme
from views.reading_speaking import ReadAndWrote
from views.safe_text import one_line, plotly_text
from views.words import _


def reading_figure(runs: Sequence[ReadAndWrote], theme: Theme, *, own: bool) -> Drawn:
    """Two bars a run: a prompt token's share of the prefill, and the wait from one new token to the next."""
    figure = go.Figure()
    columns: dict[Phase, tuple[str, list[float]]] = {
        "prefill": (_("read: a prompt token's share"), [one.read_ns / 1e6 for one in runs]),
        "decode": (_("written: one new token"), [one.write_ns / 1e6 for one in runs]),
    }
    places = list(range(len(runs)))
    for phase, (name, heights) in columns.items():
        marker = {"color": COLOURS[theme][phase], "pattern": phase_pattern(phase)}
        figure.add_trace(go.Bar(name=name, x=places, y=heights, marker=marker, hovertemplate="%{y:.3f} ms"))
    styled(figure, theme, height=300)
    figure.update_layout(
        barmode="group", bargap=0.3, showlegend=True, hovermode="x unified",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    labels = [_("run {n}<br>{p} + {new}").format(n=i + 1, p=one.prompt_tokens, new=one.new_tokens)
              for i, one in enumerate(runs)]  # fmt: skip
    figure.update_xaxes(tickvals=places, ticktext=labels, range=[-0.6, len(runs) - 0.4], showgrid=False)
    figure.update_yaxes(title_text=_("ms a token"), rangemode="tozero")
    evidence: Evidence = "measured" if own else "recorded"
    return Drawn(
        spec=figure,
        title=_("Reading and writing in your runs") if own else _("Reading and writing in the recorded runs"),
        description=_("Time a token, read and written, in {n} runs.").format(n=len(runs)),
        evidence=evidence,
        how=_(
            "From the records of your latest finished runs. Read: the time of the prefill divided by the prompt "
            "tokens. Written: the median gap between two new tokens. Under each run stand its prompt tokens and its "
            "new ones. A look back is one entry of the KV cache that an attention layer reads for an earlier token."
        ),
        table={
            _("prompt"): [plotly_text(one_line(one.begins), longest=32) for one in runs],
            _("prompt tokens"): [one.prompt_tokens for one in runs],
            _("prefill passes"): [one.prefill_passes for one in runs],
            _("new tokens"): [one.new_tokens for one in runs],
            _("decode passes"): [one.decode_passes for one in runs],
            _("ms a token read"): [round(one.read_ns / 1e6, 3) for one in runs],
            _("ms a token written"): [round(one.write_ns / 1e6, 3) for one in runs],
            _("looks back, a layer"): [one.looks_back for one in runs],
        },
        note="" if own else _("You have no finished run here yet: these are the course's own recordings."),
    )  # fmt: skip
