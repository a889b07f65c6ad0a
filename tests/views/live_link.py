"""A link to a real engine with a model that needs no weights, in this process: for what asks several at once."""

from __future__ import annotations

import time

import msgspec

from engine.account.record import Run, Sampling, Serving
from engine.loop.engine import Engine
from engine.loop.policy import Policy
from engine.loop.request import Request, SamplingParams
from engine.loop.run_log import RunLog
from engine.loop.scheduler import BatchRow
from engine.serve import wire
from engine.serve.client import EngineRefused
from tests.engine.loop.doubles import MockRunner, mock_engine
from views.store import RunStore


class LiveLink:
    """As views.engine_link.EngineLink, for as much of it as sharing and the page Serving need."""

    supervised = True

    def __init__(self, store: RunStore, policy: Policy | None = None, step_s: float = 0) -> None:
        runner = MockRunner(lambda _plan: time.sleep(step_s))
        self.engine: Engine = mock_engine(runner, policy=policy or Policy(max_running=8))
        self.engine.start()
        self.store = store
        self.logs: dict[str, RunLog] = {}
        self.cancelled: list[str] = []
        self.refuses: EngineRefused | None = None

    @property
    def client(self) -> LiveLink:
        return self

    def health(self) -> wire.Health:
        return wire.Health("ready")

    def submit(
        self, prompt: str, sampling: Sampling, model: str | None = None, serving: Serving = wire.DEFAULT_SERVING,
        lane: str | None = None,
    ) -> str:  # fmt: skip
        if self.refuses:
            raise self.refuses
        log = self.engine.submit(Request(prompt, SamplingParams(**msgspec.structs.asdict(sampling)), serving=serving))
        self.logs[log.run.header.run_id] = log
        return log.run.header.run_id

    def run(self, run_id: str) -> Run | None:
        log = self.logs.get(run_id)
        return log.run if log else None

    def cancel(self, run_id: str) -> None:
        self.cancelled.append(run_id)
        self.engine.cancel(run_id)

    def names(self) -> list[str]:
        return list(self.engine.models)

    def batch(self) -> list[BatchRow]:
        return self.engine.batch_table()

    def batch_table(self) -> wire.BatchTable:
        return wire.BatchTable(self.engine.batch_table())

    def steps(self, start: int = 0) -> wire.StepTable:
        return wire.StepTable(self.engine.steps.since(start), self.engine.policy)
