"""Two Speeds' engine: a small hybrid language model, served honestly.

    from engine import Engine, Request, SamplingParams, Run

    run = Engine.load("story").run(Request("Once upon a time, there was a", SamplingParams(max_new_tokens=10)))

Names are loaded when they are first used, so that a process which only draws never imports torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.account.record import Run
    from engine.loop.engine import Engine
    from engine.loop.request import Request, RequestError, SamplingParams

__version__ = "0.1.0"
__all__ = ["Engine", "Request", "RequestError", "Run", "SamplingParams", "__version__"]

_HOMES = {
    "Engine": "engine.loop.engine",
    "Request": "engine.loop.request",
    "RequestError": "engine.loop.request",
    "SamplingParams": "engine.loop.request",
    "Run": "engine.account.record",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
