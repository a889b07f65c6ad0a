"""The cost formulas against the numbers that the course states (tables and laws 3, 4, 6, 7)."""

import msgspec
import pytest

from engine.account import cost
from engine.account.cost import PRESET_SHAPES

KIB, MIB = 1024, 1024**2

# size: parameters, KV KiB a token, state MiB, crossover, full layers, linear layers
TABLE = {
    "0.8B": (0.7524e9, 12, 18, 1536, 6, 18),
    "2B": (1.8818e9, 12, 18, 1536, 6, 18),
    "4B": (4.2058e9, 32, 48, 1536, 8, 24),
    "9B": (8.9538e9, 32, 48, 1536, 8, 24),
    "27B": (26.896e9, 64, 144, 2304, 16, 48),
}


@pytest.mark.parametrize("size", TABLE)
def test_each_preset_gives_the_row_that_the_course_prints(size):
    shape = PRESET_SHAPES[f"Qwen3.5-{size}"]
    parameters, kv_kib, state_mib, crossover, full, linear = TABLE[size]
    assert shape.parameters == pytest.approx(parameters, rel=5e-5)
    assert cost.kv_bytes_per_position(shape) == kv_kib * KIB
    assert cost.recurrent_state_bytes(shape) == state_mib * MIB
    assert cost.crossover_positions(shape) == crossover
    assert (shape.layer_types.count("full_attention"), shape.layer_types.count("linear_attention")) == (full, linear)
    assert shape.layer_types[-1] == "full_attention"


def test_parameter_counts_are_those_of_the_real_architecture():
    """transformers builds the model without memory (meta device); our formula must agree to the last weight."""
    torch = pytest.importorskip("torch")
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    for size in ("0.8B", "9B"):
        shape = PRESET_SHAPES[f"Qwen3.5-{size}"]
        fields = {name: getattr(shape, name) for name in Qwen3_5TextConfig().to_dict() if hasattr(shape, name)}
        config = Qwen3_5TextConfig(**fields, num_hidden_layers=len(shape.layer_types))
        with torch.device("meta"):
            model = Qwen3_5ForCausalLM(config)
        assert sum(p.numel() for p in model.parameters()) == shape.parameters


def test_smollm2_is_the_uniform_contrast():
    """22.5 KiB of KV a token, nothing recurrent, and the parameters that transformers counts."""
    torch = pytest.importorskip("torch")
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = PRESET_SHAPES["SmolLM2-135M"]
    fields = {name: getattr(shape, name) for name in LlamaConfig().to_dict() if hasattr(shape, name)}
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(**fields, num_hidden_layers=len(shape.layer_types)))
    assert sum(p.numel() for p in model.parameters()) == shape.parameters == 134_515_008
    assert cost.kv_bytes_per_position(shape) == 22.5 * KIB
    assert cost.recurrent_state_bytes(shape) == cost.window_bytes(shape) == 0
    assert cost.crossover_positions(shape) is None
    one = cost.Rates.of(shape).pass_cost(10, 1, 1, cost.step_weight_bytes(shape))
    assert (one.state_bytes_read, one.state_bytes_held, one.kv_bytes_held) == (0, 0, 11 * 22.5 * KIB)


def test_4b_at_four_and_a_half_bits_reads_2_366_gb_a_token():
    shape = PRESET_SHAPES["Qwen3.5-4B"]
    for bits, gigabytes in ((4.5, 2.366), (4.25, 2.234), (4.0, 2.103)):
        quantized = msgspec.structs.replace(
            shape, weight_dtype=f"int4 ({bits} bits)", weight_bytes=round(shape.parameters * bits / 8)
        )
        assert cost.step_weight_bytes(quantized) / 1e9 == pytest.approx(gigabytes, abs=5e-4)


def test_27b_holds_53_79_gb_and_reads_51_25_gb_a_step_since_the_embedding_is_a_look_up():
    shape = PRESET_SHAPES["Qwen3.5-27B"]
    assert shape.weight_bytes / 1e9 == pytest.approx(53.79, abs=5e-3)
    assert cost.step_weight_bytes(shape) / 1e9 == pytest.approx(51.25, abs=5e-3)


def test_27b_memory_at_100_000_tokens_and_its_state_traffic():
    shape = PRESET_SHAPES["Qwen3.5-27B"]
    assert cost.kv_bytes(shape, 100_000) / 1024**3 == pytest.approx(6.10, abs=5e-3)
    assert cost.state_bytes_read(shape) + cost.state_bytes_written(shape) == 288 * MIB
    assert cost.window_bytes(shape) / MIB == pytest.approx(2.8, abs=0.05)


def test_weights_are_read_once_a_step_whoever_shares_it_but_kv_and_state_are_not():
    shape = PRESET_SHAPES["Qwen3.5-0.8B"]
    row = 2 * shape.hidden_size
    assert cost.step_weight_bytes(shape, n_tokens=16, n_logits=16) == cost.step_weight_bytes(shape) + 15 * row
    head = 2 * cost.head_parameters(shape)
    assert cost.step_weight_bytes(shape, 64, n_logits=0) == 2 * cost.body_parameters(shape) + 64 * row
    assert cost.step_weight_bytes(shape, 64, n_logits=1) - cost.step_weight_bytes(shape, 64, n_logits=0) == head


def test_a_pass_reads_all_keys_before_it_and_its_own_and_writes_its_own():
    shape = PRESET_SHAPES["Qwen3.5-4B"]
    assert cost.kv_bytes_read(shape, 100, 1) == 101 * 32 * KIB
    assert cost.kv_bytes_written(shape, 5) == 5 * 32 * KIB


def test_operations_of_one_token_counted_by_hand_on_a_tiny_shape():
    """Hidden 8, one linear and one full layer: every term is small enough to write out."""
    from tests.engine.builders import TINY

    attention = 8 * (2 * 8 + 2 * 4 + 8) + 2 * 4  # query and gate, key and value, output; two head norms
    channels = 4 + 4 + 8
    delta_net = 8 * (channels + 8 + 2 + 2 + 8) + channels * 4 + 2 + 2 + 4
    body = attention + delta_net + 2 * (3 * 8 * 16 + 2 * 8) + 8
    assert cost.body_parameters(TINY) == body
    delta_rule = 7 * 2 * 4 * 4 + 2 * 2 * 4
    expected = 2 * body + delta_rule + 2 * 300 * 8 + 4 * 4 * 2 * (10 + 1)
    assert cost.pass_operations(TINY, start_position=10, n_tokens=1, n_logits=1) == expected


def test_one_pass_over_a_prompt_does_the_arithmetic_of_its_tokens_one_by_one():
    shape = PRESET_SHAPES["Qwen3.5-2B"]
    one_by_one = sum(cost.pass_operations(shape, position, 1, 0) for position in range(50))
    assert cost.pass_operations(shape, 0, 50, 0) == one_by_one


def test_a_model_without_either_memory_has_no_crossover():
    shape = PRESET_SHAPES["Qwen3.5-0.8B"]
    uniform = msgspec.structs.replace(shape, layer_types=["full_attention"] * 4)
    linear = msgspec.structs.replace(shape, layer_types=["linear_attention"] * 4)
    assert cost.crossover_positions(uniform) is None
    assert cost.crossover_positions(linear) is None


def test_the_crossover_is_the_first_length_at_which_kv_is_not_smaller():
    for shape in (shape for shape in PRESET_SHAPES.values() if "linear_attention" in shape.layer_types):
        positions, state = cost.crossover_positions(shape), cost.recurrent_state_bytes(shape)
        assert cost.kv_bytes(shape, positions) >= state > cost.kv_bytes(shape, positions - 1)
