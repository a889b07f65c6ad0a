"""What is kept: the KV cache growing with every position against the state that stays one size, on one byte axis."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.account import cost
from engine.account.record import ModelShape, Run
from lessons.filters import binary_bytes
from views.figure_style import FAINT, Drawn, styled
from views.palette import COLOURS, Theme
from views.words import _

UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))


def memory_figure(run: Run, theme: Theme) -> Drawn:
    """KV cache and recurrent state over the number of tokens held; works for any run with at least one pass."""
    shape, held = run.header.model, run.passes[-1].positions_held
    last = axis_end(shape, held)
    state, crossover = cost.recurrent_state_bytes(shape), cost.crossover_positions(shape)
    top = max(state, cost.kv_bytes(shape, last))
    unit, size = next((unit, size) for unit, size in UNITS if top >= size)
    figure = go.Figure()
    _add_kv(figure, run, theme, last, size)
    _label_run(figure, run, theme, last, size, top)
    if state:
        _add_line(figure, [0, last], [state / size] * 2, COLOURS[theme]["state"], name="state", dash="solid")
        label = _("state: {size}, fixed").format(size=binary_bytes(state))
        early = crossover is not None and crossover < last * 0.55  # the cache's line then crosses the left end
        at, anchor = (last * 0.99, "right") if early else (last * 0.01, "left")
        _label(figure, at, state / size, label, COLOURS[theme]["state"], anchor=anchor, yshift=12)
    styled(figure, theme, height=340)
    if crossover is not None and crossover <= last:
        _mark_crossover(figure, crossover, cost.kv_bytes(shape, crossover) / size, theme, last, held)
    figure.update_layout(
        xaxis={"title": {"text": _("tokens held")}, "range": [0, last]},
        yaxis={"title": {"text": unit}, "range": [0, top / size * 1.12]},
    )
    return Drawn(
        figure=figure,
        title=_("Memory kept between passes"),
        description=_description(shape, held, state, crossover),
        evidence="computed",
        how=_how(shape),
        table=_table(run, state),
    )


def axis_end(shape: ModelShape, held: int) -> int:
    """How many tokens the axis shows: past the crossover if it lies within the context, and past what the run holds."""
    crossover = cost.crossover_positions(shape)
    beyond = [held * 1.25]
    if crossover is not None and crossover <= shape.context_length:
        beyond.append(crossover * 1.4)
    return max(round(max(beyond)), 2)


def _add_kv(figure: go.Figure, run: Run, theme: Theme, last: int, size: int) -> None:
    """Solid as far as this run went, dashed where the same formula goes on."""
    shape, colour = run.header.model, COLOURS[theme]["kv"]
    positions = [0, *(one.positions_held for one in run.passes)]
    kept = [0.0, *(one.kv_bytes_held / size for one in run.passes)]
    rest = [cost.kv_bytes(shape, position) / size for position in (positions[-1], last)]
    _add_line(figure, [positions[-1], last], rest, colour, name="KV cache, further", dash="dash")
    _add_line(figure, positions, kept, colour, name="KV cache, this run", dash="solid")
    figure.add_trace(
        go.Scatter(
            x=positions[-1:], y=kept[-1:], mode="markers", name="end of this run",
            marker={"color": colour, "size": 11, "symbol": "square"},
            hovertemplate="%{x} · %{y:.1f}<extra></extra>",
        )
    )  # fmt: skip


def _label_run(figure: go.Figure, run: Run, theme: Theme, last: int, size: int, top: float) -> None:
    """Where this run ended, in words beside its point: off the lines and their labels, on a phone, too."""
    end, colour = run.passes[-1], COLOURS[theme]["kv"]
    at, height = end.positions_held, end.kv_bytes_held / size
    here = _("this run: {size}<br>at {n} tokens").format(n=f"{at:,}", size=binary_bytes(end.kv_bytes_held))
    if at > last * 0.75:
        _label(figure, at, height, here, colour, anchor="right", xshift=-12, yshift=24)
    elif at > last * 0.6:
        _label(figure, last, height, here, colour, anchor="right", yshift=-34)
    elif end.kv_bytes_held > top * 0.13:
        _label(figure, at, height, here, colour, anchor="left", xshift=14, yshift=-16)
    else:
        _point_at(figure, at, height, here, colour, right_px=8, up_px=118, anchor="left")


def _mark_crossover(figure: go.Figure, position: int, height: float, theme: Theme, last: int, held: int) -> None:
    """The circle, and its words on the side of the lines that the words of the run leave free."""
    figure.add_trace(
        go.Scatter(
            x=[position], y=[height], mode="markers", name="crossover",
            marker={"symbol": "circle-open", "size": 14, "line": {"width": 2}, "color": FAINT[theme]},
            hovertemplate="%{x} · %{y:.1f}<extra></extra>",
        )
    )  # fmt: skip
    label = _("equal at {n} tokens").format(n=f"{position:,}")
    if held <= position:
        _point_at(figure, position, height, label, FAINT[theme], right_px=6, up_px=44, anchor="right")
    elif position > last * 0.4:
        _point_at(figure, position, height, label, FAINT[theme], right_px=-50, up_px=-64, anchor="left")
    else:
        _point_at(figure, position, height, label, FAINT[theme], right_px=14, up_px=-20, anchor="left")


def _add_line(figure: go.Figure, x: list[int], y: list[float], colour: str, *, name: str, dash: str) -> None:
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", name=name, line={"color": colour, "width": 3, "dash": dash},
            hovertemplate="%{x} · %{y:.1f}<extra></extra>",
        )
    )  # fmt: skip


def _label(
    figure: go.Figure, x: float, y: float, text: str, colour: str, *, anchor: str, xshift: int = 0, yshift: int = 0
) -> None:
    figure.add_annotation(
        x=x, y=y, text=text, showarrow=False, xanchor=anchor, yanchor="middle", xshift=xshift, yshift=yshift,
        font={"color": colour, "size": 14},
    )  # fmt: skip


def _point_at(
    figure: go.Figure, x: float, y: float, text: str, colour: str, *, right_px: int, up_px: int, anchor: str
) -> None:
    """A label off the lines, with a thin leader to its point."""
    figure.add_annotation(
        x=x, y=y, text=text, xanchor=anchor, font={"color": colour, "size": 14}, ax=right_px, ay=-up_px, xshift=0,
        arrowcolor=colour, arrowwidth=1, arrowhead=0, standoff=7,
    )  # fmt: skip


def _description(shape: ModelShape, held: int, state: int, crossover: int | None) -> str:
    kept = _("After {n} tokens the KV cache holds {kv} and the state {state}.").format(
        n=f"{held:,}", kv=binary_bytes(cost.kv_bytes(shape, held)), state=binary_bytes(state)
    )
    if crossover is None:
        return kept
    return kept + " " + _("The cache is as large as the state at {n} tokens.").format(n=f"{crossover:,}")


def _how(shape: ModelShape) -> str:
    full, linear = shape.layer_types.count("full_attention"), shape.layer_types.count("linear_attention")
    return _(
        "KV cache: {full} full-attention layers × 2 (a key and a value) × {kv_heads} heads × {head_dim} numbers × "
        "{kv_width} bytes, for each token held. State: {linear} DeltaNet layers × {heads} heads × {values} × {keys} "
        "numbers × {state_width} bytes, whatever the length. The short convolution windows of the DeltaNet layers "
        "({window}) are counted apart and not drawn. The dashed line goes on by the same formula."
    ).format(
        full=full, kv_heads=shape.num_key_value_heads, head_dim=shape.head_dim,
        kv_width=cost.DTYPE_BYTES[shape.kv_dtype], linear=linear, heads=shape.linear_num_value_heads,
        values=shape.linear_value_head_dim, keys=shape.linear_key_head_dim,
        state_width=cost.DTYPE_BYTES[shape.state_dtype], window=binary_bytes(cost.window_bytes(shape)),
    )  # fmt: skip


def _table(run: Run, state: int) -> dict[str, list[object]]:
    passes = run.passes
    return {
        _("after pass"): [one.number + 1 for one in passes],
        _("tokens held"): [one.positions_held for one in passes],
        _("KV cache (bytes)"): [one.kv_bytes_held for one in passes],
        _("state (bytes)"): [one.state_bytes_held for one in passes],
        _("convolution windows (bytes)"): [one.window_bytes_held for one in passes],
    }
