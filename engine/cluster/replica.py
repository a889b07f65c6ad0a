"""One engine of a pool: the class that Ray Serve keeps in a process of its own, one for each replica."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayError

from engine.account.record import Run
from engine.account.trace_record import TraceRecord
from engine.cluster.loopback import stay_on_loopback
from engine.cluster.messages import Ask, Description, Message, No, Told
from engine.cluster.share import Share
from engine.loop.engine import Engine
from engine.loop.policy import Policy
from engine.loop.queueing import Reserved
from engine.loop.trace import TraceError
from engine.memory.handover import Exported


class Replica:
    """An engine that Ray Serve starts, asks and replaces."""

    def __init__(
        self, model: str, threads: int | None, policy: Policy, draft_model: str | None, *, device: str, inside: bool
    ) -> None:
        """Load the model; Ray Serve sends nothing here before that is done. `inside`: the cluster is this machine."""
        if inside:
            stay_on_loopback()
        self._engine = Engine.load(model, threads=threads, policy=policy, draft_model=draft_model, device=device)
        self._engine.start()
        mine = serve.get_replica_context()
        self._share = Share(f"{mine.deployment}/{mine.replica_id.unique_id}", self._engine, ray.put, _get)

    async def serve(self, ask: Ask) -> AsyncGenerator[Message, None]:
        """See `Share.serve`."""
        async with aclosing(self._share.serve(ask)) as messages:
            async for message in messages:
                yield message

    def describe(self) -> Description:
        """What this engine is."""
        return Description(self._engine.shape, self._engine.context_length, self._engine.policy)

    def tell(self, cursors: dict[str, int]) -> Told:
        """See `Share.tell`."""
        return self._share.tell(cursors)

    async def trace(self, run: Run, layer: int, head: int) -> TraceRecord | No:
        """See `Engine.trace`."""
        try:
            return await asyncio.to_thread(self._engine.trace, run, layer, head)
        except TraceError as no:
            return No(no.code, no.message)

    def reserve(self, left_ns: int, until: str) -> None:
        """See `Engine.reserve`; the engine's clock is this process's."""
        self._engine.reserve(Reserved(time.perf_counter_ns() + left_ns, until))

    def release(self) -> None:
        """See `Engine.release`."""
        self._engine.release()

    def check_health(self) -> None:
        """Ray Serve calls it now and then, and replaces the replica if it raises."""
        if not self._engine.working:
            raise RuntimeError("The engine's worker has ended.")


def _get(reference: Any) -> Exported:
    try:
        exported: Exported = ray.get(reference)
    except RayError as gone:
        # Its owner died, for instance: what an engine puts into the store goes with it.
        raise LookupError(type(gone).__name__) from None
    return exported
