"""Muon for the matrices of the layers, AdamW for the rest, and one learning-rate curve for both."""

from torch import nn
from torch.optim import AdamW, Muon, Optimizer

MUON_RATE, ADAM_RATE = 0.02, 3e-3
MATRIX_DECAY = 0.05
WARM_UP = 0.02  # share of the run
FLOOR = 0.005  # of the peak rate, at the end


def is_matrix(name: str, parameter: nn.Parameter) -> bool:
    """Whether Muon takes it: the layers' matrices, but not the few rows that make decay and write strength."""
    return parameter.ndim == 2 and "layers." in name and not name.endswith(("in_proj_a.weight", "in_proj_b.weight"))


def new_optimizers(model: nn.Module) -> list[Optimizer]:
    """Muon and AdamW over all of the model's parameters, each once."""
    named = list(model.named_parameters())
    matrices = [p for name, p in named if is_matrix(name, p)]
    others = [p for name, p in named if not is_matrix(name, p)]
    optimizers: list[Optimizer] = [
        Muon(matrices, lr=MUON_RATE, weight_decay=MATRIX_DECAY, momentum=0.95),
        AdamW(others, lr=ADAM_RATE, weight_decay=0.0, betas=(0.9, 0.95), fused=True),
    ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


def rate_factor(share: float) -> float:
    """The learning rate as a part of its peak when `share` of the run is over: a short rise, then a straight line."""
    if share < WARM_UP:
        return max(share / WARM_UP, 0.01)
    return FLOOR + (1 - FLOOR) * max(0.0, (1 - share) / (1 - WARM_UP))


def set_rates(optimizers: list[Optimizer], share: float) -> None:
    """Set every group's learning rate for this share of the run."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * rate_factor(share)
