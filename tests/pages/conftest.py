"""Pages without a browser: Streamlit's AppTest on the real script, with an engine that answers as a test wants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from engine.account.record import ModelShape, Run, Sampling, Serving
from engine.account.record_file import save
from engine.account.trace_record import TraceRecord
from engine.loop.policy import Policy
from engine.loop.scheduler import BatchRow
from engine.serve import wire
from engine.serve.client import EngineRefused, EngineUnavailable
from lessons import catalogue
from tests.lessons.story_run import STORY, story_run
from tests.pages.components import spoken
from tests.views.test_figures import story_trace
from views import engine_calls, method

MAIN = catalogue.HOME.parent / "views" / "main.py"


class FakeEngine:
    """Keeps runs in a dictionary. `refuses` and `is_down` are what every call then meets."""

    supervised = True

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.rows: list[BatchRow] = []
        self.asked: list[tuple[str, Sampling]] = []
        self.served: list[Serving] = []
        self.models_asked: list[str | None] = []
        self.names_here = ["story", "story:int8", "story:int4"]
        self.lanes: list[str | None] = []
        self.reserved_until: str | None = None
        self.cancelled: list[str] = []
        self.deleted: list[str] = []
        self.traced: list[tuple[int, int]] = []
        self.refuses: EngineRefused | None = None
        self.is_down = False
        self.state = wire.Health("ready")
        self.next_run: Run | None = None

    @property
    def client(self) -> FakeEngine:
        return self

    def health(self) -> wire.Health:
        return self.state

    def submit(
        self, prompt: str, sampling: Sampling, *, model: str | None = None, serving: Serving = wire.DEFAULT_SERVING,
        lane: str | None = None,
    ) -> str:  # fmt: skip
        self._answer()
        self.models_asked.append(model)
        self.lanes.append(lane)
        self.asked.append((prompt, sampling))
        self.served.append(serving)
        run_id = f"{len(self.asked):032x}"
        run = self.next_run or story_run(reply=[" word"] * sampling.max_new_tokens)
        header = msgspec.structs.replace(run.header, run_id=run_id, prompt=prompt, sampling=sampling)
        self.runs[run_id] = Run([header, *run.events[1:]])
        return run_id

    def run(self, run_id: str) -> Run | None:
        if self.is_down:
            raise EngineUnavailable("nobody")
        return self.runs.get(run_id)

    def cancel(self, run_id: str) -> None:
        self.cancelled.append(run_id)

    def delete(self, run_ids: list[str]) -> None:
        self.deleted += run_ids

    def trace(self, run_id: str, layer: int, head: int) -> TraceRecord:
        self._answer()
        self.traced.append((layer, head))
        return story_trace()

    def batch_table(self) -> wire.BatchTable:
        return wire.BatchTable(self.rows, self.reserved_until)

    def reserve(self, seconds: float) -> wire.Reservation:
        self._answer()
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        self.reserved_until = until.isoformat(timespec="milliseconds")
        return wire.Reservation("key", self.reserved_until)

    def give_back(self, key: str) -> None:
        self.reserved_until = None

    def steps(self, start: int = 0) -> wire.StepTable:
        return wire.StepTable([], Policy())

    def names(self) -> list[str]:
        self._answer()
        return self.names_here

    def models(self) -> list[ModelShape]:
        self._answer()
        return [STORY]

    def _answer(self) -> None:
        if self.is_down:
            raise EngineUnavailable("nobody")
        if self.refuses:
            raise self.refuses


@pytest.fixture
def engine(monkeypatch) -> FakeEngine:
    fake = FakeEngine()
    monkeypatch.setattr(engine_calls, "engine_link", lambda: fake)
    monkeypatch.setattr(method, "engine_link", lambda: fake)
    engine_calls._trace.clear()
    return fake


@pytest.fixture(autouse=True)
def recording(tmp_path, monkeypatch) -> Run:
    """The recording that the lesson opens with, under the name that it asks for."""
    run = story_run()
    monkeypatch.setattr(catalogue, "RECORDINGS", tmp_path)
    for lesson in catalogue.lessons():
        for name in (lesson.front.recording, lesson.front.other_recording):
            if name:
                save(run, tmp_path / f"{name}.json")
    return run


def opened(**params: str) -> AppTest:
    """The site's front door, with these query parameters."""
    page = AppTest.from_file(str(MAIN), default_timeout=30)
    for name, value in params.items():
        page.query_params[name] = value
    return checked(page.run())


def checked(page: AppTest) -> AppTest:
    """The page after a script run, which must not have raised."""
    assert not page.exception, page.exception
    return page


def press(page: AppTest, label: str) -> AppTest:
    """Press the button that says this."""
    (button,) = [button for button in page.button if button.label == label]
    return checked(button.click().run())


def words(page: AppTest) -> str:
    """Everything that the page says, in order."""
    leaves = [element for element in page.main if not hasattr(element, "children")]
    texts = [text for element in leaves for text in _said(element)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(element: Any) -> list[Any]:
    if element.type == "html":
        return [spoken(element.value)]
    return [getattr(element, name, None) for name in ("label", "value")]
