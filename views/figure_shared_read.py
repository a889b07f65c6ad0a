"""What a decode step reads for each new token, for batches of growing size: weights are shared, the rest is not."""

from __future__ import annotations

from engine.account.what_if import BATCHES, Asked, Step, decode_step
from lessons.filters import decimal_bytes, significant
from views.engine_words import told
from views.figure_style import Drawn, whole_figure
from views.palette import COLOURS, Meaning, Theme
from views.words import N_, _

_PARTS: tuple[tuple[Meaning, str, str], ...] = (
    ("kv", N_("KV cache"), ""),
    ("state", N_("state"), "/"),
    ("weights", N_("weights"), "x"),
)
"""Meaning, name and pattern, from the bottom up: what stays lies below, what sharing takes away on top."""

UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("bytes", 1.0))


def shared_read_figure(asked: Asked, theme: Theme) -> Drawn:
    """A bar for each batch, stacked from what the last decode step moves, divided by its tokens."""
    steps = [decode_step(asked, batch) for batch in BATCHES]
    top = max(step.cost.n_bytes / step.batch for step in steps)
    unit, size = next(one for one in UNITS if top >= one[1])
    traces = []
    for meaning, message, pattern in _PARTS:
        name = _(message)
        heights = [_part(step, meaning) / step.batch / size for step in steps]
        if any(heights):
            pattern_told = {"shape": pattern, "fillmode": "overlay", "size": 7, "solidity": 0.15}
            traces.append(
                {
                    "type": "bar", "x": [str(batch) for batch in BATCHES], "y": heights, "name": name,
                    "marker": {"color": COLOURS[theme][meaning], "pattern": pattern_told},
                    "hovertemplate": "%{x} · %{y:.3g} " + unit + "<extra>" + name + "</extra>",
                }
            )  # fmt: skip
    layout = {
        "barmode": "stack", "bargap": 0.25, "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 13}},
        "xaxis": {"title": {"text": _("sequences that share a step")}, "type": "category"},
        "yaxis": {"title": {"text": _("{unit} a new token").format(unit=unit)}, "range": [0, top / size * 1.06]},
    }  # fmt: skip
    figure = whole_figure(traces, layout, theme, height=320)
    return Drawn(
        spec=figure,
        title=_("What sharing a read moves, and what it cannot"),
        description=_("Bytes for each new token: {one} alone, {many} when {n} sequences share the step.").format(
            one=decimal_bytes(top), many=decimal_bytes(steps[-1].cost.n_bytes / BATCHES[-1]), n=BATCHES[-1]
        ),
        evidence="computed",
        how=how(asked),
        table=_table(steps),
        note=_note(asked),
    )


def how(asked: Asked) -> str:
    """Formulas and where the peaks come from."""
    return _(
        "Bytes: the weights once a step, each sequence's KV cache read up to its last token, its state read and "
        "written. Time: the larger of bytes ÷ {bandwidth} GB/s and operations ÷ {peak} TFLOP/s; it is a floor, since "
        "calls and launches are left out. {machine}: {source}, {dated}."
    ).format(
        bandwidth=significant(asked.hardware.bandwidth_bytes_per_s / 1e9),
        peak=significant(asked.hardware.flops_per_s / 1e12), machine=asked.hardware.name,
        source=told(asked.hardware.source), dated=asked.hardware.dated,
    )  # fmt: skip


def _part(step: Step, meaning: Meaning) -> int:
    return {"kv": step.cost.kv_bytes, "state": step.cost.state_bytes}.get(meaning, step.cost.weight_bytes)


def _note(asked: Asked) -> str:
    one = decode_step(asked, 1)
    kept = one.cost.kv_bytes + one.cost.state_bytes
    return _(
        "Of the {all} of one sequence alone, {kept} are its own KV cache and state: no batch makes them fewer."
    ).format(all=decimal_bytes(one.cost.n_bytes), kept=decimal_bytes(kept))


def _table(steps: list[Step]) -> dict[str, list[object]]:
    bounds = {"memory": _("memory"), "compute": _("arithmetic"), "overhead": _("overhead")}
    return {
        _("sequences"): [step.batch for step in steps],
        _("weights (bytes a step)"): [step.cost.weight_bytes for step in steps],
        _("KV cache (bytes a step)"): [step.cost.kv_bytes for step in steps],
        _("state (bytes a step)"): [step.cost.state_bytes for step in steps],
        _("step, at least (ms)"): [float(f"{step.ns / 1e6:.4g}") for step in steps],
        _("tokens/s together, at most"): [float(f"{step.tokens_per_s:.4g}") for step in steps],
        _("tokens/s each, at most"): [float(f"{step.tokens_per_s / step.batch:.4g}") for step in steps],
        _("limited by"): [bounds[step.bound] for step in steps],
    }
