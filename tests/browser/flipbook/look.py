"""How the tests look at the flipbook: colours on its canvas, what it reports, what its socket is sent."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import LAYERS, saved, story
from views.palette import COLOURS

PROMPT = range(8)
ATTENTION = [i for i, kind in enumerate(LAYERS) if kind == "full_attention"]
DELTA = [i for i, kind in enumerate(LAYERS) if kind == "linear_attention"]


def at_rest(page: Page, step: int | None = None) -> None:
    page.wait_for_function("__flipbook.motion === 'rest' && __flipbook.progress === 1")
    if step is not None:
        page.wait_for_function("step => __flipbook.step === step", arg=step)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def colours(page: Page, cells: list[tuple[int, int]], part: str = "y") -> list[str | None]:
    """Colours on the score's canvas at (layer, position) cells: #rrggbb, or None where a column is out of view."""
    return page.evaluate(
        """([cells, part]) => {
          const canvas = document.getElementById("host").shadowRoot.querySelector(".fb-score-canvas");
          const ratio = canvas.width / canvas.clientWidth;
          const context = canvas.getContext("2d");
          const paper = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
          const hex = (value) => Math.round(value).toString(16).padStart(2, "0");
          return cells.map(([layer, position]) => {
            const cell = __flipbook.cell(layer, position);
            if (!cell) return null;
            const pixel = context.getImageData(Math.round(cell.x * ratio), Math.round(cell[part] * ratio), 1, 1).data;
            const share = pixel[3] / 255;
            return "#" + paper.map((value, i) => hex(pixel[i] * share + value * (1 - share))).join("");
          });
        }""",
        [cells, part],
    )


def lit(page: Page, phase: str, theme: str = "light", columns: range = range(17)) -> set[tuple[int, int]]:
    """Cells drawn in the colour of a phase."""
    cells = [(layer, position) for layer in range(len(LAYERS)) for position in columns]
    wanted = COLOURS[theme][phase]
    return {cell for cell, colour in zip(cells, colours(page, cells), strict=True) if near(colour, wanted)}


def near(colour: str | None, wanted: str, tolerance: int = 6) -> bool:
    if colour is None:
        return False
    return all(abs(int(colour[i : i + 2], 16) - int(wanted[i : i + 2], 16)) <= tolerance for i in (1, 3, 5))


def block(columns) -> set[tuple[int, int]]:
    return {(layer, position) for layer in range(len(LAYERS)) for position in columns}


def events_of(run) -> list[dict]:
    return saved(run)["events"]


def send(page: Page, message: dict, socket: int = 0) -> None:
    page.evaluate("([i, message]) => sockets[i].send(message)", [socket, message])


def reports(page: Page, name: str) -> list:
    return [value for told, value in page.evaluate("window.reports") if told == name]


def live(page: Page, count: int, run=None, **changes):
    """Open a live run and let its first events arrive."""
    events = events_of(run or story())
    mount(page, run_id="ab" * 16, **changes)
    page.wait_for_function("sockets.length === 1")
    send(page, {"from": 0, "events": events[:count]})
    return events
