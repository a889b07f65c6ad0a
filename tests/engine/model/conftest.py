from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from transformers import Qwen3_5ForCausalLM

from engine.memory.memory import Memory
from engine.model.model import Model
from kernels import dispatch
from tests.engine.model.checkpoints import VARIANTS, random_model, text_config, write

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Qwen3_5ForCausalLM]]:
    """Folder and transformers model of a variant; each is made once."""
    made: dict[str, tuple[Path, Qwen3_5ForCausalLM]] = {}

    def of(variant: str) -> tuple[Path, Qwen3_5ForCausalLM]:
        if variant not in made:
            model = random_model(text_config(**VARIANTS[variant]))
            made[variant] = write(tmp_path_factory.mktemp("checkpoints") / "random", model), model
        return made[variant]

    return of


@pytest.fixture(scope="session")
def story_folder(oracle: Callable[[str], tuple[Path, Qwen3_5ForCausalLM]]) -> Path:
    """The bundled model, one named in TWO_SPEEDS_TEST_MODEL, or, where neither is there, a random one."""
    named = os.environ.get("TWO_SPEEDS_TEST_MODEL")
    folder = Path(named) if named else ROOT / "models" / "story"
    return folder if (folder / "model.safetensors").exists() else oracle("family")[0]


@pytest.fixture(params=["cpu", "native"])
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    """The whole model on one set of operations."""
    with dispatch.override_all(request.param):
        yield request.param


@pytest.fixture
def model(oracle: Callable[[str], tuple[Path, Qwen3_5ForCausalLM]]) -> Model:
    """A small random model in float32."""
    return load(oracle("family")[0])


@pytest.fixture
def memory(model: Model) -> Memory:
    """Room for four sequences; whatever nobody owns is NaN."""
    return poisoned(model)


def load(folder: Path) -> Model:
    """In float32 throughout, as the oracle computes."""
    return Model.load(folder, dtype=torch.float32, kv_dtype=torch.float32)


def poisoned(model: Model, n_positions: int = 1200) -> Memory:
    """Memory full of NaN."""
    memory = model.new_memory(n_slots=4, n_positions=n_positions)
    memory.poison_free()
    return memory
