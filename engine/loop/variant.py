"""A model's name, and with it in how many bits its weights are kept: `story`, `story:int8`, `story:int4`."""

from __future__ import annotations

import os
from typing import Literal, get_args

from engine.account.record import WeightFormat

QuantizedFormat = Literal["int8", "int4"]


def split_variant(model: str | os.PathLike[str]) -> tuple[str | os.PathLike[str], WeightFormat]:
    """Name or folder, and the weights' format; bf16 if the name does not say."""
    if isinstance(model, str):
        for fmt in get_args(QuantizedFormat):
            if model.endswith(f":{fmt}"):
                return model.removesuffix(f":{fmt}"), fmt
    return model, "bf16"


def named(model: str, weights: WeightFormat | None) -> str:
    """The name of a model with its weights in this format; None leaves the name as it is."""
    if weights is None:
        return model
    base, _ = split_variant(model)
    return str(base) if weights == "bf16" else f"{base}:{weights}"


def variants(name: str) -> list[str]:
    """Every name under which a model can be asked for."""
    return [name, *(f"{name}:{fmt}" for fmt in get_args(QuantizedFormat))]
