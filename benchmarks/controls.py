"""The controls of instruments on a page, changed as a person changes them, and how long the page takes to answer.

A control is a number box, a choice from a list, a row of buttons or a slider. It is known by the class that Streamlit
writes for a widget's key, so that it is found again after the page has drawn it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, TimeoutError

from tests.browser.site.conftest import settled

ANSWERS_WITHIN_MS = 5_000
"""After this a page counts as having not answered."""
QUIET_MS = 300
"""A page that has done nothing for so long has finished, reruns of its own included."""

STREAM = """
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  constructor(...given) {
    super(...given);
    if (this.url.includes("/_stcore/stream"))
      this.addEventListener("message", () => { if (window.benchmarkClock) benchmarkClock.told = performance.now(); });
  }
};"""
"""Run before the page's own scripts: it notes when Streamlit's server says something."""

# The clock starts with the key or the press. A page has answered when its server has spoken, its script is not running
# and nothing has come for a moment; the time counts until two frames after the last change, when what came has been
# drawn, figures included. The script's state alone would miss a run whose beginning and end reach the page together.
CLOCK = """moment => {
  const app = document.querySelector("[data-testid=stApp]");
  const clock = window.benchmarkClock = {began: null, told: null, answered: null};
  for (const kind of ["keydown", "pointerdown"])
    addEventListener(kind, () => clock.began ??= performance.now(), {capture: true, once: true});
  let before = null, frames = 0, drawn = null;
  const look = () => {
    const state = app.dataset.testScriptState, seen = `${state} ${clock.told}`;
    frames = seen === before ? frames + 1 : 0;
    before = seen;
    if (frames === 1) drawn = performance.now();
    const quiet = clock.told > clock.began && performance.now() - clock.told > moment;
    if (clock.began && quiet && frames > 1 && state === "notRunning") clock.answered = drawn - clock.began;
    else if (window.benchmarkClock === clock) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
MOMENT_MS = 80
FOUND = """prefix => [...document.querySelectorAll(`[data-testid=stElementContainer][class*="st-key-${prefix}"]`)]
  .filter(one => !one.closest("[data-testid=stForm]"))
  .map(one => [one.className.split(" ").find(name => name.startsWith("st-key-")),
               one.querySelector("[data-testid=stWidgetLabel]")?.innerText])"""
QUIET = """quiet => new Promise(done => {
  const app = document.querySelector("[data-testid=stApp]");
  let since = performance.now();
  const look = () => {
    if (app.dataset.testScriptState !== "notRunning") since = performance.now();
    if (performance.now() - since > quiet) done(); else setTimeout(look, 20);
  };
  look();
})"""

LOADED = "!document.querySelector('[data-testid=stMain] [data-testid=stSkeleton]')"
"""Streamlit's own placeholder stands where a widget's code is still on its way."""


@dataclass
class Control:
    """One control on the page that is open."""

    page: Page
    key: str
    """The class of its element."""
    label: str
    tried: set[str] = field(default_factory=set)
    """The values that it has had."""

    @contextmanager
    def tested(self) -> Iterator[str | None]:
        """Whatever is chosen inside, what was chosen before is chosen again afterwards, where that can be done; it is
        what the context gives.
        """
        before = self.value
        yield before
        if before is not None and self.value != before:
            self.answered_ms(before)

    def answered_ms(self, wanted: str | None = None) -> float | None:
        """Choose what is wanted, else another value than now, if there is one a new one: milliseconds until the page
        has answered, None if it has not.
        """
        try:
            self._change(wanted)
            self.page.wait_for_function("benchmarkClock.answered !== null", timeout=ANSWERS_WITHIN_MS)
        except TimeoutError:
            self.page.keyboard.press("Escape")  # a list may still be open
            return None
        answered = float(self.page.evaluate("benchmarkClock.answered"))
        rest(self.page)
        return answered

    def _change(self, wanted: str | None) -> None:
        element = self.page.locator(f".{self.key}").first
        element.scroll_into_view_if_needed(timeout=ANSWERS_WITHIN_MS)
        for form, change in CHANGES.items():
            if (found := element.locator(form)).count():
                change(self, found, wanted)
                return

    @property
    def value(self) -> str | None:
        """What is typed or chosen; None where nothing is, as in a row of buttons that fill other boxes."""
        element = self.page.locator(f".{self.key}").first
        if (typed := element.locator(", ".join(TYPED))).count():
            return typed.first.input_value()
        pressed = element.locator(f"{BUTTONS}[aria-checked=true]")
        return pressed.first.inner_text() if pressed.count() else None


def _type_number(control: Control, box: Locator, wanted: str | None) -> None:
    """One step up, or down from the top."""
    value, step = float(box.input_value()), float(box.get_attribute("step") or 1)
    top = box.get_attribute("max")
    other = value + step if top is None or value + step <= float(top) else value - step
    box.fill(wanted or f"{other:.10g}", timeout=ANSWERS_WITHIN_MS)
    control.page.evaluate(CLOCK, MOMENT_MS)
    box.press("Enter")


def _choose(control: Control, box: Locator, wanted: str | None) -> None:
    """From the list under the box."""
    control.tried.add(box.input_value())
    box.click(timeout=ANSWERS_WITHIN_MS)
    options = control.page.get_by_role("option")
    options.first.wait_for(timeout=ANSWERS_WITHIN_MS)
    _press(control, options, wanted)


def _press(control: Control, options: Locator, wanted: str | None) -> None:
    """An option that is not chosen now, if possible one that has not been tried."""
    free = [one for one in options.all() if "true" not in (one.get_attribute(state) for state in CHOSEN)]
    fitting = [one for one in free if (one.inner_text() == wanted if wanted else one.inner_text() not in control.tried)]
    chosen = (fitting or free)[0]
    control.tried.add(chosen.inner_text())
    control.page.evaluate(CLOCK, MOMENT_MS)
    chosen.click(timeout=ANSWERS_WITHIN_MS)


def _slide(control: Control, thumb: Locator, wanted: str | None) -> None:
    """One stop on, or back from the end; towards what is wanted the clock runs from the last stop."""
    now, end = int(thumb.input_value()), int(thumb.get_attribute("max") or 0)
    stops = int(wanted) - now if wanted else (1 if now < end else -1)
    thumb.focus()
    for left in range(abs(stops), 0, -1):
        if left == 1:
            control.page.evaluate(CLOCK, MOMENT_MS)
        thumb.press("ArrowRight" if stops > 0 else "ArrowLeft")


NUMBER, LIST, SLIDER = TYPED = ("[data-testid=stNumberInputField]", "input[role=combobox]", "input[type=range]")
BUTTONS = "[role=radio]"
CHOSEN = ("aria-selected", "aria-checked")
CHANGES = {NUMBER: _type_number, LIST: _choose, BUTTONS: _press, SLIDER: _slide}
"""What a control has in it -> how it is changed."""


def prepared(page: Page) -> Page:
    """The page, before it has opened anything, made to note when the server speaks."""
    page.add_init_script(STREAM)
    return page


def controls_of(page: Page, prefix: str) -> list[Control]:
    """All controls whose keys begin so, those in shut expanders as well, which are opened. A form answers to its
    button, so what is in one is left out.
    """
    inside = ", ".join(CHANGES)
    page.wait_for_function(LOADED)
    rest(page)
    for expander in page.locator("[data-testid=stMain] [data-testid=stExpander] details:not([open])").all():
        if expander.locator(inside).count():
            expander.locator("summary").click()
    found = [Control(page, key, label or key) for key, label in page.evaluate(FOUND, prefix)]
    return [one for one in found if page.locator(f".{one.key}").locator(inside).count()]


def rest(page: Page) -> None:
    """Until the page has come to rest."""
    settled(page)
    page.evaluate(QUIET, QUIET_MS)
