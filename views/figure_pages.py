"""Who owns which page of a KV cache, and what each chat takes: by pages, and with room for a whole context."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from engine.account.page_table import PAGE_SIZE, Table
from views.figure_style import FAINT, GRID, TEXT, styled
from views.palette import BACKGROUND, COLOURS, Theme
from views.words import _

COLUMNS = 16
"""Pages in a row of the picture."""
_TURNS_AT: dict[Theme, float] = {"light": 13 / 16, "dark": 9 / 16}
MOST_NAMES = 3
"""A page with more readers than this tells their number."""


def pool_figure(table: Table, theme: Theme) -> go.Figure:
    """The pool, page by page: letters for the chats that read it, a stronger colour where it is fuller."""
    pages = range(table.pool.n_pages)
    n_rows = -(-len(pages) // COLUMNS)
    filled = [table.filled(page) / PAGE_SIZE if table.pool.owners[page] else None for page in pages]
    figure = go.Figure(
        go.Heatmap(
            z=_rows(filled), zmin=0, zmax=1, colorscale=[[0, BACKGROUND[theme]], [1, COLOURS[theme]["kv"]]],
            showscale=False, xgap=3, ygap=3,
            customdata=_rows([page_told(table, page) for page in pages]), hovertemplate="%{customdata}<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=[page % COLUMNS for page in pages], y=[page // COLUMNS for page in pages], mode="text", hoverinfo="skip",
            text=[_label(table.readers(page)) for page in pages],
            textfont={"size": 12, "color": [_letters(share or 0, theme) for share in filled]},
        )
    )  # fmt: skip
    styled(figure, theme, height=40 + 34 * n_rows)
    # All frames at once: added one by one, each would have the figure check all before it.
    figure.update_layout(shapes=[_frame(table, page, theme) for page in pages])
    figure.update_xaxes(visible=False, range=[-0.55, COLUMNS - 0.45])
    figure.update_yaxes(visible=False, range=[n_rows - 0.45, -0.55])
    return figure


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


def _frame(table: Table, page: int, theme: Theme) -> dict[str, Any]:
    """A thin frame for every page, a heavy one for a page with several readers."""
    row, column = divmod(page, COLUMNS)
    colour, width = (TEXT[theme], 2.5) if len(table.readers(page)) > 1 else (GRID[theme], 1)
    return {
        "type": "rect", "x0": column - 0.45, "x1": column + 0.45, "y0": row - 0.45, "y1": row + 0.45,
        "line": {"color": colour, "width": width},
    }  # fmt: skip


def chats_figure(table: Table, context: int, theme: Theme) -> go.Figure:
    """For each chat the positions that it holds, the empty places of its last page, and the rest of a whole context."""
    names = [_("chat {name}").format(name=chat.name) for chat in table.running]
    held, empty = [chat.length for chat in table.running], [chat.empty_places for chat in table.running]
    rest = [max(0, context - chat.length - chat.empty_places) for chat in table.running]
    figure = go.Figure()
    bars = (
        (_("held"), held, COLOURS[theme]["kv"], ""),
        (_("empty in its last page"), empty, FAINT[theme], ""),
        (_("kept free for it, if it got a whole context"), rest, GRID[theme], "/"),
    )
    for label, lengths, colour, pattern in bars:
        figure.add_trace(
            go.Bar(
                y=names, x=lengths, name=label, orientation="h", hovertemplate="%{x}",
                marker={"color": colour, "pattern": {"shape": pattern, "fgcolor": FAINT[theme], "size": 6,
                                                     "solidity": 0.15}},
            )
        )  # fmt: skip
    styled(figure, theme, height=90 + 24 * max(3, len(names)))
    figure.update_layout(
        barmode="stack", bargap=0.25, showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
    )  # fmt: skip
    figure.update_xaxes(title_text=_("positions"), range=[0, context])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure
