"""What a hand-over moves: the KV cache of the prompt on top of the state, which is the same for every prompt."""

from __future__ import annotations

from engine.account import cost
from engine.account.presets import Link
from engine.account.record import ModelShape
from lessons.filters import decimal_bytes, milliseconds
from views.figure_style import TEXT, Drawn, whole_figure
from views.palette import COLOURS, Meaning, Theme
from views.pools import moved_bytes, transfer_table
from views.words import _

LENGTHS = (1, 500, 1000, 2000, 4000, 8192, 16_384, 32_768)


def moved_figure(shape: ModelShape, link: Link, at: int, theme: Theme) -> Drawn:
    """Bytes over prompt lengths up to eight times `at`, stacked; a mark at `at` tells bytes and time on the link."""
    lengths = sorted({1, at, *(round(at * step / 8) for step in range(1, 65))})
    fixed = [moved_bytes(shape, n) - cost.kv_bytes(shape, n) for n in lengths]
    grows = [cost.kv_bytes(shape, n) for n in lengths]
    parts: list[tuple[str, list[int], Meaning, str]] = [
        (_("state and windows"), fixed, "state", "x"), (_("KV cache of the prompt"), grows, "kv", "/"),
    ]  # fmt: skip
    traces = [
        {
            "type": "scatter", "x": lengths, "y": [value / 1e6 for value in values], "name": name,
            "stackgroup": "moved", "mode": "lines", "line": {"color": COLOURS[theme][meaning], "width": 2},
            "fillpattern": {
                "shape": pattern, "fgcolor": COLOURS[theme][meaning], "bgcolor": "rgba(0,0,0,0)", "size": 8
            },
            "hovertemplate": "%{x:,}: %{y:,.0f} MB<extra>" + name + "</extra>",
        }
        for name, values, meaning, pattern in parts
    ]  # fmt: skip
    n_bytes = moved_bytes(shape, at)
    label = _("{tokens} tokens: {bytes},<br>{time} over {link}").format(
        tokens=f"{at:,}", bytes=decimal_bytes(n_bytes), time=milliseconds(link.transfer_ns(n_bytes)), link=link.name
    )
    mark = {
        "x": at, "y": n_bytes / 1e6, "text": label, "ax": 8, "ay": -120, "xanchor": "left", "align": "left",
        "arrowhead": 2, "arrowwidth": 1, "arrowcolor": TEXT[theme], "font": {"size": 13, "color": TEXT[theme]},
    }  # fmt: skip
    layout = {
        "showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "annotations": [mark],
        "xaxis": {"title": {"text": _("prompt tokens")}, "range": [0, lengths[-1]]},
        "yaxis": {"title": {"text": "MB"}, "range": [0, moved_bytes(shape, lengths[-1]) / 1e6 * 1.1]},
    }  # fmt: skip
    figure = whole_figure(traces, layout, theme, height=300)
    return Drawn(
        figure,
        title=_("What one hand-over moves"),
        description=label.replace("<br>", " ") + ".",
        evidence="computed",
        how=_(
            "KV cache: full-attention layers × 2 × key-value heads × head size × bytes, for each prompt token. State "
            "and convolution windows: one size. Time: bytes ÷ the link's rate in one direction ({source}, {dated}); no "
            "latency is added, and nobody else uses the link."
        ).format(source=link.source, dated=link.dated),
        table=transfer_table(shape, sorted({*LENGTHS, at})),
    )
