"""The engine server: its own process, HTTP on loopback.

`serve` is what `python -m engine serve` calls; `build` makes the ASGI application, for tests and for other servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from engine.loop.model_folder import known_models, random_shape
from engine.loop.policy import Policy
from engine.loop.variant import split_variant
from engine.serve import wire
from engine.serve.admission import MAX_WAITING, Admission
from engine.serve.chat import ChatRoutes
from engine.serve.completions import CompletionRoutes
from engine.serve.faults import EXCEPTION_HANDLERS
from engine.serve.guard import is_loopback, middleware
from engine.serve.host import EngineHost, OtherModels
from engine.serve.lifeline import end_when_cut
from engine.serve.metrics import ServiceMetrics
from engine.serve.openapi import with_document
from engine.serve.registry import PATIENCE_S, RunRegistry
from engine.serve.routes import EngineRoutes

if TYPE_CHECKING:
    from engine.loop.engine import Engine

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8600
SWEEP_S = 0.5
"""How often ended and unwatched runs are looked for."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadSettings:
    """How the engine is made, besides its model."""

    threads: int | None = None
    """None: two, or one while other programs are busy."""
    policy: Policy = field(default_factory=Policy)
    draft_model: str | None = None
    device: str = "cpu"


def serve(
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    model: str = wire.DEFAULT_MODEL,
    token: str | None = None,
    lifeline: bool = False,
    patience_s: float = PATIENCE_S,
    max_waiting: int | None = None,
    settings: LoadSettings | None = None,
) -> None:
    """Serve one model until stopped. Port 0 takes a free one; standard output gets one JSON line with the address.

    With `lifeline` the process ends when its standard input closes. Exits with a message if it may or can not listen.
    """
    if not is_loopback(host) and not token:
        sys.exit(
            f"Listening on {host} lets other machines in. "
            "Give a token (--token or TWOSPEEDS_ENGINE_TOKEN), or listen on 127.0.0.1."
        )
    # Under a lifeline the app's terminal is where this goes: only what went wrong belongs there.
    logging.basicConfig(
        level=logging.WARNING if lifeline else logging.INFO, format="engine: %(levelname)s %(name)s: %(message)s"
    )
    listening = _listen(host, port)
    chosen = settings or LoadSettings()

    def load_variant(name: str) -> Engine:
        return _load_beside(f"{model}:{split_variant(name)[1]}", chosen)

    def load_other(name: str) -> Engine:
        # A draft model guesses in the words of the server's own one.
        return _load_beside(name, replace(chosen, draft_model=None))

    app = build(
        lambda: _load(model, chosen), host=host, token=token, patience_s=patience_s, max_waiting=max_waiting,
        load_variant=load_variant if split_variant(model)[1] == "bf16" else None,
        others=OtherModels(known_models, load_other),
    )  # fmt: skip
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=1)
    )
    if lifeline:
        end_when_cut(lambda: setattr(server, "should_exit", True))
    print(json.dumps({"url": _url(host, listening)}), flush=True)
    server.run(sockets=[listening])


def build(
    load: Callable[[], Engine],
    *,
    host: str = DEFAULT_HOST,
    token: str | None = None,
    patience_s: float = PATIENCE_S,
    sweep_s: float = SWEEP_S,
    max_waiting: int | None = None,
    load_variant: Callable[[str], Engine] | None = None,
    others: OtherModels | None = None,
) -> Starlette:
    """The ASGI application; `load` makes the engine, in a thread, when the application starts.

    `load_variant` makes one of the model's variants by name (`engine.loop.variant`), `others` are further models that
    may be asked for; without them there are none.
    """
    hosted = EngineHost(load, load_variant, others)
    runs = RunRegistry(lambda run: metrics.observe(run), patience_s=patience_s)
    admission = Admission(hosted, runs, max_waiting or MAX_WAITING)
    metrics = ServiceMetrics(admission.running_and_waiting, admission.usage, admission.steps_since)
    routes = EngineRoutes(admission, metrics).table() + CompletionRoutes(admission).table()
    routes += ChatRoutes(admission).table()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        hosted.start()
        sweeping = asyncio.create_task(_sweep(runs, metrics, hosted, sweep_s))
        try:
            yield
        finally:
            sweeping.cancel()
            admission.lane.end()
            await asyncio.to_thread(hosted.close)

    return Starlette(
        routes=with_document(routes, token is not None),
        middleware=middleware(token, host),
        exception_handlers=EXCEPTION_HANDLERS,
        lifespan=lifespan,
    )


async def _sweep(runs: RunRegistry, metrics: ServiceMetrics, hosted: EngineHost, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        try:
            runs.sweep()
            metrics.take_steps()
            await asyncio.to_thread(hosted.drop_unused)
        except Exception:
            # Without the sweep nothing would ever be cancelled or dropped again.
            _log.exception("the sweep over the runs failed; it is tried again")


def _load_beside(model: str, settings: LoadSettings) -> Engine:
    """One more engine, if it fits into the memory that is free. Raises `NoRoom` and what `Engine.load` raises."""
    from engine.loop.model_room import check_room

    if settings.device == "cpu" and random_shape(model) is None:
        check_room(model, settings.policy.max_running)
    return _load(model, settings)


def _load(model: str, settings: LoadSettings) -> Engine:
    # In the loading thread: torch takes seconds to import, and the server answers meanwhile.
    from engine.loop.engine import Engine

    engine = Engine.load(
        model, threads=settings.threads, policy=settings.policy, draft_model=settings.draft_model,
        device=settings.device,
    )  # fmt: skip
    if settings.threads is None:
        engine.mind_neighbours()
    return engine


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=256
        )
    except OSError as error:
        sys.exit(f"The engine cannot listen on {host}:{port}: {error.strerror or error}.")


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
