"""Who owns which page of a KV cache, and what each chat takes: by pages, and with room for a whole context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.account.page_table import PAGE_SIZE, Table
from views.figure_margins import Spec
from views.figure_style import FAINT, GRID, TEXT, whole_figure
from views.palette import BACKGROUND, COLOURS, Theme
from views.words import _

COLUMNS = 16
"""Pages in a row of the picture."""
_TURNS_AT: dict[Theme, float] = {"light": 13 / 16, "dark": 9 / 16}
MOST_NAMES = 3
"""A page with more readers than this tells their number."""


def pool_figure(table: Table, theme: Theme) -> Spec:
    """The pool, page by page: letters for the chats that read it, a stronger colour where it is fuller."""
    pages = range(table.pool.n_pages)
    n_rows = -(-len(pages) // COLUMNS)
    filled = [table.filled(page) / PAGE_SIZE if table.pool.owners[page] else None for page in pages]
    shared = [page for page in pages if len(table.readers(page)) > 1]
    traces: list[dict[str, Any]] = [
        {
            "type": "heatmap", "z": _rows(filled), "zmin": 0, "zmax": 1, "showscale": False, "xgap": 3, "ygap": 3,
            "colorscale": [[0, BACKGROUND[theme]], [1, COLOURS[theme]["kv"]]],
            "customdata": _rows([page_told(table, page) for page in pages]),
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "text", "hoverinfo": "skip",
            "x": [page % COLUMNS for page in pages], "y": [page // COLUMNS for page in pages],
            "text": [_label(table.readers(page)) for page in pages],
            "textfont": {"size": 12, "color": [_letters(share or 0, theme) for share in filled]},
        },
        _frames(pages, GRID[theme], 1),
        _frames(shared, TEXT[theme], 2.5),
    ]  # fmt: skip
    layout = {
        "margin": {"l": 8, "r": 8, "b": 8},
        "xaxis": {"visible": False, "range": [-0.55, COLUMNS - 0.45]},
        "yaxis": {"visible": False, "range": [n_rows - 0.45, -0.55]},
    }
    return whole_figure(traces, layout, theme, height=40 + 34 * n_rows)


def _rows(cells: list[Any]) -> list[list[Any]]:
    return [cells[first : first + COLUMNS] for first in range(0, len(cells), COLUMNS)]


def _letters(filled: float, theme: Theme) -> str:
    """What is readable on a page so full: the words' own colour up to a point, that of the ground beyond."""
    return TEXT[theme] if filled <= _TURNS_AT[theme] else BACKGROUND[theme]


def _label(readers: str) -> str:
    return readers if len(readers) <= MOST_NAMES else f"×{len(readers)}"


def page_told(table: Table, page: int) -> str:
    """One page in words."""
    if not table.pool.owners[page]:
        return _("page {page}: free").format(page=page)
    readers = " ".join(table.readers(page)) or _("only the kept beginning")
    return _("page {page}: {readers}, {filled} of {size} places filled").format(
        page=page, readers=readers, filled=table.filled(page), size=PAGE_SIZE
    )


def _frames(pages: Sequence[int], colour: str, width: float) -> dict[str, Any]:
    """The frames of all these pages as one broken line, which is drawn far sooner than a shape for each."""
    corners = ((-0.45, -0.45), (0.45, -0.45), (0.45, 0.45), (-0.45, 0.45), (-0.45, -0.45))
    x = [value for page in pages for value in (*(page % COLUMNS + dx for dx, _dy in corners), None)]
    y = [value for page in pages for value in (*(page // COLUMNS + dy for _dx, dy in corners), None)]
    line = {"color": colour, "width": width}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip"}


def chats_figure(table: Table, context: int, theme: Theme) -> Spec:
    """For each chat the positions that it holds, the empty places of its last page, and the rest of a whole context."""
    names = [_("chat {name}").format(name=chat.name) for chat in table.running]
    held, empty = [chat.length for chat in table.running], [chat.empty_places for chat in table.running]
    rest = [max(0, context - chat.length - chat.empty_places) for chat in table.running]
    bars = (
        (_("held"), held, COLOURS[theme]["kv"], ""),
        (_("empty in its last page"), empty, FAINT[theme], ""),
        (_("kept free for it, if it got a whole context"), rest, GRID[theme], "/"),
    )
    traces = [
        {
            "type": "bar", "y": names, "x": lengths, "name": label, "orientation": "h", "hovertemplate": "%{x}",
            "marker": {
                "color": colour, "pattern": {"shape": pattern, "fgcolor": FAINT[theme], "size": 6, "solidity": 0.15}
            },
        }
        for label, lengths, colour, pattern in bars
    ]  # fmt: skip
    layout = {
        "barmode": "stack", "bargap": 0.25, "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        "xaxis": {"title": {"text": _("positions")}, "range": [0, context]},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }  # fmt: skip
    return whole_figure(traces, layout, theme, height=90 + 24 * max(3, len(names)))
