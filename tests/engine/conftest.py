from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.small_model import write_small_model


@pytest.fixture(scope="session")
def small_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model of the real architecture with one token a byte."""
    return write_small_model(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="session")
def small_engine(small_model_folder: Path):
    """That model, loaded. Tests that start a worker or close it load their own."""
    from engine import Engine

    with Engine.load(small_model_folder, threads=1) as engine:
        yield engine
