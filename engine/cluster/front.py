"""The one address: the engine server's application, over the cluster instead of an engine, as a Ray Serve ingress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from starlette.applications import Starlette

from engine.cluster.face import ClusterEngine
from engine.cluster.loopback import stay_on_loopback
from engine.cluster.pool import Pool
from engine.loop.model_folder import find_model, random_shape
from engine.loop.parts import Tokenizes
from engine.loop.variant import split_variant
from engine.model.byte_tokens import ByteTokens
from engine.model.tokenizer import Tokenizer
from engine.serve import server

if TYPE_CHECKING:
    from engine.loop.engine import Engine

APP = "two-speeds"
"""Ray Serve's name for the whole."""
ENGINES, PREFILL, DECODE = "engines", "prefill", "decode"
PURPOSES = {ENGINES: "at one address", PREFILL: "for prefill", DECODE: "for decode"}


@dataclass(frozen=True)
class Address:
    """Where the front listens, and what it asks of clients."""

    host: str
    port: int
    token: str | None
    inside: bool
    """Whether the cluster is this machine alone."""


def front_of(model: str, pools: tuple[str, ...], address: Address) -> Callable[[], Starlette]:
    """What builds the application, in the process in which it serves."""

    def build() -> Starlette:
        if address.inside:
            stay_on_loopback()
        return server.build(lambda: _connect(model, pools), host=address.host, token=address.token)

    return build


def tokenizer_of(model: str) -> Tokenizes:
    """A model's tokenizer without the model. Raises `ModelNotFound`, `CheckpointError`."""
    name, _ = split_variant(model)
    return ByteTokens() if random_shape(name) else Tokenizer(find_model(name))


def _connect(model: str, pools: tuple[str, ...]) -> Engine:
    from ray import serve

    connected = [Pool(serve.get_deployment_handle(name, APP), PURPOSES[name]) for name in pools]
    # The server knows engines by what they do; this one does the same.
    return cast("Engine", ClusterEngine(tokenizer_of(model), *connected))
