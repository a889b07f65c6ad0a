"""Engines of one kind, asked through Ray Serve: it chooses the replica, and it replaces one that is gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from engine.account.record import Run
from engine.account.trace_record import TraceRecord
from engine.cluster.messages import Ask, Description, Message, No
from engine.cluster.relay import EngineLost

if TYPE_CHECKING:
    from ray.serve.handle import DeploymentHandle

TRACE_S = 120.0


class Pool:
    """One deployment of `engine.cluster.replica.Replica`."""

    def __init__(self, handle: DeploymentHandle[Any], purpose: str) -> None:
        """`purpose` is for people: "for prefill"."""
        self.purpose = purpose
        self._handle = handle
        self._stream = handle.options(stream=True)

    def describe(self) -> Description:
        """What its engines are; waits until there is one."""
        described: Description = self._handle.describe.remote().result()
        return described

    async def serve(self, ask: Ask) -> AsyncGenerator[Message, None]:
        """Have one of the engines take its share of a run. Raises EngineLost; leaving early cancels it there."""
        from ray.exceptions import RayError, RayTaskError

        messages: Any = self._stream.serve.remote(ask)
        try:
            async for message in messages:
                yield message
        except RayTaskError:
            raise  # an engine that lives and has a fault: another one has it, too
        except RayError as gone:
            raise EngineLost(type(gone).__name__) from gone
        finally:
            messages.cancel()

    async def everywhere(self, method: str, *arguments: Any, timeout_s: float) -> list[Any]:
        """Call a method of every engine; who fails is in the list as an exception."""
        broadcast = self._handle.broadcast(method, *arguments)
        return await broadcast.results_async(timeout_s=timeout_s, return_exceptions=True)

    def trace(self, run: Run, layer: int, head: int) -> TraceRecord:
        """Replay a run on one of the engines and wait. Raises TraceError (engine.loop.trace)."""
        from engine.loop.trace import TraceError

        traced: TraceRecord | No = self._handle.trace.remote(run, layer, head).result(timeout_s=TRACE_S)
        if isinstance(traced, No):
            raise TraceError(traced.code, traced.message)
        return traced
