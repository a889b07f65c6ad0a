"""Attention by the tile: which tiles of keys each program reads, and the bytes that three ways of writing it move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.account import attention_traffic
from engine.account.attention_traffic import Heads, Traffic
from lessons.filters import binary_bytes
from views.figure_margins import Spec
from views.figure_style import FAINT, GRID, TEXT, Drawn, whole_figure
from views.palette import BACKGROUND, COLOURS, Theme
from views.words import N_, _

NOT_YET, BEFORE, NOW = 1, 2, 3
"""What a tile of keys is at one turn of the loop; one that is never read is None."""


@dataclass(frozen=True)
class Tiling:
    """A prompt cut into tiles: `block_m` queries of one program, `block_n` keys of one turn of its loop."""

    n_tokens: int
    block_m: int
    block_n: int

    @property
    def turns(self) -> int:
        """Turns of the loop over all programs of one head."""
        return attention_traffic.tiles_read(self.n_tokens, self.block_m, self.block_n)

    @property
    def programs(self) -> int:
        """Tiles of queries."""
        return attention_traffic.n_programs(self.n_tokens, self.block_m)

    def tiles_of(self, program: int) -> int:
        """Turns that one program takes."""
        return -(-(attention_traffic.last_query(self.n_tokens, self.block_m, program) + 1) // self.block_n)

    def place(self, turn: int) -> tuple[int, int]:
        """Program and its tile of keys at a turn, both from 0, if one program ran after the other."""
        for program in range(self.programs):
            if turn < self.tiles_of(program):
                return program, turn
            turn -= self.tiles_of(program)
        return self.programs - 1, self.tiles_of(self.programs - 1) - 1

    def keys_read(self, turn: int) -> int:
        """Positions of keys loaded up to and with a turn, over all programs of one head."""
        program, tile = self.place(turn)
        before = sum(attention_traffic.last_query(self.n_tokens, self.block_m, one) + 1 for one in range(program))
        last = attention_traffic.last_query(self.n_tokens, self.block_m, program)
        return before + min((tile + 1) * self.block_n, last + 1)


def map_figure(tiling: Tiling, turn: int, theme: Theme) -> Spec:
    """Queries down, keys across: tiles read before, the tile that is read now, those to come, and those never read."""
    program, tile = tiling.place(turn)
    m, n, end = tiling.block_m, tiling.block_n, tiling.n_tokens
    rows = [_row(tiling, one, program, tile) for one in range(tiling.programs)]
    kv = COLOURS[theme]["kv"]
    columns = len(rows[0])
    traces: list[dict[str, Any]] = [
        {
            "type": "heatmap", "z": rows, "x": [(i + 0.5) * n for i in range(columns)],
            "y": [(i + 0.5) * m for i in range(len(rows))],
            "zmin": 1, "zmax": 3, "showscale": False, "xgap": 1, "ygap": 1, "hoverinfo": "skip",
            "colorscale": [[0, GRID[theme]], [0.5, _faded(kv, theme)], [1, kv]],
        },
        {
            "type": "scatter", "x": [0, end], "y": [0, end], "mode": "lines", "hoverinfo": "skip",
            "line": {"color": TEXT[theme], "width": 1.5, "dash": "dot"},
        },
    ]  # fmt: skip
    # A frame besides the colour: the tile of now is found without it.
    frame = {
        "type": "rect", "x0": tile * n, "x1": (tile + 1) * n, "y0": program * m, "y1": (program + 1) * m,
        "line": {"color": TEXT[theme], "width": 2.5},
    }  # fmt: skip
    common = {"showgrid": False, "nticks": 5}
    x = {"title": {"text": _("keys and values, by position")}, "range": [0, columns * n], **common}
    y = {"title": {"text": _("queries, by position")}, "range": [len(rows) * m, 0], **common}
    return whole_figure(traces, {"shapes": [frame], "xaxis": x, "yaxis": y}, theme, height=330)


def _row(tiling: Tiling, program: int, at_program: int, at_tile: int) -> list[int | None]:
    read, columns = tiling.tiles_of(program), -(-tiling.n_tokens // tiling.block_n)

    def state(tile: int) -> int | None:
        if tile >= read:
            return None
        if (program, tile) == (at_program, at_tile):
            return NOW
        return BEFORE if (program, tile) < (at_program, at_tile) else NOT_YET

    return [state(tile) for tile in range(columns)]


def _faded(colour: str, theme: Theme) -> str:
    """Halfway between a colour and the page."""
    mix = [(int(colour[i : i + 2], 16) + int(BACKGROUND[theme][i : i + 2], 16)) // 2 for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in mix)


def ways(tiling: Tiling, heads: Heads) -> dict[str, Traffic]:
    """The three ways by name, of one layer."""
    return {
        _("scores written out"): attention_traffic.written_out(tiling.n_tokens, heads),
        _("one query at a time"): attention_traffic.tiled(tiling.n_tokens, 1, heads),
        _("tiles of {m} queries").format(m=tiling.block_m): attention_traffic.tiled(
            tiling.n_tokens, tiling.block_m, heads
        ),
    }


def bytes_figure(tiling: Tiling, heads: Heads, theme: Theme) -> Drawn:
    """Bytes moved in one layer by each way, by what they hold."""
    moved = ways(tiling, heads)
    least = attention_traffic.least(tiling.n_tokens, heads)
    names = list(moved)
    size, unit = _unit(max(one.total for one in moved.values()))
    traces = []
    for label, colour, pattern, parts in _PARTS:
        held = [sum(getattr(one, part) for part in parts) for one in moved.values()]
        fill = COLOURS[theme]["kv"] if colour == "kv" else FAINT[theme]
        traces.append(
            {
                "type": "bar", "y": names, "x": [one / size for one in held], "name": _(label), "orientation": "h",
                "marker": {"color": fill, "pattern": {"shape": pattern, "fillmode": "overlay", "size": 7}},
                "customdata": [binary_bytes(one) for one in held], "hovertemplate": "%{customdata}",
            }
        )  # fmt: skip
    totals = [
        {
            "x": traffic.total / size, "y": name, "text": binary_bytes(traffic.total), "showarrow": False,
            "xanchor": "left", "xshift": 6, "font": {"color": TEXT[theme], "size": 13},
        }
        for name, traffic in moved.items()
    ]  # fmt: skip
    top = max(one.total for one in moved.values()) / size
    layout = {
        "barmode": "stack", "showlegend": True, "annotations": totals,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        "xaxis": {"title": {"text": unit}, "range": [0, top * 1.28]},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }  # fmt: skip
    figure = whole_figure(traces, layout, theme, height=260)
    return Drawn(
        spec=figure,
        title=_("Bytes that one layer moves"),
        description=_("Bars: bytes moved by three ways of computing the same attention over {n} tokens.").format(
            n=tiling.n_tokens
        ),
        note=_("Everything read once and the result written once would be {least}. No way moves less.").format(
            least=binary_bytes(least)
        ),
        evidence="computed",
        how="",
        table={
            _("way"): names,
            **{_(label): [sum(getattr(one, part) for part in parts) for one in moved.values()]
               for label, _colour, _pattern, parts in _PARTS},
            _("bytes in all"): [one.total for one in moved.values()],
        },
    )  # fmt: skip


_PARTS = (
    (N_("keys and values"), "kv", "", ("keys", "values")),
    (N_("scores"), "faint", "x", ("scores",)),
    (N_("queries, gates, outputs, tables"), "faint", "", ("queries", "gate", "output", "tables")),
)
"""Legend, colour, pattern and the parts of a `Traffic` that it stands for."""


def _unit(top: int) -> tuple[int, str]:
    return next(((1 << shift, unit) for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)) if top >= 1 << shift),
                (1, _("bytes")))  # fmt: skip
