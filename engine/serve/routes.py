"""The engine's own routes: runs and their logs, models, the live batch, its reservation, health, metrics."""

from __future__ import annotations

import anyio.to_thread
import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.account.record import SCHEMA
from engine.account.record_file import dumps
from engine.loop.run_log import RunLog
from engine.serve import wire
from engine.serve.admission import Admission
from engine.serve.faults import Refused, read_json
from engine.serve.metrics import ServiceMetrics
from engine.serve.registry import RunRegistry
from engine.serve.streaming import ndjson

_NOT_STORED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EngineRoutes:
    """Handlers; every one answers JSON (the log as lines of it), and refuses by raising `Refused`."""

    def __init__(self, admission: Admission, metrics: ServiceMetrics) -> None:
        self._admission = admission
        self._metrics = metrics

    def table(self) -> list[Route]:
        """Path, handler, method."""
        return [
            Route("/health", self.health),
            Route("/models", self.models),
            Route("/batch", self.batch),
            Route("/steps", self.steps),
            Route("/reservation", self.reserve, methods=["POST"]),
            Route("/reservation/end", self.give_back, methods=["POST"]),
            Route("/metrics", self.metrics),
            Route("/runs", self.submit, methods=["POST"]),
            Route("/runs/{run_id}", self.run),
            Route("/runs/{run_id}/events", self.events),
            Route("/runs/{run_id}/cancel", self.cancel, methods=["POST"]),
            Route("/runs/{run_id}/trace", self.trace, methods=["POST"]),
        ]

    async def submit(self, request: Request) -> Response:
        """Start a run: 201 and its id."""
        asked = await read_json(request, wire.RunRequest)
        log = await self._admission.submit(
            asked.model, asked.prompt, asked.sampling, asked.serving, needs_viewers=True, lane=asked.lane
        )
        return _json(wire.RunAccepted(log.run_id), 201)

    async def events(self, request: Request) -> Response:
        """The log as NDJSON from event `from` on, until the run ends. An open stream is a viewer."""
        log = self._admission.log(request.path_params["run_id"])
        return _WatchedStream(self._admission.runs, log, _start(request))

    async def run(self, request: Request) -> Response:
        """The record in its saved form, as far as it goes."""
        log = self._admission.log(request.path_params["run_id"])
        return Response(dumps(log.run), media_type="application/json", headers=_NOT_STORED)

    async def cancel(self, request: Request) -> Response:
        """Ask the run to stop; 202 whether or not it had ended already."""
        self._admission.log(request.path_params["run_id"]).cancel()
        return _json({}, 202)

    async def trace(self, request: Request) -> Response:
        """A second, instrumented pass over a finished run's tokens."""
        log = self._admission.log(request.path_params["run_id"])
        asked = await read_json(request, wire.TraceRequest)
        engine = await self._admission.engine(log.run.header.model.name)
        # Here and not above: tracing brings in torch, and the server must answer before torch is there.
        from engine.loop.trace import TraceError

        try:
            record = await anyio.to_thread.run_sync(engine.trace, log.run, asked.layer, asked.head)
        except TraceError as wrong:
            raise Refused(409 if not log.ended else 400, wrong.code, wrong.message) from None
        return _json(record)

    async def models(self, _: Request) -> Response:
        """The shapes of what is loaded, each with its bytes, and the names that may be asked for."""
        host = self._admission.host
        shapes = [shape for engine in host.engines for shape in engine.models.values()]
        return _json(wire.ModelList(shapes, host.names))

    async def batch(self, _: Request) -> Response:
        """What is computed and what waits, now."""
        rows = [row for engine in self._admission.host.engines for row in engine.batch_table()]
        return _json(wire.BatchTable(rows, self._admission.lane.until))

    async def reserve(self, request: Request) -> Response:
        """Reserve the engine for runs that come with the key: 201, the key, and when it ends by itself."""
        asked = await read_json(request, wire.ReservationRequest)
        return _json(self._admission.reserve(asked.seconds), 201)

    async def give_back(self, request: Request) -> Response:
        """End a reservation before its time; 202 whether or not it had ended already."""
        asked = await read_json(request, wire.ReservationEnd)
        self._admission.lane.give_back(asked.key)
        return _json({}, 202)

    async def steps(self, request: Request) -> Response:
        """What each step did, from number `from` on, as far as it is kept."""
        engine = await self._admission.engine(request.query_params.get("model"))
        return _json(wire.StepTable(engine.steps.since(_start(request)), engine.policy))

    async def health(self, _: Request) -> Response:
        """Always 200: the server is well; whether its engine is, the body says."""
        host = self._admission.host
        return _json(msgspec.structs.replace(host.health, schema=SCHEMA, machine=host.machine))

    async def metrics(self, _: Request) -> Response:
        """For Prometheus."""
        self._admission.runs.sweep()
        return Response(self._metrics.page(), media_type=CONTENT_TYPE_LATEST, headers=_NOT_STORED)


class _WatchedStream(StreamingResponse):
    """Counts as a viewer from its first byte until the client has left, however it leaves."""

    def __init__(self, runs: RunRegistry, log: RunLog, start: int) -> None:
        super().__init__(ndjson(log, start), media_type="application/x-ndjson", headers=_NOT_STORED)
        self._runs = runs
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._runs.watched(self._log):
            await super().__call__(scope, receive, send)


def _start(request: Request) -> int:
    text = request.query_params.get("from", "0")
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Refused(400, "bad_start", "from must be a whole number, 0 or more: the first that you do not have yet.")
    return int(text)


def _json(body: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json", headers=_NOT_STORED)
