"""What fewer bits a weight cost and what they bring: the odds beside those of bfloat16, and the speed.

    python -m benchmarks.quantized                               the bundled model
    python -m benchmarks.quantized --model random:Qwen3.5-0.8B   a shape with random weights: its speed only

Quality: the fixed texts below go through the model in bfloat16 and in each other format, and at every position the two
distributions of the next token are compared: their divergence in nats, and whether both have the same favourite. Rows
in brackets are what the engine does not do, for comparison: activations left in float32 (the plain reference), a head
of 8 bits over a body of 4, an embedding that stays in bfloat16.

Speed: decode steps and prefills of all formats take turns inside one process, and the machine's reading is measured
between them, so that a busy moment hits everyone. Times are medians; bytes are what the record counts for a step.

The last line is the same as JSON.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from engine.account.record import Phase
from engine.loop.model_folder import find_model, random_shape
from engine.memory.memory import Holding, Memory
from engine.model.batch import Batch, Span
from engine.model.model import Model
from engine.model.quantize import WeightFormat
from engine.model.random_weights import random_model
from engine.model.tokenizer import Tokenizer
from kernels import dispatch
from kernels.quantized import PackedMatrix

FORMATS: tuple[WeightFormat, ...] = ("bf16", "int8", "int4")

TEXTS = (
    "Once upon a time, there was a little girl who found a blue key under a stone. She ran home to ask her mom which "
    "door it would open.",
    "Tom was sad because the wheel of his cart was broken. His dad said, \"Let us look for some wood, and we will make "
    "a new one.\" They worked until it got dark.",
    "The old duck lived by the pond. Every morning she counted her eggs, and one morning there was one egg too many.",
    "\"May I have the last cookie?\" asked Ben. \"Only if you share it with your sister,\" said Mom. Ben thought about it "
    "for a long time, and then he smiled.",
    "A small cloud wanted to see the sea. It asked the wind for help, but the wind was tired and wanted to sleep.",
    "Lily and Sam built a house of snow. When the sun came out, the house got smaller and smaller. \"Do not cry,\" said "
    "Sam. \"We can build a bigger one next winter.\"",
    "The cat looked at the fish, and the fish looked at the cat. Nobody moved. Then the phone rang, and the cat fell into "
    "the water.",
    "One day a bear came to the village. The people were scared and hid, but Anna gave him a jar of honey and told him "
    "the way back to the forest.",
)  # fmt: skip

CONTEXT = 640
BUFFER_BYTES = 128 << 20

clock = time.perf_counter_ns


class Sequence:
    """One sequence of a model, in memory of its own."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.memory: Memory = model.new_memory(n_slots=1, n_positions=CONTEXT)
        self.holding: Holding = self.memory.open()

    def feed(self, ids: list[int], phase: Phase, *, every: bool = False) -> Tensor:
        """Run these tokens in one pass; logits [1 or T, vocab]."""
        start = self.memory.extend(self.holding, len(ids))
        span = Span(ids, start, phase, self.holding, "all" if every else "last")
        return self.model.forward(Batch.of([span]), self.memory)


def load(model: str, weights: WeightFormat) -> Model:
    """The model by name or folder, or `random:<shape>`, in this format."""
    if shape := random_shape(model):
        return random_model(shape, weights=weights)
    return Model.load(find_model(model), weights=weights)


def log_odds(model: Model, prompts: list[list[int]]) -> Tensor:
    """The odds of the next token at every position of all prompts, as logarithms [positions, vocab]."""
    logits = [Sequence(model).feed(ids, "prefill", every=True) for ids in prompts]
    return torch.cat(logits).double().log_softmax(-1)


def compare(exact: Tensor, other: Tensor) -> dict[str, Any]:
    """How far the other odds are from the exact ones, both as logarithms."""
    nats = (exact.exp() * (exact - other)).sum(-1)
    same = (exact.argmax(-1) == other.argmax(-1)).double().mean()
    return {
        "positions": len(nats),
        "divergence_mean": float(nats.mean()),
        "divergence_median": float(nats.median()),
        "divergence_worst": float(nats.max()),
        "same_top_choice": float(same),
    }


def quality(model: str, models: dict[WeightFormat, Model]) -> list[dict[str, Any]]:
    """A row for every format and for every choice that was not taken."""
    tokenizer = Tokenizer(find_model(model))
    prompts = [tokenizer.encode(text) for text in TEXTS]
    exact = log_odds(models["bf16"], prompts)

    def row(name: str, one: Model, kernels: AbstractContextManager[None] | None = None) -> dict[str, Any]:
        with kernels or nullcontext():
            return {"what": name, "bits": _bits(one), **compare(exact, log_odds(one, prompts))}

    rows = []
    for weights in ("int8", "int4"):
        rows.append(row(weights, models[weights]))
        rows.append(row(f"({weights}, float32 activations)", models[weights], dispatch.override_all("cpu")))
    plain = models["bf16"]
    for name, part, table in (
        ("(int4, head in 8 bits)", "head", PackedMatrix.pack(plain.head, 8)),
        ("(int4, embedding in bf16)", "embedding", plain.embedding),
    ):
        rows.append(row(name, _with(models["int4"], part, table)))
    return rows


def _bits(model: Model) -> float:
    return 8 * model.shape.weight_bytes / model.shape.parameters
