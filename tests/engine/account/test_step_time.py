import msgspec
import pytest

from engine.account import cost
from engine.account.cost import PRESET_SHAPES, Rates
from engine.account.presets import HARDWARE, Hardware
from engine.account.step_time import (
    Fitted,
    FittedTimes,
    Overheads,
    Roofline,
    Work,
    ingredients,
    step_cost,
    with_bits,
)

SLOW = Hardware("slow", flops_per_s=1e9, bandwidth_bytes_per_s=1e9, memory_bytes=10**9, source="test", dated="2026")
SHAPE = PRESET_SHAPES["Qwen3.5-27B"]


def test_a_step_counts_weights_once_and_kv_and_state_for_each():
    parts = [Work(1, 100, 1), Work(64, 0, 0)]
    counted = step_cost(Rates.of(SHAPE), parts)
    assert counted.weight_bytes == cost.step_weight_bytes(SHAPE, n_tokens=65, n_logits=1)
    read = cost.kv_bytes_read(SHAPE, 100, 1) + cost.kv_bytes_read(SHAPE, 0, 64)
    assert counted.kv_bytes == read + cost.kv_bytes_written(SHAPE, 65)
    assert counted.state_bytes == 2 * 288 * 1024**2
    assert counted.operations == cost.pass_operations(SHAPE, 100, 1, 1) + cost.pass_operations(SHAPE, 0, 64, 0)


def test_a_decode_step_of_27b_on_h200_takes_its_bytes_over_the_bandwidth():
    """51.25 GB of weights at 4.8 TB/s are 10.7 ms; state and KV of one short sequence hardly add."""
    clock = Roofline(SHAPE, HARDWARE["H200 SXM"])
    assert clock.ns([Work(1, 0)]) / 1e6 == pytest.approx(10.7, abs=0.1)
    assert clock.bound([Work(1, 0)]) == "memory"


def test_a_long_prompt_is_bound_by_arithmetic():
    clock = Roofline(SHAPE, HARDWARE["H200 SXM"])
    prompt = [Work(2000, 0)]
    assert clock.bound(prompt) == "compute"
    assert clock.ns(prompt) == pytest.approx(cost.pass_operations(SHAPE, 0, 2000, 1) / 989.4e12 * 1e9, abs=1)


def test_where_arithmetic_overtakes_memory_is_the_ridge():
    """In bf16 the intensity of the weights alone is the number of tokens (2nP over 2P)."""
    hardware = HARDWARE["H100 SXM"]
    clock = Roofline(SHAPE, hardware)
    below, above = int(hardware.ridge * 0.9), int(hardware.ridge * 1.2)
    assert clock.bound([Work(below, 0)]) == "memory"
    assert clock.bound([Work(above, 0)]) == "compute"


def test_overheads_add_up_and_have_a_regime_of_their_own():
    plain = Roofline(SHAPE, SLOW)
    fixed = Overheads(step_ns=1000, sequence_ns=100, token_ns=10, source="test")
    parts = [Work(5, 0), Work(1, 7)]
    assert Roofline(SHAPE, SLOW, fixed).ns(parts) - plain.ns(parts) == 1000 + 2 * 100 + 6 * 10
    huge = Overheads(step_ns=1e15)
    assert Roofline(SHAPE, SLOW, huge).bound(parts) == "overhead"


def test_shares_of_the_peaks_make_a_step_longer():
    half = msgspec.structs.replace(SLOW, compute_share=0.5, bandwidth_share=0.5)
    assert Roofline(SHAPE, half).ns([Work(1, 0)]) == pytest.approx(2 * Roofline(SHAPE, SLOW).ns([Work(1, 0)]))


def test_fewer_bits_read_fewer_bytes_and_compute_the_same():
    for bits, gigabytes in ((16, 53.79), (8, 26.896), (4.5, 15.129)):
        shape = with_bits(SHAPE, bits)
        assert shape.weight_bytes / 1e9 == pytest.approx(gigabytes, abs=5e-3)
        assert cost.pass_operations(shape, 0, 10, 1) == cost.pass_operations(SHAPE, 0, 10, 1)
        assert cost.kv_bytes_per_position(shape) == cost.kv_bytes_per_position(SHAPE)
    assert with_bits(SHAPE, 16) == SHAPE
    # The head is read whole, the embedding by rows, at every width.
    assert cost.step_weight_bytes(with_bits(SHAPE, 8)) == pytest.approx(cost.step_weight_bytes(SHAPE) / 2, rel=1e-6)
    four = PRESET_SHAPES["Qwen3.5-4B"]
    assert cost.step_weight_bytes(with_bits(four, 4.5)) / 1e9 == pytest.approx(2.366, abs=5e-4)


@pytest.mark.parametrize("bits", [0, -4, 64])
def test_an_impossible_width_is_refused(bits):
    with pytest.raises(ValueError, match="bits"):
        with_bits(SHAPE, bits)


def test_ingredients_tell_decodes_from_prefills_and_count_attended_pairs():
    assert ingredients([Work(1, 9), Work(1, 0), Work(3, 10, 0)]) == (1, 2, 10 + 1, 1, 3, 11 + 12 + 13)


def test_a_fitted_clock_is_the_sum_of_its_ingredients():
    times = FittedTimes(1000, 100, 10, 50, 5, 1)
    clock = Fitted(times, "here", "fitted")
    assert clock.ns([Work(1, 9), Work(3, 10, 0)]) == 1000 + 100 + 10 * 10 + 50 + 3 * 5 + (11 + 12 + 13)
    assert Fitted(FittedTimes(0, 0, 0, 0, 0, 0), "here", "fitted").ns([Work(1, 0)]) == 1
