"""The two figures of a run and the axes of a curve as SVG text, for paper: no script, no font of their own, told apart
without colour.

All return markup in which every text has been escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import count, takewhile
from math import floor, log10

from engine.account import cost
from engine.account.record import Run
from lessons.curves import Axes, Points
from lessons.filters import binary_bytes, significant
from lessons.questions import Question
from views.figure_curve import BESIDE, axes_described, said
from views.figure_memory import UNITS, axis_end
from views.palette import COLOURS
from views.words import _

WIDTH = 700
LEFT, RIGHT = 70, 12
INK, FAINT, GRID = "#0f172a", "#475569", "#cbd5e1"


def passes_svg(run: Run) -> str:
    """Every pass on a time axis to scale: prefill solid in the upper row, decode hatched in the lower one."""
    end_ns = run.passes[-1].end_ns
    height, rows = 120, {"prefill": 12, "decode": 50}
    parts = [_hatching()]
    for value in _ticks(end_ns / 1e6):
        parts.append(_tick(_across(value * 1e6, end_ns), 8, 84, f"{value:g}"))
    for phase, top in rows.items():
        parts.append(_text(LEFT - 8, top + 19, phase, "end", INK))
    for one in run.passes:
        left, right = _across(one.start_ns, end_ns), _across(one.end_ns, end_ns)
        fill = COLOURS["light"]["prefill"] if one.phase == "prefill" else "url(#hatching)"
        parts.append(
            f'<rect x="{left:.1f}" y="{rows[one.phase]}" width="{max(right - left, 0.5):.1f}" height="28" '
            f'fill="{fill}" stroke="{COLOURS["light"][one.phase]}" stroke-width="0.8"/>'
        )
    parts.append(_text((LEFT + WIDTH) / 2, height - 4, _("ms since the request arrived"), "middle", FAINT))
    described = _("{n} passes on a time axis to scale, {ms} ms in all.").format(
        n=len(run.passes), ms=significant(end_ns / 1e6)
    )
    return _svg(height, described, parts)


def memory_svg(run: Run) -> str:
    """KV cache (solid, then dashed beyond this run) and state (dotted line) over tokens held, on one byte axis."""
    shape, held = run.header.model, run.passes[-1].positions_held
    last, state = axis_end(shape, held), cost.recurrent_state_bytes(shape)
    top = max(state, cost.kv_bytes(shape, last)) * 1.12
    unit, size = next((unit, size) for unit, size in UNITS if top / 1.12 >= size)
    floor_y, height = 190, 240

    def at(position: float, value: float) -> tuple[float, float]:
        return _across(position, last), floor_y - value / top * (floor_y - 10)

    parts = [_tick(_across(value, last), 10, floor_y, f"{value:,.0f}") for value in _ticks(last)]
    for value in _ticks(top / size):
        y = at(0, value * size)[1]
        parts.append(_line([(LEFT, y), (WIDTH - RIGHT, y)], GRID, width=0.6))
        parts.append(_text(LEFT - 8, y + 4, f"{value:,g} {unit}", "end", FAINT))
    kv, here = COLOURS["light"]["kv"], at(held, cost.kv_bytes(shape, held))
    parts.append(_line([here, at(last, cost.kv_bytes(shape, last))], kv, dashes="7 5"))
    parts.append(_line([at(0, 0), here], kv, width=4))
    parts.append(f'<rect x="{here[0] - 4:.1f}" y="{here[1] - 4:.1f}" width="8" height="8" fill="{kv}"/>')
    beside = at(last * 0.75, cost.kv_bytes(shape, round(last * 0.75)))
    parts.append(_text(beside[0], beside[1] + 22, _("KV cache"), "start", kv))
    if state:
        parts.append(_line([at(0, state), at(last, state)], COLOURS["light"]["state"], dashes="2 3"))
        told = _("state: {size}, fixed").format(size=binary_bytes(state))
        parts.append(_text(LEFT + 8, at(0, state)[1] - 8, told, "start", COLOURS["light"]["state"]))
    parts.append(_text((LEFT + WIDTH) / 2, height - 8, _("tokens held"), "middle", FAINT))
    described = _("After {n} tokens the KV cache holds {kv} and the state {state}.").format(
        n=f"{held:,}", kv=binary_bytes(cost.kv_bytes(shape, held)), state=binary_bytes(state)
    )
    return _svg(height, described, parts)


def curve_svg(question: Question, axes: Axes, points: Points | None = None) -> str:
    """The axes of a curve to draw on with a pencil; with `points`, the curve on them, with a square at each mark."""
    floor_y, height, span = 240, 296, axes.at[-1] - axes.at[0]

    def at(x: float, y: float) -> tuple[float, float]:
        up = (y - question.smallest) / (question.largest - question.smallest)
        return _across(x - axes.at[0] + BESIDE * span, (1 + 2 * BESIDE) * span), floor_y - up * (floor_y - 34)

    parts = [_text(0, 16, question.counted, "start", FAINT)]
    parts += [_tick(at(x, 0)[0], 34, floor_y, f"{x:,g}") for x in axes.at]
    for value in filter(lambda value: value >= question.smallest, _ticks(question.largest)):
        y = at(axes.at[0], value)[1]
        parts.append(_line([(LEFT, y), (WIDTH - RIGHT, y)], GRID, width=0.6))
        parts.append(_text(LEFT - 8, y + 4, f"{value:,g}", "end", FAINT))
    parts.append(_text((LEFT + WIDTH) / 2, height - 8, axes.along, "middle", FAINT))
    if points is None:
        return _svg(height, axes_described(question, axes), parts)
    drawn = [at(x, y) for x, y in zip(axes.at, points, strict=True)]
    parts.append(_line(drawn, INK))
    parts += [f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{INK}"/>' for x, y in drawn]
    return _svg(height, f"{question.counted}: {said(axes, points, question.unit)}", parts)


def _svg(height: int, described: str, parts: list[str]) -> str:
    label = escape(described, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _hatching() -> str:
    line = f'<path d="M0 6L6 0" stroke="{COLOURS["light"]["decode"]}" stroke-width="1.4"/>'
    return f'<defs><pattern id="hatching" width="6" height="6" patternUnits="userSpaceOnUse">{line}</pattern></defs>'


def _across(value: float, last: float) -> float:
    return LEFT + value / last * (WIDTH - LEFT - RIGHT)


def _ticks(last: float) -> Iterator[float]:
    """From 0 in steps of 1, 2 or 5 times a power of ten, about six of them."""
    rough = last / 6
    power = 10.0 ** floor(log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough)
    return takewhile(lambda value: value <= last, (step * n for n in count()))


def _tick(x: float, top: float, bottom: float, label: str) -> str:
    return _line([(x, top), (x, bottom)], GRID, width=0.6) + _text(x, bottom + 16, label, "middle", FAINT)


def _line(points: list[tuple[float, float]], colour: str, *, width: float = 2.5, dashes: str = "") -> str:
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="{width}"{pattern}/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
