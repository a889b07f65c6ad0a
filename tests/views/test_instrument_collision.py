"""A long prompt among decoders: the stall is the long step, chunks end it, and the curve shows what each size costs."""

import itertools

import pytest

from engine.account.cost import PRESET_SHAPES
from engine.account.presets import HARDWARE
from engine.account.step_time import Roofline, Work
from engine.loop.policy import Policy
from engine.serve.client import EngineRefused
from lessons.instruments import INSTRUMENTS
from lessons.playback import MEASUREMENTS
from tests.views.live_link import LiveLink
from views import colliding, collision_scene, engine_calls
from views.collision_scene import CHUNKS, SHORT_PROMPT, Chosen, close_up, measured, of_chunk, outcome, played, results
from views.engine_runs import Trouble
from views.figure_collision import trade_figure
from views.palette import COLOURS
from views.store import RunStore
from views.virtual_clock import play

CHOSEN = Chosen(prompt_tokens=2048, decoders=3, chunk=512)


@pytest.fixture(scope="module")
def scenes():
    setups = CHOSEN.setups()
    return played(setups, [play(one) for one in setups])


def test_the_stall_is_the_time_of_the_one_long_step(scenes):
    clock = Roofline(PRESET_SHAPES["Qwen3.5-27B"], HARDWARE["H100 SXM"])
    whole = outcome(of_chunk(scenes, None))
    held = SHORT_PROMPT + len(of_chunk(scenes, None).token_ns(1))
    step = clock.ns([Work(2048, 0)] + [Work(1, held)] * 3)
    assert whole.stall_ns == pytest.approx(step, rel=0.02) and whole.n_prefills == 1
    assert whole.plain_gap_ns == pytest.approx(clock.ns([Work(1, SHORT_PROMPT + 8)] * 3), rel=0.02)


def test_a_chunk_bounds_the_gap_and_everybody_decodes_in_every_step(scenes):
    cut = of_chunk(scenes, 512)
    assert outcome(cut).n_prefills == 2048 // 512
    long = max(cut.arrivals)
    reads = [row for row, share in cut.shares_of(long) if share.phase == "prefill"]
    assert all(sum(share.phase == "decode" for share in row.shares) == 3 for row in reads)
    assert all(sum(share.n_tokens for share in row.shares if share.phase == "prefill") <= 512 for row in reads)
    stalls = [outcome(one).stall_ns for one in scenes]
    assert stalls[0] == max(stalls) and stalls[1:] == sorted(stalls[1:]), "whole, then chunks ascending"


@pytest.mark.parametrize(
    "chosen", [Chosen(), Chosen(chunk=16, prompt_tokens=1000), Chosen(machine="m4max", shape="qwen4b")]
)
def test_the_decoders_outlast_the_reading_whatever_is_chosen(chosen):
    setups = [chosen.setup(chunk) for chunk in (None, chosen.chunk)]
    for scene in played(setups, [play(one) for one in setups]):
        long = max(scene.arrivals)
        read = scene.token_ns(long)[0]
        for ticket in itertools.islice(scene.arrivals, chosen.decoders):
            tokens = scene.token_ns(ticket)
            assert tokens[1] < scene.arrivals[long] and tokens[-1] > read


def test_the_curve_has_every_size_up_to_the_prompt_and_the_chosen_one():
    assert [one.policy.chunk for one in Chosen(prompt_tokens=2048, chunk=100).setups()] == [None, 64, 100, 256, 1024]
    assert set(CHUNKS) <= {one.policy.chunk for one in Chosen(prompt_tokens=9000).setups()}


def test_the_close_up_shows_the_reading_and_a_little_around_it(scenes):
    near = close_up(of_chunk(scenes, 512))
    long = max(near.arrivals)
    assert near.rows[0].start_ns == 0 < near.arrivals[long] < near.token_ns(long)[0] < near.end_ns
    assert len(near.rows) < len(of_chunk(scenes, 512).rows)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_two_lines_differ_by_colour_dash_and_shape_and_lie_inside_the_axis(scenes, theme):
    outcomes = [outcome(one) for one in scenes]
    drawn = trade_figure(outcomes, theme, evidence="simulated", how="")
    wait, stall = drawn.figure.data
    assert (wait.line.color, stall.line.color) == (COLOURS[theme]["prefill"], COLOURS[theme]["decode"])
    assert wait.line.dash != stall.line.dash and wait.marker.symbol != stall.marker.symbol
    assert list(wait.x) == ["64", "256", "512", "1,024", "whole"] and drawn.figure.layout.showlegend
    low, high = (10**power for power in drawn.figure.layout.yaxis.range)
    assert all(low <= value <= high for line in (wait, stall) for value in line.y)
    assert drawn.table["steps to read the prompt"] == [32, 8, 4, 2, 1]
    assert drawn.figure.layout.annotations[0].text.startswith("an ordinary gap")


def test_what_is_published_compares_whole_and_cut(scenes):
    found = results(scenes, 512)
    assert found["decoders"] == 3 and found["prompt"] == 2048 and found["steps"] == 4 and found["small"] == 64
    assert found["stall_ratio"] == found["stall_whole"] / found["stall_chunk"] > 1


def test_the_recorded_scenes_are_the_real_engines(tmp_path, monkeypatch):
    taken = measured()
    assert [one.policy.chunk for one in taken.playbacks] == [None, 256, 64, 16]
    assert results(taken.playbacks, 64)["stall_ratio"] > 1 and (MEASUREMENTS / "collision.json").is_file()
    monkeypatch.setattr(collision_scene.playback, "MEASUREMENTS", tmp_path)
    assert measured() is None


def test_a_link_leads_back_to_the_same_collision():
    instrument = INSTRUMENTS["collision"]
    settings = {"shape": "qwen9b", "machine": "a100", "prompt_tokens": "32768", "decoders": "16", "chunk": "4096"}
    assert [instrument.problem(*one) for one in settings.items() if instrument.problem(*one)] == []


@pytest.fixture
def link(tmp_path, monkeypatch):
    one = LiveLink(RunStore(tmp_path), Policy("decode_first", 8, 2048, 16), step_s=0.015)
    monkeypatch.setattr(engine_calls, "engine_link", lambda: one)
    # This engine's tokens are bytes, and its texts are short.
    monkeypatch.setattr(colliding, "long_text", lambda: "a quiet day " * 4)
    monkeypatch.setattr(colliding, "REPLY_TOKENS", 50)
    monkeypatch.setattr(colliding, "BEFORE", 4)
    yield one
    one.engine.close()


def test_a_long_prompt_is_pasted_while_ones_own_replies_are_written(link):
    told = []
    found = colliding.collide("hello", told.append)
    assert found.is_own and len(found.playback.arrivals) == colliding.DECODERS + 1
    *decoders, long = found.playback.arrivals
    assert all(len(found.playback.token_ns(ticket)) == 50 for ticket in decoders)
    assert all(found.playback.token_ns(ticket)[1] <= found.playback.arrivals[long] for ticket in decoders)
    values = colliding.own_results(found)
    assert (values["own_prompt"], values["own_chunk"], values["own_steps"]) == (48, 16, 3)
    assert values["own_stall"] >= values["own_plain_gap"] > 5e6 and values["own_ttft"] > 15e6
    assert told[-1] == 1.0 and not link.cancelled


def test_replies_that_are_over_before_the_book_has_been_read_measure_nothing_and_say_so(link, monkeypatch):
    monkeypatch.setattr(colliding, "REPLY_TOKENS", 2)
    with pytest.raises(Trouble, match="over before"):
        colliding.collide("hello", lambda share: None)


def test_a_refused_book_stops_the_replies(link, monkeypatch):
    submit, refusal = link.submit, EngineRefused("busy", "The engine is full.", 503)

    def refuse_the_book(prompt, *args, **more):
        if prompt == colliding.long_text():
            raise refusal
        return submit(prompt, *args, **more)

    monkeypatch.setattr(link, "submit", refuse_the_book)
    with pytest.raises(Trouble, match="full"):
        colliding.collide("hello", lambda share: None)
    assert set(link.cancelled) == set(link.logs)


def test_what_is_kept_is_the_engines_own_way_of_cutting():
    found = colliding.kept()
    assert not found.is_own and found.playback.policy.chunk == Policy().chunk and "Recorded on" in found.how
