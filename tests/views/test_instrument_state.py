"""Inside the fixed state: what is told of a state is what the delta rule did, and figures hold what they show."""

import math

import msgspec
import numpy as np
import pytest

from engine.account.record import Candidate, Device
from engine.account.trace_record import LayerGates, StateTrace, TraceRecord, pack
from lessons.instruments import INSTRUMENTS
from lessons.playback import MEASUREMENTS
from lessons.recall import STRETCHES, kept_recall, planted, sentences
from tests.lessons.story_run import story_run, token
from views.figure_state import MARKED, changes_figure, heads_figure, recall_figure
from views.instruments.state import KEPT_TRACE, recall_results, results_of
from views.palette import COLOURS
from views.recall_try import Odds, name_problem, odds_of, tried, tries_table
from views.state_changes import LONGEST_HALF_LIFE, changes, heads_keep

THEMES = ["light", "dark"]
RNG = np.random.default_rng(5)
N, V, K = 12, 16, 16
DECAY = RNG.uniform(0.8, 0.99, N).astype(np.float16)
STRENGTH = RNG.uniform(0.2, 0.9, N).astype(np.float16)


def delta_rule() -> tuple[np.ndarray, list[tuple[float, float, float]]]:
    """States [N, V, K] of random keys and values in float64, and the lengths that were faded, erased and written."""
    state, states, told = np.zeros((V, K)), [], []
    for i in range(N):
        key, value = RNG.normal(size=K), RNG.normal(size=V)
        key /= np.linalg.norm(key)
        a, b = float(DECAY[i]), float(STRENGTH[i])
        faded = (1 - a) * np.linalg.norm(state)
        state = a * state
        erased, written = b * np.outer(state @ key, key), b * np.outer(value, key)
        told.append((faded, float(np.linalg.norm(erased)), float(np.linalg.norm(written))))
        state = state - erased + written
        states.append(state)
    return np.stack(states), told


def trace_of(states: np.ndarray, decay: np.ndarray, strength: np.ndarray, stride: int = 1) -> TraceRecord:
    """A trace of one layer with one head, rounded as the engine rounds it."""
    scales = np.abs(states).max(axis=(1, 2)) / 127
    whole = np.round(states / scales[:, None, None]).astype(np.int8)
    return TraceRecord(
        run_id="1" * 32, model="story", device=Device("cpu", "Test CPU", 2, "2", {}), layer_types=["linear_attention"],
        tokens=[token(f" t{i}") for i in range(len(decay))], n_prompt=4, passes=[],
        gates=[LayerGates(0, 1, pack(decay.astype("<f2").tobytes()), pack(strength.astype("<f2").tobytes()))],
        state=StateTrace(0, 0, V, K, stride, list(range(len(states))), scales.tolist(), pack(whole.tobytes())),
    )  # fmt: skip


def kept_trace() -> TraceRecord:
    return msgspec.json.decode((MEASUREMENTS / f"{KEPT_TRACE}.json").read_bytes(), type=TraceRecord)


def test_what_was_faded_erased_and_written_is_found_again_without_the_keys():
    states, told = delta_rule()
    found = changes(trace_of(states, DECAY, STRENGTH))
    assert [one.faded for one in found] == pytest.approx([one[0] for one in told], abs=0.02)
    assert [one.erased for one in found] == pytest.approx([one[1] for one in told], abs=0.05)
    assert [one.written for one in found] == pytest.approx([one[2] for one in told], rel=0.05)


def test_a_change_that_the_rounding_hides_is_blank_and_not_zero():
    states, _ = delta_rule()
    frozen = np.repeat(states[-1:], N, axis=0)
    found = changes(trace_of(frozen, np.ones(N), STRENGTH))
    assert all(one.erased is None and one.written is None for one in found[1:])
    table = changes_figure(trace_of(frozen, np.ones(N), STRENGTH), "light", recorded=True).table
    assert table["erased"][1] is None and table["written"][1] is None


def test_where_states_were_left_out_no_change_is_told():
    states, _ = delta_rule()
    assert changes(trace_of(states, DECAY, STRENGTH, stride=2)) == []
    assert changes_figure(trace_of(states, DECAY, STRENGTH, stride=2), "light", recorded=True) is None


@pytest.mark.parametrize("half_life", [0.5, 3.0, 50.0])
def test_a_constant_decay_gives_its_half_life(half_life):
    decay = np.full(N, 0.5 ** (1 / half_life))
    (head,) = heads_keep(trace_of(np.ones((N, V, K)), decay, STRENGTH))
    assert head.half_life == pytest.approx(half_life, rel=0.02)
    assert head.share_after(3 * head.half_life) == pytest.approx(1 / 8)


def test_half_lives_that_half_precision_cannot_tell_stop_at_the_longest_and_a_dead_head_has_one_above_zero():
    (endless,) = heads_keep(trace_of(np.ones((N, V, K)), np.ones(N), STRENGTH))
    (dead,) = heads_keep(trace_of(np.ones((N, V, K)), np.zeros(N), STRENGTH))
    assert endless.half_life == LONGEST_HALF_LIFE and 0 < dead.half_life < 0.1


@pytest.mark.parametrize("theme", THEMES)
def test_every_head_has_a_dot_within_the_axis_and_a_sign_of_its_own_besides_its_colour(theme):
    trace = kept_trace()
    figure = heads_figure(trace, theme, recorded=True).figure
    low, high = (10**end for end in figure.layout.yaxis.range)
    heads = heads_keep(trace)
    assert sum(len(dots.y) for dots in figure.data) == len(heads) == 24
    assert all(low <= y <= high for dots in figure.data for y in dots.y) and high > MARKED[-1]
    assert len({dots.marker.symbol for dots in figure.data}) == len(figure.data) == 4
    assert {dots.marker.color for dots in figure.data} == {COLOURS[theme]["state"]} and figure.layout.showlegend
    assert sorted(line.y0 for line in figure.layout.shapes) == sorted(MARKED)
    notes = {note.text: note.y for note in figure.layout.annotations}
    assert notes == {f"{n} tokens": pytest.approx(math.log10(n)) for n in MARKED}, "a note is placed by the logarithm"


def test_a_kept_trace_says_recorded_and_a_new_one_that_it_was_instrumented():
    for recorded, evidence in ((True, "recorded"), (False, "instrumented")):
        assert heads_figure(kept_trace(), "light", recorded=recorded).evidence == evidence
        drawn = changes_figure(kept_trace(), "light", recorded=recorded)
        assert drawn is not None and drawn.evidence == evidence


@pytest.mark.parametrize("theme", THEMES)
def test_the_three_changes_are_told_apart_by_pattern_and_stand_over_their_tokens(theme):
    figure = changes_figure(kept_trace(), theme, recorded=True).figure
    assert [bar.name for bar in figure.data] == ["faded", "erased", "written"]
    assert len({bar.marker.pattern.shape for bar in figure.data}) == 3 and figure.layout.showlegend
    assert figure.layout.xaxis.ticktext[0] == "Once" and len(figure.layout.xaxis.ticktext) == len(kept_trace().tokens)


@pytest.mark.parametrize("theme", THEMES)
def test_the_recall_axis_holds_every_mean_and_the_memories_have_their_colours(theme):
    recall = kept_recall()
    figure = recall_figure(recall, theme).figure
    low, high = figure.layout.yaxis.range
    assert low < 0 and all(low <= y <= high for line in figure.data for y in line.y)
    assert figure.layout.xaxis.range[0] == 0 and figure.layout.xaxis.range[1] > recall.places[-1].distance
    assert [line.line.color for line in figure.data[1:]] == [COLOURS[theme]["kv"], COLOURS[theme]["state"]]
    assert len({line.marker.symbol for line in figure.data}) == len({line.line.dash for line in figure.data}) == 3


def test_the_kept_measurement_says_what_the_lesson_says():
    results = recall_results(kept_recall())
    assert results["name_pairs"] == 90 and 45 <= results["name_near"] <= 60 and 450 <= results["name_far"] <= 550
    assert results["name_cache_share"] > 0.95 and abs(results["name_state_share"]) < 0.05
    assert results["name_times_near"] > 10 > results["name_times_far"] > 1


def test_what_the_instrument_publishes_is_what_the_catalogue_names():
    assert {*results_of(heads_keep(kept_trace())), *recall_results(kept_recall())} == set(
        INSTRUMENTS["state"].publishes
    )


def test_the_texts_differ_in_the_name_alone_and_the_quiet_text_has_no_name():
    assert planted("Max", 3).replace(" named Max", "") == planted("", 3)
    assert len(sentences()) >= max(STRETCHES) and not any("named" in one or "name" in one for one in sentences())


def test_a_token_that_is_not_listed_has_less_than_the_last_that_is():
    listed = [Candidate(token(" a"), 0.6, 0.6, 1.0), Candidate(token(" b"), 0.1, 0.1, 0.0)]
    assert odds_of(token(" b").id, listed) == Odds(0.1, bound=False)
    assert odds_of(-5, listed) == Odds(0.1, bound=True)


BEGINNING = ["Once", " upon", " a", " time", ",", " there", " was", " a", " cat", " named"]


def test_a_try_compares_the_name_s_first_token_and_counts_from_it():
    words = [*BEGINNING, " Max", ".", ' "', "My", " name", " is"]
    one = tried("Max", story_run(prompt=words, reply=[" Max"]), story_run(prompt=words, reply=[" happy"]))
    assert (one.token, one.distance, one.likeliest) == (" Max", 5, " Max")
    assert one.planted == Odds(0.5, bound=False) and one.plain == Odds(0.5, bound=True)
    table = tries_table([one])
    assert table["odds, planted"] == ["50 %"] and table["odds, not planted"] == ["below 50 %"]
    assert table["times as likely"] == ["more than 1.0"]


def test_of_a_name_in_pieces_the_first_counts_even_if_it_has_stood_before():
    words = [*BEGINNING, " a", "nt", ".", " is"]
    one = tried("ant", story_run(prompt=words, reply=[" the"]), story_run(prompt=words, reply=[" the"]))
    assert (one.token, one.distance) == (" a", 3)


def test_where_the_planted_name_is_not_listed_nothing_is_said_of_the_ratio():
    words = [*BEGINNING, " Max", " is"]
    one = tried("Max", story_run(prompt=words, reply=[" a"]), story_run(prompt=words, reply=[" a"]))
    assert one.planted.bound and tries_table([one])["times as likely"] == [None]


@pytest.mark.parametrize(
    ("name", "said"),
    [("Max", None), ("Mary-Ann", None), ("", "Type"), ("   ", "Type"), ("x" * 25, "at most"), ("R2D2", "letters"),
     ("Zoë", "letters")],
)  # fmt: skip
def test_a_name_that_cannot_be_planted_says_why(name, said):
    problem = name_problem(name)
    assert problem is None if said is None else said in problem


def test_the_shift_of_one_is_e_times_as_large():
    assert "2.7 times" in recall_figure(kept_recall(), "light").how
