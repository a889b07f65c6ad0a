"""Two machines: what moves and how long it takes, tails against rates, and figures that hold what they say."""

import pytest

from engine.account import cost
from engine.account.cost import PRESET_SHAPES
from engine.account.distribution import Distribution
from engine.account.presets import LINKS
from lessons.filters import milliseconds
from lessons.instruments import INSTRUMENTS, published_kinds
from views.figure_moved import moved_figure
from views.figure_percentiles import Panel, percentiles_figure
from views.instruments.two_pools import _linked
from views.palette import COLOURS
from views.pools import ARRANGEMENTS, Chosen, link_of, moved_bytes, results, served, transfer_table
from views.virtual_clock import play

SHAPE = PRESET_SHAPES["Qwen3.5-27B"]


@pytest.fixture(scope="module")
def outcome():
    chosen = Chosen(requests=8)
    return {a: served([play(one) for one in them]) for a, them in chosen.setups().items()}


def test_every_arrangement_serves_the_same_requests_on_two_machines():
    setups = Chosen(requests=9).setups()
    everything = sorted(setups["split"][0].arrivals)
    for arrangement in ("whole", "chunks"):
        assert sorted(one for half in setups[arrangement] for one in half.arrivals) == everything
        assert len(setups[arrangement]) == 2
    assert setups["split"][0].link == "NVLink 4" and setups["whole"][0].link is None


def test_what_a_request_moves_is_its_prompts_cache_and_the_state(outcome):
    assert outcome["split"].moved_bytes == moved_bytes(SHAPE, 2000)
    assert outcome["split"].transfer_ns == LINKS["NVLink 4"].transfer_ns(moved_bytes(SHAPE, 2000))
    assert outcome["whole"].moved_bytes is None and outcome["chunks"].longest_wait_ns is None


def test_everything_published_is_known_to_the_lessons(outcome):
    kinds = published_kinds("two-pools")
    assert {f"two_pools.{name}" for name in results(outcome)} == set(kinds)
    assert all(value is not None for value in results(outcome).values())


def test_the_second_token_waits_for_the_hand_over(outcome):
    assert outcome["split"].second_token.p50 > outcome["split"].gap.p50 + outcome["split"].transfer_ns * 0.9


def test_the_table_gives_every_links_time():
    table = transfer_table(SHAPE, [1, 2000])
    assert table["KV cache (MB)"] == [round(cost.kv_bytes(SHAPE, n) / 1e6, 1) for n in (1, 2000)]
    for link in LINKS.values():
        assert table[f"{link.name} (ms)"][1] == round(moved_bytes(SHAPE, 2000) * 1e3 / link.bandwidth_bytes_per_s, 2)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_state_and_cache_are_stacked_in_their_colours_and_patterns(theme):
    link = link_of("eth25")
    drawn = moved_figure(SHAPE, link, 2000, theme)
    state, cache = drawn.figure.data
    assert (state.line.color, cache.line.color) == (COLOURS[theme]["state"], COLOURS[theme]["kv"])
    assert state.fillpattern.shape != cache.fillpattern.shape and state.stackgroup == cache.stackgroup
    assert len(set(state.y)) == 1 and cache.y[-1] > cache.y[0]
    assert (
        drawn.figure.layout.xaxis.range == (0, 16_000) and drawn.figure.layout.yaxis.range[1] > state.y[0] + cache.y[-1]
    )
    assert milliseconds(link.transfer_ns(moved_bytes(SHAPE, 2000))) in drawn.description


def spread(*values_ms: float) -> Distribution:
    return Distribution.of([value * 1e6 for value in values_ms])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_percentiles_differ_by_shape_on_one_axis_that_holds_them_all(theme):
    panels = [
        Panel("waits", "prefill", [("a", spread(3, 20, 400)), ("b", spread(50)), ("none", spread())], 141e6),
        Panel("gaps", "decode", [("a", spread(15, 16, 17))]),
    ]
    drawn = percentiles_figure(panels, theme, title="t", evidence="simulated", how="")
    figure = drawn.figure
    rows = figure.data
    notes = [note.text for note in figure.layout.annotations]
    assert "● p50   ◆ p90   ■ p99   ✕ worst" in notes, "the legend"
    for trace in rows:
        drawn_as = dict(zip(trace.customdata, trace.marker.symbol, strict=True))
        del drawn_as[""]
        assert drawn_as == {"p50": "circle", "p90": "diamond", "p99": "square", "worst": "x"}, "as the legend says"
    assert [trace.marker.color for trace in rows] == [COLOURS[theme]["prefill"], COLOURS[theme]["decode"]]
    assert rows[0].x[:5] == (20, 400, 400, 400, None) and rows[0].y[5].startswith("b"), (
        "a row breaks off before the next"
    )
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range and figure.layout.xaxis.type == "log"
    low, high = (10**power for power in figure.layout.xaxis.range)
    assert all(low <= x <= high for trace in rows for x in trace.x if x is not None) and high >= 400
    assert "mean 141 ms" in notes
    assert drawn.table["of"] == ["a", "b", "a"], "groups without values are left out"
    assert drawn.table["max (ms)"] == [400, 50, 17] and drawn.table["n"] == [3, 1, 3]


def test_a_link_leads_back_to_the_same_load():
    instrument = INSTRUMENTS["two-pools"]
    settings = _linked(Chosen(link="ib400", rate=0.5, requests=200, at_once=64))
    assert [instrument.problem(*one) for one in settings.items() if instrument.problem(*one)] == []
    assert len(ARRANGEMENTS) == 3
