"""How long a learner waits for a lesson to open and for an instrument to answer, in a real browser beside the real app.

    python -m benchmarks.lessons
    python -m benchmarks.lessons --rounds 5 --only percentiles

1. Opening a lesson by its address, the browser's cache filled: from the request to a page whose script has ended.
2. Opening it by a click in the side bar, which is how a course is walked.
3. Every control of every instrument: from a change to another value to a page that has answered. Each instrument stands
   by its own address in the Lab or, with `--lessons`, where lessons have it, opened to their end. No model runs for
   that; what the engine's scheduler takes to play out a service on the virtual clock is part of it.
4. The same controls put on values that they have had, where such a play is kept: what the answer takes beyond the
   engine's own time. Left out are buttons that fill other boxes, which have no value of their own.

The browser runs on the same cores as the app and the engine. A median for each lesson or control, of them the median
and the extremes, then the controls that took longer than wanted and those that did not answer; the last line is the
same as JSON.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from benchmarks.controls import controls_of, prepared, rest
from lessons import catalogue
from lessons.instruments import INSTRUMENTS
from lessons.structure import Lesson
from tests.browser import install
from tests.browser.pictures import PASS_OVER
from tests.browser.site.conftest import ready_app, settled
from tests.browser.site.visitor import visit
from views.lab import STANDING

OPENS_IN_MS, ANSWERS_IN_MS = 1000, 300
NEW, KEPT = "an instrument, a new value", "an instrument, a value it has had"
AFTER_RUN_MS = 1000
"""Until a page has heard that its run has ended and has drawn the rest of the lesson."""

Waits = dict[str, list[float | None]]
"""Lesson or control -> its times; None where the page did not answer."""


def opened_ms(page: Page, url: str) -> float:
    """Milliseconds from the request for an address to a page that stands."""
    began = time.monotonic()
    visit(page, url)
    page.get_by_role("heading", level=1).first.wait_for()
    return 1e3 * (time.monotonic() - began)


def clicked_ms(page: Page, slug: str) -> float:
    """Milliseconds from a click on the lesson's name in the side bar to a page that stands."""
    link = page.locator(f"[data-testid=stSidebarNavLink][href$='/{slug}']")
    link.scroll_into_view_if_needed()
    began = time.monotonic()
    link.click()
    page.wait_for_url(f"**/{slug}**")
    settled(page)
    return 1e3 * (time.monotonic() - began)


def openings(page: Page, url: str, rounds: int, only: str) -> dict[str, Waits]:
    """Way of opening -> lesson -> its times."""
    slugs = [one.slug for one in catalogue.lessons() if only in one.slug] * rounds
    by_address: Waits = {}
    by_click: Waits = {}
    visit(page, f"{url}/{catalogue.lessons()[0].slug}")  # the first fills the browser's cache
    for slug in slugs:
        by_address.setdefault(slug, []).append(opened_ms(page, f"{url}/{slug}"))
    for slug in slugs:
        by_click.setdefault(slug, []).append(clicked_ms(page, slug))
    return {"by address": by_address, "by click": by_click}


def in_the_lab(page: Page, url: str) -> Iterator[tuple[str, str]]:
    """Open one instrument after another in the Lab: its name, and how the keys of its controls begin."""
    for name, instrument in INSTRUMENTS.items():
        if instrument.in_lab and name not in STANDING:
            visit(page, f"{url}/lab?instrument={name}")
            yield name, f"lab-chosen-{name}"


def in_lessons(page: Page, url: str) -> Iterator[tuple[str, str]]:
    """Open one lesson with instruments after another, to its end and without guesses."""
    for lesson in catalogue.lessons():
        if lesson.named("instrument"):
            _open_whole(page, url, lesson)
            yield lesson.slug, f"{lesson.slug}-"


def _open_whole(page: Page, url: str, lesson: Lesson) -> None:
    visit(page, f"{url}/{lesson.slug}")
    if lesson.named("run"):
        page.get_by_role("button", name="Run it", exact=True).click()
        settled(page)
    run, show = (page.get_by_role("button", name=name) for name in PASS_OVER)
    for _guess in lesson.named("predict"):
        run.or_(show).first.click()
        rest(page)
    page.wait_for_function("!window.__flipbook || window.__flipbook.isOver")
    page.wait_for_timeout(AFTER_RUN_MS)


def answers(page: Page, places: Iterator[tuple[str, str]], rounds: int, only: str) -> dict[str, Waits]:
    """Kind of value -> place and control -> its times. What was chosen in one is put back before the next is tried."""
    new: Waits = {}
    kept: Waits = {}
    for place, prefix in places:
        for control in controls_of(page, prefix):
            name = _free_name(f"{place}: {control.label}", new)
            if only not in name:
                continue
            with control.tested() as value:
                values = [value]
                new[name] = []
                for _round in range(rounds):
                    new[name].append(control.answered_ms())
                    values.append(control.value)
                if value is not None:
                    kept[name] = [control.answered_ms(one) for one in islice(cycle(values[-2:]), rounds)]
    return {NEW: new, KEPT: kept}


def _free_name(name: str, waits: Waits) -> str:
    """A lesson may show an instrument twice."""
    numbered = (name if n == 1 else f"{name} ({n})" for n in range(1, len(waits) + 2))
    return next(one for one in numbered if one not in waits)


def summary(waits: dict[str, Waits], rounds: int) -> Table:
    """A row for each kind of wait."""
    table = Table("wait, ms", "median", "least", "most", "n", "wanted")
    for kind, by_name in waits.items():
        medians = list(_medians(by_name).values())
        wanted = ANSWERS_IN_MS if kind in (NEW, KEPT) else OPENS_IN_MS
        spread = (statistics.median(medians), min(medians), max(medians)) if medians else ("", "", "")
        told = [f"{value:.0f}" if isinstance(value, float) else value for value in spread]
        table.add_row(kind, *told, f"{len(medians)} x {rounds}", f"{wanted}")
    return table


def _medians(by_name: Waits) -> dict[str, float]:
    """Of those that answered every time."""
    return {
        name: statistics.median([one for one in times if one is not None])
        for name, times in by_name.items()
        if None not in times
    }


def slow(waits: Waits) -> list[str]:
    """The controls that took longer than wanted, the slowest first, and those that did not answer."""
    late = sorted(((ms, name) for name, ms in _medians(waits).items() if ms > ANSWERS_IN_MS), reverse=True)
    silent = [name for name, times in waits.items() if None in times]
    return [*(f"{ms:.0f} ms  {name}" for ms, name in late), *(f"did not answer  {name}" for name in silent)]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Of each lesson and each control.")] = 3,
    only: Annotated[str, typer.Option(help="Part of the name of a lesson, an instrument or a control.")] = "",
    lessons: Annotated[bool, typer.Option(help="Instruments in their lessons and not in the Lab.")] = False,
) -> None:
    """Measure, print the table and the line of JSON."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, ready_app(Path(folder)) as app:
        browser = playwright.chromium.launch(executable_path=install.find(), args=list(install.QUIET))
        page = prepared(browser.new_context(viewport={"width": 1280, "height": 900}).new_page())
        waits = openings(page, app.url, rounds, only)
        places = in_lessons(page, app.url) if lessons else in_the_lab(page, app.url)
        waits |= answers(page, places, rounds, only)
        browser.close()
    Console().print(summary(waits, rounds))
    for kind in (NEW, KEPT):
        print(kind, *slow(waits[kind]), sep="\n")
    rounded = {
        kind: {name: [one and round(one) for one in times] for name, times in by.items()} for kind, by in waits.items()
    }
    print(json.dumps({"benchmark": "lessons"} | rounded))


if __name__ == "__main__":
    typer.run(main)
