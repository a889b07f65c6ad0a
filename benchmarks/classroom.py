"""A class at once on one server: the real app and engine, real page sessions, and a few real browsers among them.

    python -m benchmarks.classroom --learners 30 --minutes 30

Every learner has the Lab open and sends the 8-token prompt for 32 new tokens every 20 s, from a moment of its own in
those 20 s; whoever waits longer than that for an answer sends again when it is there. Learners are sessions that speak
Streamlit's own websocket protocol (benchmarks/streamlit_session.py) and read their run over the app's relay; a few are
browsers (`--browsers`, which use the same cores). Asked before: what an open page costs while nobody does anything.

Reported: whether every run gave the text that the same prompt gives alone (greedy, so there is one right answer), the
time to first token by the engine's clock and as a session sees it from the press of the button, lines that broke and
were taken up again, sessions that were lost for good, runs that were refused, and the memory of both processes over
time. The last line is the same as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from playwright.async_api import Error as BrowserError
from playwright.async_api import Page, async_playwright
from rich.console import Console
from rich.table import Table

from benchmarks.streamlit_session import Answer, Refused, Session, SessionLost
from engine.account.metrics import percentile, timings
from tests.browser import install
from tests.browser.site.conftest import App, ready_app

EVERY_S = 20.0
NEW_TOKENS = 32
# The picture of the run before stands there until the new one takes its place.
NEW_PICTURE = """before => {
  const picture = window.__flipbook;
  return picture?.runId && picture.runId !== before && picture.isOver && picture.passes;
}"""
PAGE = "lab"
QUERY = f"new={NEW_TOKENS}&stop=0&temperature=0"
LOOK_EVERY_S = 5.0
IDLE_S = 10.0
MIB = 1 << 20


@dataclass
class Seen:
    """What came of all runs."""

    expected: str
    answers: list[Answer] = field(default_factory=list)
    wrong: int = 0
    refused: int = 0
    lost: int = 0
    reconnections: int = 0
    """Lines of sessions that broke and were taken up again."""
    by_browsers: int = 0
    wrong_in_browsers: int = 0

    def take(self, answer: Answer) -> None:
        """One more run; its text has to be the one that the prompt gives alone."""
        self.answers.append(answer)
        self.wrong += answer.run.text != self.expected


@dataclass
class Watch:
    """Memory (resident bytes) and processor time of the app and its engine, over time."""

    app: psutil.Process
    engine: psutil.Process
    rows: list[tuple[float, int, int]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, app: App) -> Watch:
        """Find the two processes."""
        process = psutil.Process(app.process.pid)
        engine = next(one for one in process.children(recursive=True) if "serve" in one.cmdline())
        return cls(process, engine)

    def look(self) -> tuple[int, int]:
        """Note what both hold now."""
        held = self.app.memory_info().rss, self.engine.memory_info().rss
        self.rows.append((time.monotonic() - self.began, *held))
        return held

    def cpu_s(self) -> float:
        """Processor seconds that both have used."""
        return sum(sum(one.cpu_times()[:2]) for one in (self.app, self.engine))

    async def go_on(self) -> None:
        """Look again and again."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_S)


async def learn(session: Session, seen: Seen, first_s: float, until: float) -> None:
    """One learner: a run every 20 s, the first after `first_s`."""
    at = time.monotonic() + first_s
    while at < until:
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        try:
            seen.take(await session.run())
        except Refused:
            seen.refused += 1
        except (SessionLost, OSError):
            seen.lost += 1
            return
        at = max(at + EVERY_S, time.monotonic())  # whoever had to wait longer does not press twice


async def learn_in_browser(page: Page, seen: Seen, first_s: float, until: float) -> None:
    """The same with a mouse: press, and wait for the picture to have come to its end."""
    at = time.monotonic() + first_s
    while at < until:
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        try:
            before = await page.evaluate("window.__flipbook?.runId ?? null")
            await page.get_by_role("button", name="Run it", exact=True).click()
            passes = await (await page.wait_for_function(NEW_PICTURE, arg=before)).json_value()
        except BrowserError:
            seen.lost += 1
            return
        seen.by_browsers += 1
        seen.wrong_in_browsers += passes != NEW_TOKENS
        at = max(at + EVERY_S, time.monotonic())  # whoever had to wait longer does not press twice


async def idle_cost(
    stack: AsyncExitStack, url: str, watch: Watch, learners: int
) -> tuple[list[Session], dict[str, Any]]:
    """Open all pages, let them stand, and say what that costs."""
    before = sum(watch.look())
    sessions = [await stack.enter_async_context(Session(url, PAGE, QUERY)) for _ in range(learners)]
    await asyncio.sleep(2.0)
    opened, cpu = sum(watch.look()), watch.cpu_s()
    await asyncio.sleep(IDLE_S)
    return sessions, {
        "memory a session, MiB": (opened - before) / MIB / learners,
        "processor with all pages idle, % of a core": 100 * (watch.cpu_s() - cpu) / IDLE_S,
    }


async def measure(app: App, learners: int, browsers: int, minutes: float) -> tuple[Seen, Watch, dict[str, Any]]:
    """All of it."""
    async with AsyncExitStack() as stack:
        alone = await stack.enter_async_context(Session(app.url, PAGE, QUERY))
        seen = Seen((await alone.run()).run.text)
        watch = Watch.of(app)
        sessions, idle = await idle_cost(stack, app.url, watch, learners - browsers)
        pages = await _pages(stack, app.url, browsers)
        until = time.monotonic() + 60 * minutes
        watching = asyncio.create_task(watch.go_on())
        together = len(sessions) + len(pages)
        gaps = iter(EVERY_S * number / together for number in range(together))
        await asyncio.gather(
            *(learn(session, seen, next(gaps), until) for session in sessions),
            *(learn_in_browser(page, seen, next(gaps), until) for page in pages),
        )
        watching.cancel()
        watch.look()
        seen.reconnections = sum(session.reconnections for session in sessions)
        return seen, watch, idle


async def _pages(stack: AsyncExitStack, url: str, browsers: int) -> list[Page]:
    if not browsers:
        return []
    playwright = await stack.enter_async_context(async_playwright())
    browser = await playwright.chromium.launch(executable_path=install.find(), args=list(install.QUIET))
    pages = [await (await browser.new_context()).new_page() for _ in range(browsers)]
    for page in pages:
        page.set_default_timeout(60_000)
        await page.goto(f"{url}/{PAGE}?{QUERY}")
        await page.get_by_role("button", name="Run it").wait_for()
    return pages


def figures(seen: Seen, watch: Watch, idle: dict[str, Any]) -> dict[str, Any]:
    """Everything as numbers; milliseconds, MiB, None where nothing was measured."""
    engine = [answer.ttft_ns for answer in seen.answers if answer.ttft_ns is not None]
    seen_ns = [answer.seen_first_ns for answer in seen.answers if answer.seen_first_ns]
    queue = [ns for answer in seen.answers if (ns := timings(answer.run).queue_ns) is not None]
    return {
        "runs": len(seen.answers), "runs in browsers": seen.by_browsers,
        "wrong texts": seen.wrong, "wrong in browsers": seen.wrong_in_browsers,
        "refused": seen.refused, "lines taken up again": seen.reconnections, "sessions lost": seen.lost,
        "ttft by the engine, ms": _spread(engine), "queue, ms": _spread(queue),
        "press to first token at the session, ms": _spread(seen_ns),
        "memory": _memory(watch), "idle": idle,
        "cores": os.cpu_count(),
    }  # fmt: skip


def _spread(values: list[int]) -> dict[str, float | None]:
    found = {f"p{percent}": percentile(values, percent) for percent in (50, 95, 99, 100)}
    return {name: None if value is None else round(value / 1e6, 1) for name, value in found.items()}


def _memory(watch: Watch) -> dict[str, Any]:
    """Each process at the beginning, the middle and the end, and its growth over the second half."""
    rows = watch.rows[2:]  # the first two were taken before and after the pages were opened
    if len(rows) < 3:
        return {}
    middle = rows[len(rows) // 2]
    minutes = (rows[-1][0] - middle[0]) / 60
    return {
        name: {
            "start": round(rows[0][at] / MIB, 1), "middle": round(middle[at] / MIB, 1),
            "end": round(rows[-1][at] / MIB, 1), "most": round(max(row[at] for row in rows) / MIB, 1),
            "growth in the second half, MiB/min": round((rows[-1][at] - middle[at]) / MIB / minutes, 3),
        }
        for at, name in ((1, "app, MiB"), (2, "engine, MiB"))
    }  # fmt: skip


def report(found: dict[str, Any]) -> None:
    """Tables for people, a line for programs."""
    table = Table("", "p50", "p95", "p99", "most")
    for name in ("ttft by the engine, ms", "queue, ms", "press to first token at the session, ms"):
        table.add_row(name, *("" if value is None else f"{value:,.1f}" for value in found[name].values()))
    memory = Table("", "start", "middle", "end", "most", "growth in the second half, MiB/min")
    for name, values in found["memory"].items():
        memory.add_row(name, *(f"{value:,}" for value in values.values()))
    facts = Table("", "")
    for name in (
        "runs", "wrong texts", "runs in browsers", "wrong in browsers", "refused", "lines taken up again",
        "sessions lost",
    ):  # fmt: skip
        facts.add_row(name, str(found[name]))
    for name, value in found["idle"].items():
        facts.add_row(name, f"{value:.2f}")
    console = Console()
    for one in (facts, table, memory):
        console.print(one)
    print(json.dumps(found))


@contextmanager
def running_app() -> Iterator[App]:
    """The real app with its engine, and a home that goes with it."""
    with tempfile.TemporaryDirectory() as folder, ready_app(Path(folder)) as app:
        yield app


def main(
    learners: Annotated[int, typer.Option(min=1, help="Open pages, browsers among them.")] = 30,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long they learn.")] = 3.0,
    browsers: Annotated[int, typer.Option(min=0, help="How many of them are real browsers.")] = 2,
) -> None:
    """Measure and print; see the module's docstring."""
    with running_app() as app, suppress(KeyboardInterrupt):
        report(figures(*asyncio.run(measure(app, learners, min(browsers, learners - 1), minutes))))


if __name__ == "__main__":
    typer.run(main)
