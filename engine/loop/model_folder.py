"""Where a model's folder is, by its name; and which names stand for a shape that is filled with random weights."""

from __future__ import annotations

import os
from pathlib import Path

from engine.account.cost import PRESET_SHAPES
from engine.account.record import ModelShape
from engine.fetch.catalogue import CATALOGUE

RANDOM = "random:"
"""Before the name of a shape: that model with random weights, for timing."""

BUNDLED = Path(__file__).resolve().parents[2] / "models"
"""What ships with the project."""


class ModelNotFound(ValueError):
    """No such model; the message names those that there are."""


def fetched() -> Path:
    """The user's cache folder, for models that an operator has fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "two-speeds" / "models"


def find_model(model: str | os.PathLike[str]) -> Path:
    """The folder of a model by name (`models/<name>`, then the cache folder) or by path; raises `ModelNotFound`."""
    named = [place / model for place in (BUNDLED, fetched())] if _is_name(model) else []
    for folder in (*named, Path(model)):
        if (folder / "config.json").is_file():
            return folder
    if Path(model).is_dir():
        raise ModelNotFound(f"{Path(model)} is not a model folder: it has no config.json.")
    known = ", ".join(known_models()) or "none"
    raise ModelNotFound(
        f"There is no model {os.fspath(model)!r}. Models here: {known}. A path to a model folder works, too."
        + (f" It can be brought here with: python -m engine fetch {model}" if model in CATALOGUE else "")
    )


def random_shape(model: str | os.PathLike[str]) -> ModelShape | None:
    """The shape that `random:<name>` stands for; None for any other name. Raises `ModelNotFound`."""
    if not isinstance(model, str) or not model.startswith(RANDOM):
        return None
    shapes = {name.lower(): shape for name, shape in PRESET_SHAPES.items()}
    name = model.removeprefix(RANDOM).lower()
    if name not in shapes:
        known = ", ".join(RANDOM + known for known in shapes)
        raise ModelNotFound(f"There is no shape {name!r} to fill with random weights. There are: {known}.")
    return shapes[name]


def known_models() -> list[str]:
    """Names of the models that can be loaded without a path."""
    places = [place for place in (BUNDLED, fetched()) if place.is_dir()]
    return sorted({path.parent.name for place in places for path in place.glob("*/config.json")})


def _is_name(model: str | os.PathLike[str]) -> bool:
    text = os.fspath(model)
    return text not in ("", ".", "..") and not set(text) & {"/", "\\"}
