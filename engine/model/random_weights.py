"""Models of a published shape with random weights: they say nothing, in the time that the real ones would take.

A product costs the same whatever the numbers are. So the speed of a model that is not here, or that a person may not
want to download, can still be measured; its text cannot, and the model's name says so wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import psutil
import torch
from torch import Tensor

from engine.account.record import ModelShape
from engine.memory.untouched import CPU
from engine.model.config import CheckpointError, ModelConfig
from engine.model.model import Model
from engine.model.quantize import WeightFormat
from engine.model.weights import Checkpoint


class RandomWeights(Checkpoint):
    """Weights drawn when they are asked for; the same ones for the same seed."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, seed: int = 0, device: torch.device = CPU) -> None:
        """`dtype` is that of the matrices."""
        self._config, self._dtype, self.device = config, dtype, device
        self._left = {}
        self.bytes_taken = self.count_taken = 0
        self._generator = torch.Generator(device).manual_seed(seed)

    def _take(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Spread so that a layer's output is about as large as its input, and states neither fade nor grow at once."""
        weight = torch.empty(*shape, dtype=dtype, device=self.device)
        if len(shape) == 2:
            bound = (3 / shape[1]) ** 0.5
            weight.uniform_(-bound, bound, generator=self._generator)
        else:
            weight.uniform_(-0.5, 0.5, generator=self._generator)
            if name.endswith("norm.weight") and not self._zero_centred(name):
                weight += 1
        self.bytes_taken += weight.nbytes
        self.count_taken += weight.numel()
        return weight

    def _zero_centred(self, name: str) -> bool:
        # The norm inside a DeltaNet layer is the plain one of its family.
        return self._config.zero_centred_norms and not name.endswith("linear_attn.norm.weight")


def random_model(shape: ModelShape, seed: int = 0, weights: WeightFormat = "bf16", device: torch.device = CPU) -> Model:
    """A model of this shape; raises CheckpointError if its weights, in bf16, do not fit into free memory."""
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available
    if shape.weight_bytes > free:
        raise CheckpointError(
            f"Random weights of {shape.name} take {shape.weight_bytes / 1e9:.1f} GB in bf16, and {free / 1e9:.1f} GB "
            "of memory are free. Take a smaller shape."
        )
    config = config_of(shape)
    drawn = RandomWeights(config, torch.bfloat16, seed, device)
    return Model(config, drawn, f"{shape.name}, random weights", torch.bfloat16, weights)


def config_of(shape: ModelShape) -> ModelConfig:
    """The configuration of a shape; what a shape does not say is the family's, and changes no cost."""
    same = {name: getattr(shape, name) for name in ModelConfig.__dataclass_fields__ if hasattr(shape, name)}
    hybrid = shape.attn_output_gate
    return ModelConfig(
        **{**same, "layer_types": tuple(shape.layer_types)},
        rms_norm_eps=1e-6 if hybrid else 1e-5,
        rope_theta=1e7 if hybrid else 1e5,
        partial_rotary_factor=0.25 if hybrid else 1.0,
        max_position_embeddings=shape.context_length,
        eos_token_ids=(),
        zero_centred_norms=hybrid,
    )
