"""The what-if's arithmetic: the facts' own numbers come out, and what limits a step is found where it turns."""

import msgspec
import pytest

from engine.account import cost
from engine.account.own_shape import Numbers
from engine.account.own_shape import shape_of as described
from engine.account.presets import HARDWARE, together
from engine.account.what_if import Asked, answer, decode_step

H100 = HARDWARE["H100 SXM"]
Q27B, Q4B = cost.PRESET_SHAPES["Qwen3.5-27B"], cost.PRESET_SHAPES["Qwen3.5-4B"]


def asked(shape=Q27B, hardware=H100, bits=16.0, p=8192, n=200, batch=1) -> Asked:
    return Asked(shape, hardware, bits, p, n, batch)


def test_a_27b_model_holds_54_gb_and_reads_51_a_step():
    found = answer(asked())
    assert found.weights_held == pytest.approx(53.79e9, rel=1e-4)
    assert found.weights_read == pytest.approx(51.25e9, rel=1e-4)


def test_the_cap_of_one_sequence_is_bandwidth_over_what_its_step_moves():
    found = answer(asked(p=8, n=10))
    moved = found.weights_read + 2 * 144 * 2**20 + (17 + 1) * 64 * 1024
    assert found.decode.cost.n_bytes == moved
    assert found.decode.tokens_per_s == pytest.approx(3.35e12 / moved) and found.decode.bound == "memory"


def test_a_4b_model_at_4_and_a_half_bits_is_the_2_37_gb_of_the_facts():
    found = answer(asked(shape=Q4B, bits=4.5))
    assert found.weights_held == pytest.approx(2.366e9, rel=3e-4)
    assert answer(asked(shape=Q4B, bits=4.25)).weights_held == pytest.approx(2.234e9, rel=3e-4)
    assert answer(asked(shape=Q4B, bits=4.0)).weights_held == pytest.approx(2.103e9, rel=3e-4)


def test_a_long_prompt_is_limited_by_arithmetic_and_a_short_one_by_memory():
    assert answer(asked(p=8192)).prefill.bound == "compute"
    assert answer(asked(p=8)).prefill.bound == "memory"


def test_what_is_held_is_counted_for_every_sequence_and_the_weights_once():
    one, many = answer(asked(batch=1)), answer(asked(batch=4))
    assert (many.kv_held, many.state_held, many.window_held) == (
        4 * one.kv_held, 4 * one.state_held, 4 * one.window_held,
    )  # fmt: skip
    assert many.weights_held == one.weights_held and one.state_held == 144 * 2**20
    assert one.kv_held == (8192 + 200 - 1) * 65_536
    held = many.weights_held + many.kv_held + many.state_held + many.window_held
    assert many.memory_left == 80 * 10**9 - held


def test_what_does_not_fit_has_less_than_nothing_left():
    assert answer(asked(hardware=HARDWARE["RTX 4090"])).memory_left < 0
    assert answer(asked(hardware=together(HARDWARE["RTX 4090"], 4))).memory_left > 0


@pytest.mark.parametrize("shape", [Q27B, Q4B, described(Numbers(), "7B")])
@pytest.mark.parametrize("p", [1, 8, 500, 8192])
def test_the_batch_from_which_arithmetic_limits_is_where_the_roofline_turns(shape, p):
    question = asked(shape=shape, p=p, n=10)
    turn = answer(question).compute_batch
    if turn is None:
        assert decode_step(question, 100_000).bound == "memory"
    else:
        assert decode_step(question, turn).bound == "compute"
        assert turn == 1 or decode_step(question, turn - 1).bound == "memory"


def test_what_each_sequence_brings_keeps_a_step_at_the_memory_roof_whatever_the_batch():
    seven = described(Numbers(), "7B")
    assert answer(asked(shape=seven, p=8, n=10)).compute_batch is not None
    assert answer(asked(shape=seven, p=8192)).compute_batch is None, "its cache"
    assert answer(asked(shape=Q27B, p=8, n=10)).compute_batch is None, "its state alone: 288 MiB of traffic a sequence"


def test_a_7b_model_in_fp32_is_the_28_gb_of_the_facts_and_its_prefill_does_half_an_operation_a_byte_and_token():
    seven = msgspec.structs.replace(described(Numbers(), "7B"), kv_dtype="float32", activation_dtype="float32")
    found = answer(asked(shape=seven, bits=32.0, p=2000, n=100))
    assert found.weights_held == pytest.approx(28e9, rel=0.04), "6.74 billion weights, called 7"
    of_weights = found.prefill.cost.operations / found.prefill.cost.weight_bytes
    assert of_weights == pytest.approx(1000, rel=0.08), "2n/4; attention adds a little"


def test_bits_that_no_weight_has_are_refused():
    with pytest.raises(ValueError, match="bits"):
        answer(asked(bits=0.0))
