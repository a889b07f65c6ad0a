"""A model's name, and with it in how many bits its weights are kept: `story`, `story:int8`, `story:int4`."""

from __future__ import annotations

import os
from typing import Literal, get_args

QuantizedFormat = Literal["int8", "int4"]
WeightFormat = Literal["bf16", "int8", "int4"]


def split_variant(model: str | os.PathLike[str]) -> tuple[str | os.PathLike[str], WeightFormat]:
    """Name or folder, and the weights' format; bf16 if the name does not say."""
    if isinstance(model, str):
        for fmt in get_args(QuantizedFormat):
            if model.endswith(f":{fmt}"):
                return model.removesuffix(f":{fmt}"), fmt
    return model, "bf16"


def variants(name: str) -> list[str]:
    """Every name under which a model can be asked for."""
    return [name, *(f"{name}:{fmt}" for fmt in get_args(QuantizedFormat))]
