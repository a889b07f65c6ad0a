"""The step table: blocks where the steps were, waits with reasons, the visitor's own row marked; sharing measured."""

import pytest

from engine.account.record import Sampling
from engine.account.step_record import Share, StepRow, Wait
from engine.loop.policy import Policy
from engine.serve.client import EngineRefused
from lessons.instruments import INSTRUMENTS
from lessons.playback import Playback
from tests.views.live_link import LiveLink
from views import engine_calls, sharing
from views.batch_simulated import Chosen, policy_results
from views.engine_runs import EngineRuns, Trouble
from views.figure_sharing import sharing_figure
from views.figure_steps import MOST_ROWS, row_label, step_table, steps_figure, stretches
from views.figure_style import PATTERNS
from views.palette import COLOURS
from views.sharing import kept, kept_rates, measure, own_rate
from views.store import RunStore
from views.virtual_clock import play
from views.what_if_load import playback_of

MS = 1_000_000


def row(number, start, end, shares, waiting=()):
    return StepRow(
        number, start * MS, end * MS, 0, [Share(*share) for share in shares], [Wait(*wait) for wait in waiting],
        number + 1, 9, len(shares), 4,
    )  # fmt: skip


ROWS = [
    row(0, 0, 5, [(1, "prefill", 8, 0, 1)]),
    row(1, 5, 7, [(1, "decode", 1, 0, 1)], [(2, "the step is full")]),
    row(2, 7, 12, [(1, "decode", 1, 0, 1), (2, "prefill", 6, 0, 1)]),
    row(3, 12, 14, [(2, "decode", 1, 0, 1)]),
]
SCENE = Playback("small", Policy(), ROWS, {1: 0, 2: 4 * MS}, {1: 8, 2: 6})


def test_a_request_waits_from_its_arrival_to_its_first_part_with_the_reason():
    found = stretches(SCENE, merged=False)
    assert [(one.ticket, one.doing, one.start_ns // MS, one.end_ns // MS) for one in found] == [
        (1, "prefill", 0, 5), (1, "decode", 5, 7), (1, "decode", 7, 12),
        (2, "waits", 4, 7), (2, "prefill", 7, 12), (2, "decode", 12, 14),
    ]  # fmt: skip
    assert next(one.reason for one in found if one.doing == "waits") == "the step is full"


def test_neighbours_that_do_the_same_become_one_where_there_are_too_many():
    merged = [one for one in stretches(SCENE, merged=True) if (one.ticket, one.doing) == (1, "decode")]
    assert [(one.start_ns // MS, one.end_ns // MS, one.n_steps, one.n_tokens) for one in merged] == [(5, 12, 2, 2)]
    many = Playback(
        "many", Policy(), [row(n, 3 * n, 3 * n + 2, [(1, "decode", 1, 0, 1)]) for n in range(151)], {1: 0}, {1: 8}
    )
    drawn = [steps_figure([one], "light", own=(), evidence="measured", how="", title="") for one in (SCENE, many)]
    blocks = [next(trace for trace in one.figure.data if trace.name == "decode") for one in drawn]
    assert [len(one.x) for one in blocks] == [3, 1] and [one.marker.line.width for one in blocks] == [1, 0]


def test_decodes_of_their_own_are_hatched_together_and_the_legend_shows_both():
    """A pattern on each of hundreds of bars took Plotly half of its time."""
    figure = steps_figure([SCENE], "light", own=(), evidence="measured", how="", title="").figure
    parts, hatch, legend = (trace for trace in figure.data if trace.name in ("decode", ""))
    assert not parts.showlegend and parts.marker.pattern.shape is None
    assert list(hatch.base) == [5, 12] and list(hatch.x) == [7, 2], "over the two of the first request, and the other's"
    assert hatch.marker.color == "rgba(0,0,0,0)" and hatch.hoverinfo == "skip" and not hatch.showlegend
    assert (legend.marker.color, legend.marker.pattern.shape) == (parts.marker.color, hatch.marker.pattern.shape)
    assert legend.x == (None,) and set(legend.y) <= set(figure.layout.yaxis.categoryarray)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_is_to_scale_with_colour_and_pattern_and_the_own_row_in_words(theme):
    drawn = steps_figure([SCENE], theme, own={2}, evidence="measured", how="", title="")
    blocks = {trace.name: trace for trace in reversed(drawn.figure.data)}
    legend = {trace.name: trace for trace in drawn.figure.data if trace.showlegend is not False}
    assert list(blocks["prefill"].base) == [0, 7] and list(blocks["prefill"].x) == [5, 5]
    assert list(blocks["waits"].base) == [4] and list(blocks["waits"].x) == [3]
    for phase in ("prefill", "decode"):
        assert blocks[phase].marker.color == legend[phase].marker.color == COLOURS[theme][phase]
        assert legend[phase].marker.pattern.shape == PATTERNS[phase]
    assert blocks["waits"].width < blocks["decode"].width, "waiting is told apart by its height as well"
    assert drawn.figure.layout.showlegend and list(legend) == ["waits", "prefill", "decode"]
    low, high = drawn.figure.layout.xaxis.range
    assert low == 0 and 14 < high < 15
    axis = drawn.figure.layout.yaxis
    assert list(axis.categoryarray) == [row_label(2, {2}), row_label(1, {2})] and "you" in axis.categoryarray[0]
    assert axis.type == "category", "a number sign alone would be read as a number"


def test_two_playbacks_share_one_clock_and_one_legend():
    longer = Playback(
        "long", Policy(), [*ROWS, row(4, 14, 40, [(2, "decode", 1, 0, 1)])], SCENE.arrivals, SCENE.prompts
    )
    figure = steps_figure([SCENE, longer], "light", own=(), evidence="simulated", how="", title="").figure
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range and figure.layout.xaxis.range[1] > 40
    legend = [(trace.name, trace.xaxis) for trace in figure.data if trace.showlegend is not False]
    assert legend == [("waits", "x"), ("prefill", "x"), ("decode", "x")]
    assert [note.text for note in figure.layout.annotations] == ["small", "long"]


def test_of_very_many_requests_the_first_are_drawn_and_all_are_in_the_table():
    many = Playback("many", Policy(), ROWS, dict.fromkeys(range(1, MOST_ROWS + 4), 0), {})
    drawn = steps_figure([many], "light", own=(), evidence="simulated", how="", title="")
    assert len(drawn.figure.layout.yaxis.categoryarray) == MOST_ROWS and drawn.note.startswith("3 more")
    assert len(drawn.table["step"]) == len(ROWS)


def test_the_table_says_who_took_part_what_memory_was_used_and_who_waited_why():
    table = step_table([SCENE])
    assert table["prefill: #request (tokens)"] == ["#1 (8)", "", "#2 (6)", ""]
    assert table["decode: #request"] == ["", "#1", "#1", "#2"]
    assert table["waiting, and why"] == ["", "#2: the step is full", "", ""]
    assert table["KV pages used"] == [1, 2, 3, 4] and table["tokens in"] == [8, 1, 7, 1]
    assert "engine" not in table and step_table([SCENE, SCENE])["engine"] == ["small"] * 8


def test_the_curve_holds_every_point_and_tells_the_two_speeds_apart_by_dash_and_shape():
    rates = [(1, 400.0, 410.0), (8, 1200.0, 160.0)]
    figure = sharing_figure(rates, [(8, 1500.0, 200.0)], "light", evidence="measured", how="").figure
    every, each, mine = figure.data
    assert (every.line.dash, each.line.dash) == ("solid", "dot") and every.marker.symbol != each.marker.symbol
    assert figure.layout.yaxis.range[1] > 1500 and figure.layout.xaxis.range[0] < 1 < 8 < figure.layout.xaxis.range[1]
    assert mine.name == "you, just now" and figure.layout.showlegend


def test_the_kept_measurement_gives_what_the_lesson_shows():
    shared = kept(8)
    assert shared.n == 8 and not shared.measured and "Recorded on" in shared.how
    assert [n for n, _all, _each in kept_rates()] == [1, 2, 4, 8] and kept(7) is None
    alone, every = shared.alone.tokens_per_s, shared.together.tokens_per_s
    assert shared.gain == every / alone and shared.own_share == own_rate(shared.together) / own_rate(shared.alone)


def test_nothing_is_made_up_where_no_measurement_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing.playback, "MEASUREMENTS", tmp_path)
    assert kept(8) is None and kept_rates() == []


def test_static_and_continuous_meet_the_same_arrivals():
    chosen = Chosen()
    both = [playback_of("", one.policy, play(one), one.arrivals) for one in chosen.setups()]
    assert both[0].arrivals == both[1].arrivals and both[0].n_tokens == both[1].n_tokens
    found = policy_results(both, 6)
    assert found["first_time"] > found["second_time"] and found["first_mine"] == both[0].ttft_ns(6)
    assert max(len(one.shares) for scene in both for one in scene.rows) <= chosen.at_once


def test_a_link_leads_back_to_the_same_load():
    chosen = Chosen(rate=2.5, requests=9, mine=2)
    instrument = INSTRUMENTS["batch-table"]
    assert [instrument.problem(*one) for one in chosen.linked().items() if instrument.problem(*one)] == []


@pytest.fixture
def link(tmp_path, monkeypatch):
    one = LiveLink(RunStore(tmp_path))
    monkeypatch.setattr(engine_calls, "engine_link", lambda: one)
    yield one
    one.engine.close()


def test_one_alone_then_several_at_once_on_an_engine(link):
    told = []
    shared = measure("hello", Sampling(max_new_tokens=12, ignore_eos=True), 3, told.append)
    assert shared.measured and shared.n == 3 and len(shared.alone.arrivals) == 1
    assert shared.alone.n_tokens == 12 and shared.together.n_tokens == 36
    texts = {log.run.text for log in link.logs.values()}
    assert len(texts) > 1, "the copies have seeds of their own"
    assert told[-1] == 1.0 and told == sorted(told) and not link.cancelled


def test_a_refusal_is_told_in_the_engines_words(link):
    link.refuses = EngineRefused("prompt_too_long", "The prompt is too long.", 400)
    with pytest.raises(Trouble, match="too long"):
        measure("hello", Sampling(max_new_tokens=4), 2, lambda share: None)


def test_if_one_copy_is_refused_the_others_are_stopped(link, monkeypatch):
    submit, places = link.submit, iter(range(9))

    def refuse_the_second(*args, **more):
        if next(places) == 1:
            raise EngineRefused("busy", "The engine is full.", 503)
        return submit(*args, **more)

    monkeypatch.setattr(link, "submit", refuse_the_second)
    with pytest.raises(Trouble, match="full"), EngineRuns(lambda share: None) as runs:
        runs.begin_together("hello", Sampling(max_new_tokens=50, ignore_eos=True), 4)
    assert link.logs and set(link.cancelled) == set(link.logs)


def test_whoever_is_interrupted_leaves_nothing_running(link):
    def interrupt(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure("hello", Sampling(max_new_tokens=50, ignore_eos=True), 2, interrupt)
    assert set(link.cancelled) == set(link.logs)
