"""What is kept: the KV cache growing with every position against the state that stays one size, on one byte axis."""

from __future__ import annotations

from typing import Any

from engine.account import cost
from engine.account.record import ModelShape, Run
from lessons.filters import binary_bytes
from views.figure_style import FAINT, Drawn, whole_figure
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
    traces, labels = _kv(run, theme, last, size), [_run_label(run, theme, last, size, top)]
    if state:
        colour = COLOURS[theme]["state"]
        traces.append(_line([0, last], [state / size] * 2, colour, name="state", dash="solid"))
        label = _("state: {size}, fixed").format(size=binary_bytes(state))
        early = crossover is not None and crossover < last * 0.55  # the cache's line then crosses the left end
        at, anchor = (last * 0.99, "right") if early else (last * 0.01, "left")
        labels.append(_label(at, state / size, label, colour, anchor=anchor, yshift=12))
    if crossover is not None and crossover <= last:
        height = cost.kv_bytes(shape, crossover) / size
        traces.append(_crossover(crossover, height, theme))
        labels.append(_crossover_label(crossover, height, theme, last, held))
    layout = {
        "annotations": labels,
        "xaxis": {"title": {"text": _("tokens held")}, "range": [0, last]},
        "yaxis": {"title": {"text": unit}, "range": [0, top / size * 1.12]},
    }
    return Drawn(
        spec=whole_figure(traces, layout, theme, height=340),
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


def _kv(run: Run, theme: Theme, last: int, size: int) -> list[dict[str, Any]]:
    """Solid as far as this run went, dashed where the same formula goes on."""
    shape, colour = run.header.model, COLOURS[theme]["kv"]
    positions = [0, *(one.positions_held for one in run.passes)]
    kept = [0.0, *(one.kv_bytes_held / size for one in run.passes)]
    rest = [cost.kv_bytes(shape, position) / size for position in (positions[-1], last)]
    end = {"color": colour, "size": 11, "symbol": "square"}
    return [
        _line([positions[-1], last], rest, colour, name="KV cache, further", dash="dash"),
        _line(positions, kept, colour, name="KV cache, this run", dash="solid"),
        _point(positions[-1], kept[-1], end, name="end of this run"),
    ]


def _run_label(run: Run, theme: Theme, last: int, size: int, top: float) -> dict[str, Any]:
    """Where this run ended, in words beside its point: off the lines and their labels, on a phone, too."""
    end, colour = run.passes[-1], COLOURS[theme]["kv"]
    at, height = end.positions_held, end.kv_bytes_held / size
    here = _("this run: {size}<br>at {n} tokens").format(n=f"{at:,}", size=binary_bytes(end.kv_bytes_held))
    if at > last * 0.75:
        return _label(at, height, here, colour, anchor="right", xshift=-12, yshift=24)
    if at > last * 0.6:
        return _label(last, height, here, colour, anchor="right", yshift=-34)
    if end.kv_bytes_held > top * 0.13:
        return _label(at, height, here, colour, anchor="left", xshift=14, yshift=-16)
    return _led_label(at, height, here, colour, right_px=8, up_px=118, anchor="left")


def _crossover(position: int, height: float, theme: Theme) -> dict[str, Any]:
    circle = {"symbol": "circle-open", "size": 14, "line": {"width": 2}, "color": FAINT[theme]}
    return _point(position, height, circle, name="crossover")


def _crossover_label(position: int, height: float, theme: Theme, last: int, held: int) -> dict[str, Any]:
    """On the side of the lines that the words of the run leave free."""
    label = _("equal at {n} tokens").format(n=f"{position:,}")
    if held <= position:
        return _led_label(position, height, label, FAINT[theme], right_px=6, up_px=44, anchor="right")
    if position > last * 0.4:
        return _led_label(position, height, label, FAINT[theme], right_px=-50, up_px=-64, anchor="left")
    return _led_label(position, height, label, FAINT[theme], right_px=14, up_px=-20, anchor="left")


_HOVER = "%{x} · %{y:.1f}<extra></extra>"


def _line(x: list[int], y: list[float], colour: str, *, name: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter", "x": x, "y": y, "mode": "lines", "name": name, "hovertemplate": _HOVER,
        "line": {"color": colour, "width": 3, "dash": dash},
    }  # fmt: skip


def _point(x: int, y: float, marker: dict[str, Any], *, name: str) -> dict[str, Any]:
    return {
        "type": "scatter", "x": [x], "y": [y], "mode": "markers", "name": name, "hovertemplate": _HOVER,
        "marker": marker,
    }  # fmt: skip


def _label(
    x: float, y: float, text: str, colour: str, *, anchor: str, xshift: int = 0, yshift: int = 0
) -> dict[str, Any]:
    return {
        "x": x, "y": y, "text": text, "showarrow": False, "xanchor": anchor, "yanchor": "middle", "xshift": xshift,
        "yshift": yshift, "font": {"color": colour, "size": 14},
    }  # fmt: skip


def _led_label(x: float, y: float, text: str, colour: str, *, right_px: int, up_px: int, anchor: str) -> dict[str, Any]:
    """A label off the lines, with a thin leader to its point."""
    return {
        "x": x, "y": y, "text": text, "xanchor": anchor, "font": {"color": colour, "size": 14}, "ax": right_px,
        "ay": -up_px, "xshift": 0, "arrowcolor": colour, "arrowwidth": 1, "arrowhead": 0, "standoff": 7,
    }  # fmt: skip


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
