"""Reading and writing in own runs: what is told of a run follows from its record, and own runs come first."""

import pytest

from lessons.instruments import INSTRUMENTS
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, REPLY, story_run
from tests.lessons.two_served import recomputed_run
from views import reading_speaking
from views.engine_calls import Found
from views.figure_reading_speaking import reading_figure
from views.figure_style import PATTERNS
from views.instruments.own_runs import results_of
from views.palette import COLOURS
from views.reading_speaking import MOST, ReadAndWrote, bundled_runs, own_runs

P, N = len(PROMPT), len(REPLY)


class Kept:
    """A store that knows these runs of everybody."""

    def __init__(self, n: int) -> None:
        self.ids = [f"run{i}" for i in range(n)]

    def runs(self, _browser: str) -> list[str]:
        return self.ids


def told(run) -> ReadAndWrote:
    one = ReadAndWrote.of(run)
    assert one is not None
    return one


def test_a_run_is_told_by_its_prefill_its_gaps_and_what_its_decodes_looked_back_at():
    one = told(story_run())
    assert (one.prompt_tokens, one.new_tokens, one.prefill_passes, one.decode_passes) == (P, N, 1, N - 1)
    assert one.read_ns == pytest.approx(PREFILL_NS / P) and one.write_ns == DECODE_NS
    assert one.looks_back == sum(P + j for j in range(N - 1)) == (N - 1) * P + (N - 1) * (N - 2) // 2


@pytest.mark.parametrize(
    "run", [story_run(reason="cancelled"), story_run(reason=None), story_run(reply=REPLY[:1]), recomputed_run()]
)
def test_a_run_that_cannot_speak_for_reading_and_writing_is_left_out(run):
    assert ReadAndWrote.of(run) is None


def test_only_the_visitors_own_runs_are_looked_at_and_only_the_latest(monkeypatch):
    asked = []

    def find(run_id: str) -> Found:
        asked.append(run_id)
        return Found(None if run_id == "run19" else story_run())

    monkeypatch.setattr(reading_speaking, "browser", lambda: "me")
    monkeypatch.setattr(reading_speaking, "attempt_store", lambda: Kept(20))
    monkeypatch.setattr(reading_speaking, "find_run", find)
    assert len(own_runs()) == MOST - 1, "one is kept no more"
    assert asked == [f"run{i}" for i in range(20 - MOST, 20)]


def test_a_browser_without_a_cookie_has_no_runs_of_its_own(monkeypatch):
    monkeypatch.setattr(reading_speaking, "browser", lambda: None)
    assert own_runs() == []


def test_the_recordings_stand_in_and_the_figure_says_so():
    runs = bundled_runs()
    assert len(runs) == 3
    drawn = reading_figure(runs, "light", own=False)
    assert drawn.evidence == "recorded" and "recordings" in drawn.note
    assert reading_figure(runs, "light", own=True).evidence == "measured"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_run_has_two_bars_told_apart_without_colour_and_its_size_under_it(theme):
    figure = reading_figure([told(story_run()), told(story_run(reply=REPLY[:4]))], theme, own=True).figure
    assert [len(bar.x) for bar in figure.data] == [2, 2] and figure.layout.showlegend
    for phase, bar in zip(("prefill", "decode"), figure.data, strict=True):
        assert bar.marker.color == COLOURS[theme][phase] and bar.marker.pattern.shape == PATTERNS[phase]
    assert list(figure.layout.xaxis.ticktext) == ["run 1<br>8 + 10", "run 2<br>8 + 4"]
    assert figure.layout.yaxis.rangemode == "tozero" and figure.layout.yaxis.title.text == "ms a token"


def test_what_is_published_adds_up():
    runs = [told(story_run()), told(story_run(reply=REPLY[:4]))]
    results = results_of(runs)
    assert set(results) == set(INSTRUMENTS["own-runs"].publishes)
    assert results["new_tokens"] == N + 4 and results["decode_passes"] == N - 1 + 3 and results["prefill_passes"] == 2
    assert results["write_over_read"] == pytest.approx(DECODE_NS / (PREFILL_NS / P))
