"""The roofline: a machine's two roofs, and passes as dots under them. Both axes go up in powers of ten."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import plotly.graph_objects as go

from engine.account.presets import Hardware
from engine.account.record import Phase
from engine.account.roofline import Dot, roof, share_of_roof
from lessons.filters import significant
from views.evidence import Evidence
from views.figure_style import FAINT, TEXT, Drawn, styled
from views.palette import COLOURS, Theme
from views.words import _

X_RANGE = (-1, 4)
"""Powers of ten: 0.1 to 10,000 operations a byte, for every machine."""

ROOM = 0.5
"""Powers of ten beyond the last one, so that a flat roof and what stands at the end are seen."""
CROWDED = 1_000
"""From this intensity on a dot's name stands to its left and above."""

SYMBOLS: dict[Phase, str] = {"prefill": "square", "decode": "circle"}
_RATES = ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1e3, "kFLOP/s"))


def roofline_figure(
    dots: Sequence[Dot], machine: Hardware | None, theme: Theme, *, evidence: Evidence, how: str, note: str
) -> Drawn:
    """Dots of passes or of computed steps; without a machine there is no roof, and nothing is drawn in its place.

    Computed steps stand on the roof and carry their name; measured passes are filled and told by the legend.
    """
    computed = evidence == "computed"
    figure = styled(go.Figure(), theme, height=380)
    low, high = _y_range(dots, machine)
    if machine is not None:
        _add_roof(figure, machine, theme)
    for phase in ("prefill", "decode"):
        own = [dot for dot in dots if dot.phase == phase]
        if own:
            _add_dots(figure, own, phase, theme, computed=computed)
    decades = range(low, high + 1)
    figure.update_xaxes(
        type="log", range=[X_RANGE[0], X_RANGE[1] + ROOM / 2], title_text=_("operations for each byte moved"),
        tickvals=[10**n for n in range(X_RANGE[0], X_RANGE[1] + 1)],
        ticktext=["0.1", "1", "10", "100", "1,000", "10,000"],
    )  # fmt: skip
    figure.update_yaxes(
        type="log", range=[low, high + ROOM], tickvals=[10**n for n in decades], ticktext=[_tick(n) for n in decades]
    )
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 13}}
    )
    return Drawn(
        spec=figure,
        title=_("Under the roof") if machine is not None else _("Where a roof will be"),
        description=_description(dots, machine),
        evidence=evidence,
        how=how,
        table=_table(dots, machine),
        note=note,
    )


def rate(operations_per_s: float) -> str:
    """Operations a second in words: "10 GFLOP/s"."""
    for size, unit in _RATES:
        if operations_per_s >= size * (1 - 1e-9):
            return f"{significant(operations_per_s / size)} {unit}"
    return f"{significant(operations_per_s)} FLOP/s"


def _tick(power: int) -> str:
    size, unit = next((one for one in _RATES if 10**power >= one[0]), (1.0, "FLOP/s"))
    return f"{10**power / size:,.0f} {unit}"


def _add_roof(figure: go.Figure, machine: Hardware, theme: Theme) -> None:
    left, right = 10.0 ** X_RANGE[0], 10.0 ** (X_RANGE[1] + ROOM / 2)
    xs = sorted({left, min(max(machine.ridge, left), right), right})
    figure.add_trace(
        go.Scatter(
            x=xs, y=[roof(machine, x) for x in xs], mode="lines", name=_("roof of {name}").format(name=machine.name),
            line={"color": TEXT[theme], "width": 3}, hoverinfo="skip",
        )
    )  # fmt: skip
    if left < machine.ridge < right:
        figure.add_trace(
            go.Scatter(
                x=[machine.ridge], y=[roof(machine, machine.ridge)], mode="markers", name=_("ridge"),
                marker={"symbol": "diamond-open", "size": 13, "color": FAINT[theme], "line": {"width": 2}},
                hovertemplate="%{x:.3g}<extra></extra>",
            )
        )  # fmt: skip


def _add_dots(figure: go.Figure, dots: Sequence[Dot], phase: Phase, theme: Theme, *, computed: bool) -> None:
    symbol = SYMBOLS[phase] + ("-open" if computed else "")
    figure.add_trace(
        go.Scatter(
            x=[dot.intensity for dot in dots], y=[dot.operations_per_s for dot in dots],
            mode="markers+text" if computed else "markers",
            name=_("{phase}, at best").format(phase=phase) if computed else phase,
            text=[dot.name for dot in dots],
            textposition=["top left" if dot.intensity > CROWDED else "bottom right" for dot in dots],
            textfont={"color": COLOURS[theme][phase], "size": 13},
            marker={"color": COLOURS[theme][phase], "symbol": symbol, "size": 11, "line": {"width": 2}},
            hovertemplate="%{text}: %{x:.3g} · %{y:.3g}<extra></extra>",
        )
    )  # fmt: skip


def _y_range(dots: Sequence[Dot], machine: Hardware | None) -> tuple[int, int]:
    """Whole powers of ten around the dots and the roof between them and its ridge."""
    heights = [dot.operations_per_s for dot in dots]
    if machine is not None:
        heights += [machine.flops_per_s * machine.compute_share, roof(machine, 10.0 ** X_RANGE[0])]
    if not heights:
        return 9, 12
    low, high = floor(log10(min(heights))), ceil(log10(max(heights)))
    return min(low, high - 2), high


def _description(dots: Sequence[Dot], machine: Hardware | None) -> str:
    told = [
        _("{name} does {x} operations a byte and {y}").format(
            name=dot.name, x=significant(dot.intensity), y=rate(dot.operations_per_s)
        )
        for dot in dots[:6]
    ]
    if machine is not None:
        told.insert(
            0,
            _("the roof of {name} bends at {ridge} operations a byte, at {peak}").format(
                name=machine.name, ridge=significant(machine.ridge), peak=rate(machine.flops_per_s)
            ),
        )
    return "; ".join(told) + "." if told else _("No pass yet.")


def _table(dots: Sequence[Dot], machine: Hardware | None) -> dict[str, list[object]]:
    return {
        _("what"): [dot.name for dot in dots],
        _("tokens in"): [dot.n_tokens for dot in dots],
        _("operations"): [dot.operations for dot in dots],
        _("bytes moved"): [dot.n_bytes for dot in dots],
        _("operations a byte"): [float(f"{dot.intensity:.4g}") for dot in dots],
        _("time (ms)"): [float(f"{dot.ns / 1e6:.4g}") for dot in dots],
        _("GFLOP/s"): [float(f"{dot.operations_per_s / 1e9:.4g}") for dot in dots],
        _("share of the roof"): [
            None if machine is None else f"{share_of_roof(dot, machine) * 100:.0f} %" for dot in dots
        ],
    }
