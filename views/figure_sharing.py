"""How fast all of them and each of them get their tokens, over how many run at once."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from views.evidence import Evidence
from views.figure_style import TEXT, Drawn, styled
from views.palette import COLOURS, Theme
from views.words import N_, _

Rates = Sequence[tuple[int, float, float]]
"""(how many at once, tokens a second of all, tokens a second of each)."""


def sharing_figure(rates: Rates, own: Rates, theme: Theme, *, evidence: Evidence, how: str) -> Drawn:
    """Two lines from the kept measurement and the visitor's own points, if there are any, as stars."""
    figure = go.Figure()
    colour = COLOURS[theme]["decode"]
    for place, name, dash, symbol in ((1, _(_ALL), "solid", "circle"), (2, _(_EACH), "dot", "square")):
        figure.add_trace(
            go.Scatter(
                x=[one[0] for one in rates], y=[one[place] for one in rates], name=name, mode="lines+markers",
                line={"color": colour, "width": 2.5, "dash": dash}, marker={"symbol": symbol, "size": 9},
                hovertemplate="%{x}: %{y:.0f}<extra>" + name + "</extra>",
            )
        )  # fmt: skip
    if own:
        figure.add_trace(
            go.Scatter(
                x=[one[0] for one in own for _n in (1, 2)], y=[one[place] for one in own for place in (1, 2)],
                name=_("you, just now"), mode="markers",
                marker={"symbol": "star", "size": 14, "color": TEXT[theme]},
                hovertemplate="%{x}: %{y:.0f}<extra></extra>",
            )
        )  # fmt: skip
    styled(figure, theme, height=300)
    every = [*rates, *own]
    top = max(value for one in every for value in one[1:])
    figure.update_layout(showlegend=True, legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    figure.update_xaxes(
        title_text=_("requests at once"), range=[0.5, max(one[0] for one in every) + 0.5],
        tickvals=sorted({one[0] for one in every}),
    )  # fmt: skip
    figure.update_yaxes(title_text=_("tokens a second"), range=[0, top * 1.1])
    said = "; ".join(_("{n} at once: all {all:.0f}, each {each:.0f}").format(n=n, all=a, each=e) for n, a, e in every)
    return Drawn(
        figure,
        title=_("Everybody's speed and each one's own"),
        description=_("Tokens a second. {points}.").format(points=said),
        evidence=evidence,
        how=how,
        table={
            _("requests at once"): [one[0] for one in every],
            _("tokens/s of all"): [round(one[1], 1) for one in every],
            _("tokens/s of each (median)"): [round(one[2], 1) for one in every],
            _("taken"): [*(_("recorded") for _n in rates), *(_("measured here") for _n in own)],
        },
    )


_ALL = N_("all together")
_EACH = N_("each of them")
