"""Dots and roofs: counted from the record, bounded by the machine, and computed steps lie exactly on the roof."""

import msgspec
import pytest

from engine.account import cost
from engine.account.presets import HARDWARE
from engine.account.roofline import best_dots, median_dot, moved_bytes, pass_dots, roof, share_of_roof
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, REPLY, STORY, story_run

H100 = HARDWARE["H100 SXM"]
Q27B = cost.PRESET_SHAPES["Qwen3.5-27B"]


def test_a_dot_is_what_the_pass_recorded():
    prefill, decode, *_ = pass_dots(story_run())
    p = len(PROMPT)
    assert prefill.operations == cost.pass_operations(STORY, 0, p, 1) and prefill.ns == PREFILL_NS
    kept = 2 * cost.recurrent_state_bytes(STORY)
    assert decode.n_bytes == cost.step_weight_bytes(STORY) + kept + (p + 1 + 1) * cost.kv_bytes_per_position(STORY)
    assert decode.operations_per_s == decode.operations * 1e9 / DECODE_NS
    assert decode.operations_per_s == pytest.approx(decode.intensity * decode.bytes_per_s)
    assert len(pass_dots(story_run())) == len(REPLY)


def test_eight_tokens_do_about_eight_times_the_operations_a_byte_of_one():
    prefill, decode, *_ = pass_dots(story_run())
    assert 0.9 < decode.intensity < 1.1 and 6 < prefill.intensity / decode.intensity < 8


def with_pass(**changes):
    run = story_run()
    events = [
        msgspec.structs.replace(one, **changes) if one is run.passes[1] else one for one in run.events
    ]  # fmt: skip
    return type(run)(events)


def test_a_shared_pass_and_one_with_unknown_bytes_are_left_out():
    for changes in ({"shared_by": 3}, {"weight_bytes_read": None}, {"operations": None}):
        assert len(pass_dots(with_pass(**changes))) == len(REPLY) - 1
    assert moved_bytes(with_pass(kv_bytes_read=None).passes[1]) is None


def test_the_roof_is_the_slope_up_to_the_ridge_and_flat_after_it():
    assert roof(H100, 1.0) == pytest.approx(3.35e12)
    assert roof(H100, H100.ridge) == pytest.approx(989.4e12)
    assert roof(H100, 10 * H100.ridge) == 989.4e12
    assert H100.ridge == pytest.approx(295, abs=1), "what is said of an H100 in bf16"


def test_the_best_that_can_be_lies_on_the_roof_on_the_side_that_limits_it():
    dots = {dot.name: dot for dot in best_dots(Q27B, H100, (8, 500, 8192), (1, 32))}
    assert set(dots) == {"prefill 8", "prefill 500", "prefill 8,192", "decode", "decode × 32"}
    assert all(share_of_roof(dot, H100) == pytest.approx(1) for dot in dots.values())
    assert dots["prefill 8"].intensity < H100.ridge < dots["prefill 8,192"].intensity
    assert dots["decode"].intensity < 1.1 < dots["decode × 32"].intensity < 32


def test_the_median_pass_of_a_phase_is_one_that_ran():
    dots = pass_dots(story_run())
    assert median_dot(dots, "decode") in dots and median_dot(dots, "prefill") == dots[0]
    assert median_dot([], "decode") is None
