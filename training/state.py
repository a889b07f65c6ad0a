"""Everything that the next training step depends on, in one file."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from torch.optim import Optimizer
from transformers import Qwen3_5ForCausalLM

from training.batches import Position
from training.optimizers import new_optimizers
from training.story_model import new_model

AVERAGE_OVER = 200  # steps, about, of the running mean of the weights


@dataclass
class TrainingState:
    """A model in training: weights, their running mean, optimizers, place in the text, and how long it has been at it.

    Attributes:
        average: running mean of the weights, which is ahead of them while the learning rate is high.
        seconds: training time over all sittings, on which the learning rate depends.
    """

    model: Qwen3_5ForCausalLM
    optimizers: list[Optimizer]
    average: dict[str, Tensor]
    seed: int
    position: Position = field(default_factory=Position)
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @classmethod
    def fresh(cls, seed: int) -> "TrainingState":
        """A state before the first step."""
        model = new_model(seed)
        average = {name: p.detach().clone() for name, p in model.named_parameters()}
        return cls(model, new_optimizers(model), average, seed)

    @classmethod
    def from_checkpoint(cls, folder: Path, seed: int) -> "TrainingState":
        """A state before the first step that begins with a finished model's weights, for when the old state is lost.

        Raises:
            RuntimeError: the folder holds a model of another shape.
        """
        state = cls.fresh(seed)
        state.model.load_state_dict(Qwen3_5ForCausalLM.from_pretrained(folder, dtype=torch.float32).state_dict())
        state.average = {name: p.detach().clone() for name, p in state.model.named_parameters()}
        return state

    @classmethod
    def load(cls, path: Path) -> "TrainingState":
        """A state from a file of `save`.

        Raises:
            FileNotFoundError: there is no such file.
        """
        saved = torch.load(path, weights_only=True)
        state = cls.fresh(saved["seed"])
        state.model.load_state_dict(saved["model"])
        for optimizer, values in zip(state.optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(values)
        state.average = saved["average"]
        state.position = Position(**saved["position"])
        state.step, state.tokens, state.seconds = saved["step"], saved["tokens"], saved["seconds"]
        return state

    def save(self, path: Path) -> None:
        """Write the state; a reader sees the old file or the new one, never half of it."""
        values = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "average": self.average,
            "seed": self.seed,
            "position": dataclasses.asdict(self.position),
            "step": self.step,
            "tokens": self.tokens,
            "seconds": self.seconds,
        }
        half = path.with_suffix(".half")
        torch.save(values, half)
        half.replace(path)

    @torch.no_grad()
    def update_average(self) -> None:
        """Move the running mean towards the weights; in the first steps it covers about the last tenth of them."""
        weight = max(1 / AVERAGE_OVER, 10 / (10 + self.step))
        parameters = dict(self.model.named_parameters())
        torch._foreach_lerp_(list(self.average.values()), [parameters[name] for name in self.average], weight)

    @torch.no_grad()
    def swap_average(self) -> None:
        """Exchange the weights and their running mean, in place; doing it twice changes nothing."""
        for name, parameter in self.model.named_parameters():
            kept = parameter.clone()
            parameter.copy_(self.average[name])
            self.average[name].copy_(kept)
