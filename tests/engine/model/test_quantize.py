"""A model with its matrices in 8 or 4 bits: what it weighs, how far its odds move, and that it stays one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.account.cost import Rates
from engine.model.config import CheckpointError
from engine.model.model import Model
from engine.model.quantize import Quantizer, format_name
from kernels import dispatch, native
from kernels.quantized import PackedMatrix
from tests.engine.model.passes import Walk, split

QUANTIZED = pytest.mark.parametrize("weights", ["int8", "int4"])


@pytest.fixture(scope="module")
def story(story_folder: Path) -> Callable[[str], Model]:
    """The story model in a format; each is loaded once. The KV cache is float32, so that it rounds nothing."""
    loaded: dict[str, Model] = {}

    def of(weights: str) -> Model:
        if weights not in loaded:
            loaded[weights] = Model.load(story_folder, kv_dtype=torch.float32, weights=weights)
        return loaded[weights]

    return of


def prompt(n: int = 70) -> list[int]:
    """Tokens that any of the models has."""
    return torch.randint(0, 300, (n,), generator=torch.Generator().manual_seed(4)).tolist()


def walk(model: Model) -> Walk:
    """A sequence in memory of its own."""
    return Walk(model, model.new_memory(n_slots=1, n_positions=128))


def log_odds(logits: Tensor) -> Tensor:
    """In float64."""
    return logits.double().log_softmax(-1)


def divergence(of: Tensor, other: Tensor) -> float:
    """Mean divergence of the other odds from these, in nats."""
    return float((log_odds(of).exp() * (log_odds(of) - log_odds(other))).sum(-1).mean())


def tensors(model: Model) -> Iterator[Tensor]:
    """All weights in memory, each once."""
    seen = {id(x): x for layer in model.layers for part in (layer, layer.mixer, layer.mlp) for x in vars(part).values()}
    seen |= {id(x): x for x in vars(model).values()}
    for weight in seen.values():
        if isinstance(weight, PackedMatrix):
            yield weight.data
        elif isinstance(weight, Tensor) and weight is not model._rotary:
            yield weight


@QUANTIZED
def test_bytes_on_the_record_are_the_bytes_in_memory(story: Callable[[str], Model], weights: str):
    model = story(weights)
    shape, rates = model.shape, Rates.of(model.shape)
    assert shape.weight_bytes == sum(weight.nbytes for weight in tensors(model))
    assert shape.parameters == story("bf16").shape.parameters
    row = model.head.nbytes // shape.vocab_size
    assert (rates.head_bytes, rates.row_bytes) == (model.head.nbytes, row)
    untied = 0 if shape.tie_word_embeddings else model.embedding.nbytes
    assert rates.weight_bytes(1, 1) == shape.weight_bytes - untied + row


def test_the_record_names_the_format_and_its_group(story: Callable[[str], Model]):
    group = story("int4").head.group
    names = {weights: story(weights).shape.weight_dtype for weights in ("bf16", "int8", "int4")}
    assert names == {"bf16": "bfloat16", "int8": "int8", "int4": f"int4/{group}"}
    assert story("int4").shape.weight_bytes < 0.6 * story("int8").shape.weight_bytes
    assert story("int8").shape.weight_bytes < 0.6 * story("bf16").shape.weight_bytes


def test_a_tied_head_and_the_embedding_are_one_table_in_memory(story: Callable[[str], Model]):
    model = story("int4")
    assert (model.head is model.embedding) == model.config.tie_word_embeddings


@pytest.mark.parametrize(("weights", "most"), [("int8", 0.01), ("int4", 0.3)])
def test_the_odds_stay_near_those_of_bfloat16(story: Callable[[str], Model], weights: str, most: float):
    exact, quantized = (walk(story(form)).feed(prompt()) for form in ("bf16", weights))
    assert 0 < divergence(exact, quantized) < most


@QUANTIZED
@pytest.mark.parametrize("sizes", [[1], [7, 1, 20], [33]])
def test_the_same_tokens_give_the_very_same_odds_however_they_come_in(
    story: Callable[[str], Model], weights: str, sizes: list[int]
):
    """Sums of whole numbers are exact, and what else is added up has one order: law 8 to the last bit."""
    with dispatch.override_all("native"):
        whole = walk(story(weights)).feed(prompt())
        assert torch.equal(walk(story(weights)).feed_in(split(prompt(), sizes)), whole)


@QUANTIZED
def test_torch_computes_the_same_model_where_there_is_no_compiler(story: Callable[[str], Model], weights: str):
    results = []
    for implementation in ("cpu", "native"):
        with dispatch.override_all(implementation):
            results.append(walk(story(weights)).feed(prompt(20)))
    assert divergence(*results) < 2e-3


def test_decode_steps_are_replayed_with_packed_weights(story: Callable[[str], Model]):
    def linear_add(out: Tensor, x: Tensor, weight: PackedMatrix) -> None:
        """The same, but not one of the functions whose calls can be recorded."""
        native.linear_add(out, x, weight)

    by_replay, plain = walk(story("int4")), walk(story("int4"))
    for token in prompt(5):
        with dispatch.override_all("native"):
            assert dispatch.recordable()
            replayed = by_replay.feed([token], "decode", "last")
            with dispatch.override(linear_add=linear_add):
                assert not dispatch.recordable()
                assert torch.equal(plain.feed([token], "decode", "last"), replayed)


def test_a_gguf_file_keeps_its_blocks_and_its_bits():
    """Levels of 32 columns that the file's maker chose are found again; 64 columns would need new ones."""
    levels, scale, low = torch.randint(0, 16, (48, 4, 32)), torch.rand(48, 4, 1) + 0.5, torch.randn(48, 4, 1)
    levels[:, :, 0], levels[:, :, 1] = 0, 15
    stored = (levels * scale + low).flatten(1).bfloat16()
    quantizer = Quantizer("int4", body_kind="Q4_1", table_kind="Q8_0")
    body, (table, head) = quantizer.matrix(stored, "Q4_1"), quantizer.tables(stored, stored)
    assert (body.bits, body.group, head.bits, table is head) == (4, 32, 8, True)
    assert format_name(body, head) == "int4/32, head int8"
    again = PackedMatrix.pack(stored, 4)
    assert again.group == 64
    lost, lost_again = ((kept.to(torch.float32) - stored).square().mean() for kept in (body, again))
    assert lost < lost_again / 20
    assert quantizer.bytes_saved == 2 * stored.nbytes - body.nbytes - head.nbytes


def test_a_format_that_does_not_exist_is_named_with_those_that_do(story_folder: Path):
    with pytest.raises(CheckpointError, match="bf16, int8, int4; not as 'int3'"):
        Model.load(story_folder, weights="int3")
