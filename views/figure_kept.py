"""What any model keeps at any length: KV cache and state on one byte axis, both axes in powers; and layer by layer."""

from __future__ import annotations

from math import ceil, floor, log2
from typing import Any

from engine.account import cost
from engine.account.kv_ways import layer_bytes
from engine.account.record import LayerType, ModelShape
from lessons.filters import binary_bytes
from views.figure_style import FAINT, TEXT, Drawn, whole_figure
from views.palette import COLOURS, Meaning, Theme
from views.words import N_, _

END = 1 << 18
"""Tokens at the right end: the context of the larger presets."""

X_TICKS = (1, 10, 100, 1_000, 10_000, 100_000)
STEP = 5
"""A line every 2^5 on the byte axis: 1 KiB, 32 KiB, 1 MiB, 32 MiB, ..."""


def kept_figure(shape: ModelShape, positions: int, theme: Theme) -> Drawn:
    """KV cache and recurrent state over 1 to `END` tokens, with a cursor at `positions`."""
    state, crossover = cost.recurrent_state_bytes(shape), cost.crossover_positions(shape)
    per_token, all_full = cost.kv_bytes_per_position(shape), _if_all_were_full(shape)
    cursor = {"color": FAINT[theme], "dash": "dot", "width": 1}
    kv, of_state = COLOURS[theme]["kv"], COLOURS[theme]["state"]
    low, high = _byte_range([per_token, state], [per_token * END, state, (all_full or 0) * END])
    traces = [_line([positions, positions], [2**low, 2**high], cursor, name="cursor")]
    if all_full and per_token:
        other = {"color": FAINT[theme], "dash": "dot", "width": 2}
        traces.append(_line([1, END], [all_full, all_full * END], other, name=_("every layer full attention")))
    if per_token:
        traces.append(_line([1, END], [per_token, per_token * END], {"color": kv, "width": 3}, _("KV cache")))
        traces.append(_point(positions, per_token * positions, kv, "square", "KV cache here"))
    if state:
        traces.append(_line([1, END], [state, state], {"color": of_state, "width": 3, "dash": "dash"}, _("state")))
        traces.append(_point(positions, state, of_state, "diamond", "state here"))
    if crossover is not None and crossover <= END:
        traces.append(_point(crossover, state, TEXT[theme], "circle-open", _("crossover"), size=15))
    layout = {"showlegend": True, "legend": _LEGEND, **_axes(low, high)}
    figure = whole_figure(traces, layout, theme, height=340)
    return Drawn(
        spec=figure,
        title=_("What is kept, at any length"),
        description=_description(shape, positions, crossover),
        evidence="computed",
        how=_how(shape),
        table=_table(shape, positions),
        note=_note(shape, crossover) + _beyond(shape, positions),
    )


def layers_figure(shape: ModelShape, positions: int, theme: Theme) -> Drawn:
    """What each layer keeps at one length, in layer order, on one byte axis from 0."""
    sizes = layer_bytes(shape, positions)
    unit, size = next(one for one in _UNITS if max(sizes) >= one[1])
    traces = []
    for kind, meaning, name, pattern in _KINDS:
        layers = [at for at, one in enumerate(shape.layer_types, 1) if one == kind]
        if layers:
            pattern_told = {"shape": pattern, "fillmode": "overlay", "size": 6, "solidity": 0.15}
            traces.append(
                {
                    "type": "bar", "x": layers, "y": [sizes[at - 1] / size for at in layers], "name": _(name),
                    "marker": {"color": COLOURS[theme][meaning], "pattern": pattern_told},
                    "hovertemplate": "%{x} · %{y:.3g} " + unit + "<extra></extra>",
                }
            )  # fmt: skip
    layout = {
        "showlegend": True, "legend": _LEGEND, "bargap": 0.15,
        "xaxis": {"title": {"text": _("layer")}, "range": [0.4, len(sizes) + 0.6], "tickformat": "d"},
        "yaxis": {"title": {"text": unit}, "range": [0, max(sizes) / size * 1.1]},
    }  # fmt: skip
    figure = whole_figure(traces, layout, theme, height=230)
    kinds = [_("full attention") if one == "full_attention" else "DeltaNet" for one in shape.layer_types]
    return Drawn(
        spec=figure,
        title=_("Layer by layer, at {n} tokens").format(n=f"{positions:,}"),
        description=_("Bytes that each of the {n} layers keeps.").format(n=len(sizes)),
        evidence="computed",
        how=_how(shape),
        table={_("layer"): list(range(1, len(sizes) + 1)), _("kind"): kinds, _("bytes kept"): sizes},
    )


_LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 13}}
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))
_KINDS: tuple[tuple[LayerType, Meaning, str, str], ...] = (
    ("full_attention", "kv", N_("KV cache"), ""),
    ("linear_attention", "state", N_("state"), "/"),
)


def _line(x: list[int], y: list[float], line: dict[str, object], name: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": line,
        "showlegend": name != "cursor", "hoverinfo": "skip",
    }  # fmt: skip


def _point(x: int, y: float, colour: str, symbol: str, name: str, size: int = 11) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "x": [x], "y": [y], "name": name,
        "marker": {"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
        "showlegend": symbol == "circle-open",
        "text": [binary_bytes(y)], "hovertemplate": "%{x:,} · %{text}<extra></extra>",
    }  # fmt: skip


def _axes(low: int, high: int) -> dict[str, Any]:
    ticks = range(-(-low // STEP) * STEP, high + 1, STEP)
    return {
        "xaxis": {
            "type": "log", "title": {"text": _("tokens held")}, "range": [-0.05, log2(END) / log2(10) + 0.03],
            "tickvals": X_TICKS, "ticktext": [f"{tick:,}" for tick in X_TICKS],
        },
        "yaxis": {
            "type": "log", "range": [low * _DECADES, high * _DECADES],
            "tickvals": [2**tick for tick in ticks], "ticktext": [binary_bytes(2**tick) for tick in ticks],
        },
    }  # fmt: skip


_DECADES = log2(2) / log2(10)
"""A power of two, in the powers of ten that the figure library counts in."""


def _byte_range(smallest: list[int], largest: list[int]) -> tuple[int, int]:
    """Whole powers of two around everything that is drawn."""
    return floor(log2(min(one for one in smallest if one))) - 1, ceil(log2(max(largest))) + 1


def _if_all_were_full(shape: ModelShape) -> int | None:
    """Bytes a token if the linear layers kept keys and values, too; None where there are none."""
    full = shape.layer_types.count("full_attention")
    if not full or full == len(shape.layer_types):
        return None
    return cost.kv_bytes_per_position(shape) // full * len(shape.layer_types)


def _description(shape: ModelShape, positions: int, crossover: int | None) -> str:
    kept = _("At {n} tokens the KV cache holds {kv} and the state {state}.").format(
        n=f"{positions:,}", kv=binary_bytes(cost.kv_bytes(shape, positions)),
        state=binary_bytes(cost.recurrent_state_bytes(shape)),
    )  # fmt: skip
    return kept if crossover is None else kept + " " + _note(shape, crossover)


def _note(shape: ModelShape, crossover: int | None) -> str:
    if crossover is not None:
        return _("The cache is as large as the state at {n} tokens.").format(n=f"{crossover:,}") + " " + _(_BOTH_LOG)
    if "linear_attention" not in shape.layer_types:
        return _("Every layer of this model is full attention: there is no state, and nothing stays one size.")
    return _("This model has no full-attention layer: it keeps no cache, and what it keeps never grows.")


def _beyond(shape: ModelShape, positions: int) -> str:
    """A length that the formula knows and the model does not."""
    if not 0 < shape.context_length < positions:
        return ""
    return " " + _("This model takes texts of up to {n} tokens; further on there is only the formula.").format(
        n=f"{shape.context_length:,}"
    )


_BOTH_LOG = N_("Both axes go up in powers, so equal steps are equal factors.")


def _how(shape: ModelShape) -> str:
    full, linear = (shape.layer_types.count(kind) for kind in ("full_attention", "linear_attention"))
    cache = _(
        "KV cache: {full} full-attention layers × 2 (a key and a value) × {kv_heads} heads × {head_dim} numbers × "
        "{kv_width} bytes, for each token held."
    ).format(
        full=full, kv_heads=shape.num_key_value_heads, head_dim=shape.head_dim,
        kv_width=cost.DTYPE_BYTES[shape.kv_dtype],
    )  # fmt: skip
    if not linear:
        return f"{cache} {cost.PRESET_SOURCE}"
    state = _(
        "State: {linear} DeltaNet layers × {heads} heads × {values} × {keys} numbers × {width} bytes, whatever the "
        "length. Their convolution windows are counted apart and not in the line."
    ).format(
        linear=linear, heads=shape.linear_num_value_heads, values=shape.linear_value_head_dim,
        keys=shape.linear_key_head_dim, width=cost.DTYPE_BYTES[shape.state_dtype],
    )  # fmt: skip
    return f"{cache} {state} {cost.PRESET_SOURCE}"


def _table(shape: ModelShape, positions: int) -> dict[str, list[int]]:
    """The lengths of the axis, the crossover and the cursor, in order."""
    crossover = cost.crossover_positions(shape)
    lengths = sorted({*X_TICKS, END, positions, *([crossover] if crossover else [])})
    state, window = cost.recurrent_state_bytes(shape), cost.window_bytes(shape)
    return {
        _("tokens held"): lengths,
        _("KV cache (bytes)"): [cost.kv_bytes(shape, n) for n in lengths],
        _("state (bytes)"): [state] * len(lengths),
        _("convolution windows (bytes)"): [window] * len(lengths),
    }
