import subprocess
import sys

import msgspec
import numpy as np
import pytest

from engine.account.step_time import Fitted, FittedTimes, ingredients
from engine.loop import calibrate
from engine.loop.calibrate import Point, least_squares_above_zero
from engine.loop.policy import Policy
from tests.engine.loop.doubles import mock_engine

TRUTH = FittedTimes(
    step_ns=800_000, decode_sequence_ns=50_000, decode_position_ns=30, prefill_sequence_ns=100_000,
    prefill_token_ns=90_000, prefill_pair_ns=12,
)  # fmt: skip


def points_of(times, noise=0.0):
    """What a machine with these times would measure, each point off by up to `noise`."""
    rng, clock = np.random.default_rng(0), Fitted(times, "machine", "made up")
    kinds = [("prefill", length, 0) for length in (8, 64, 512)] + [("decode", 1, start) for start in (12, 132, 1028)]
    made = []
    for kind, n_tokens, start in kinds:
        for n_sequences in (1, 2, 4, 8, 16):
            blank = Point(kind, n_sequences, n_tokens, start, ns=1, median_ns=1, n=5)
            ns = round(clock.ns(blank.works) * (1 + noise * rng.uniform(-1, 1)))
            made.append(msgspec.structs.replace(blank, ns=ns, median_ns=1.1 * ns))
    return made


def test_times_that_made_the_measurements_are_found_again():
    found = calibrate.fit(points_of(TRUTH))
    for name in FittedTimes.__struct_fields__:
        assert getattr(found, name) == pytest.approx(getattr(TRUTH, name), rel=1e-3)


def test_noise_in_the_measurements_shows_as_error_on_the_points_left_out():
    clean, held_out = calibrate.calibrate(points_of(TRUTH), "story", 1)
    assert clean.prefill.worst < 1e-3
    assert clean.decode.worst < 1e-3
    assert clean.prefill.median_against_medians == pytest.approx(0.1 / 1.1, rel=0.01)
    noisy, _ = calibrate.calibrate(points_of(TRUTH, noise=0.3), "story", 1)
    assert 0.03 < noisy.prefill.median < 0.5
    assert clean.prefill.n + clean.decode.n == len(held_out)


def test_points_to_check_with_are_not_fitted_and_both_halves_have_both_kinds():
    fitted, held_out = calibrate.split(points_of(TRUTH))
    assert len(fitted) == len(held_out)
    assert not {msgspec.json.encode(one) for one in fitted} & {msgspec.json.encode(one) for one in held_out}
    for half in (fitted, held_out):
        assert {one.kind for one in half} == {"prefill", "decode"}


def test_too_few_points_are_refused_in_words():
    with pytest.raises(ValueError, match="two points"):
        calibrate.calibrate(points_of(TRUTH)[:1], "story", 1)


@pytest.mark.parametrize("seed", range(5))
def test_no_time_is_negative_and_no_neighbour_is_better(seed):
    """The conditions of Karush, Kuhn and Tucker: the gradient is 0 where x > 0 and not below 0 where x = 0."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(20, 6)), rng.normal(size=20)
    x = least_squares_above_zero(A, b)
    gradient = A.T @ (A @ x - b)
    assert (x >= 0).all()
    assert np.abs(gradient[x > 0]).max(initial=0.0) < 1e-9
    assert gradient[x == 0].min(initial=0.0) > -1e-9
    assert (x == 0).any()


def test_a_term_that_never_occurs_gets_no_time():
    A = np.array([[1.0, 0.0], [2.0, 0.0]])
    assert least_squares_above_zero(A, np.array([1.0, 2.0])).tolist() == pytest.approx([1.0, 0.0])


def test_measuring_an_engine_gives_points_of_the_steps_that_it_really_did(monkeypatch):
    """The mock's clock is the real one; what counts here is which steps are taken for what."""
    engine = mock_engine(policy=Policy("continuous", max_running=4, token_budget=2048, chunk=None))
    monkeypatch.setattr(calibrate, "DECODE_STEPS", 4)
    points = calibrate.measure(engine, prompt_tokens=(8, 40, 90), sequences=(1, 3), rounds=2)
    assert {(one.kind, one.n_sequences, one.n_tokens, one.start_position) for one in points} == {
        ("prefill", 1, 8, 0), ("prefill", 1, 40, 0), ("prefill", 3, 8, 0), ("prefill", 3, 40, 0),
        ("decode", 1, 1, 10), ("decode", 1, 1, 42), ("decode", 3, 1, 10), ("decode", 3, 1, 42),
    }  # fmt: skip
    for one in points:
        assert 0 < one.ns <= one.median_ns
        assert one.n == (2 if one.kind == "prefill" else 8)
        assert ingredients(one.works)[0] == 1


def test_a_calibration_is_kept_for_this_model_and_this_processor(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made, _ = calibrate.calibrate(points_of(TRUTH), "random:0.8B", 2)
    assert calibrate.load("random:0.8B", 2) is None
    place = calibrate.save(made)
    assert place.parent == tmp_path / "two-speeds"
    assert calibrate.load("random:0.8B", 2) == made
    assert calibrate.load("random:0.8B", 1) is None
    calibrate.save(msgspec.structs.replace(made, cpu="another processor"))
    assert calibrate.load("random:0.8B", 2) is None
    place.write_text("{")
    assert calibrate.load("random:0.8B", 2) is None


def test_its_clock_says_how_it_was_made():
    made, _ = calibrate.calibrate(points_of(TRUTH), "story", 2)
    clock = made.clock()
    assert clock.name.endswith("2 threads")
    assert "fitted to 15 kinds of steps of story measured here by wall time" in clock.how
    assert "median error on others 0%" in clock.how


def test_it_needs_no_torch_to_be_imported():
    code = "import sys, engine.loop.calibrate; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
