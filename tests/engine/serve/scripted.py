"""An engine without a model: same face, same logs, tokens at a pace that a test chooses.

It lets tests hold a run in its middle for as long as they need. Run as a program it is a whole engine server:
`python -m tests.engine.serve.scripted --step-ms 20 [--lifeline] [--fail MESSAGE]`.
"""

from __future__ import annotations

import argparse
import queue
import secrets
import threading
import time
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec

from engine.account.record import (
    Candidate,
    Device,
    Emission,
    End,
    Error,
    Header,
    Pass,
    Queued,
    Sampling,
    Token,
)
from engine.loop.policy import Policy
from engine.loop.request import Request, RequestError
from engine.loop.room import Usage
from engine.loop.run_log import Bell, RunLog
from engine.loop.scheduler import BatchRow
from engine.loop.step_log import StepLog
from tests.engine.builders import TINY

CONTEXT = 4096

SHAPE = msgspec.structs.replace(
    TINY, name="story", vocab_size=512, context_length=CONTEXT, parameters=100_000, weight_bytes=200_000
)
EOS = Token.of(499, b"<|endoftext|>")
DEVICE = Device("cpu", "scripted", 1, "none", {})


def words(prompt: str, n: int) -> list[str]:
    """What the scripted engine answers to a prompt: depends on the prompt, so mixed-up runs show."""
    return [f" {prompt[:8]}{i}" for i in range(n)]


class ScriptedEngine:
    """One request after another; `step_s` a pass.

    The prompt "crash" ends its run with an error after two passes, "short" with an end-of-text token as its third.
    """

    def __init__(self, step_s: float = 0.0, models: tuple[str, ...] = ("story",)) -> None:
        self.models = dict.fromkeys(models, SHAPE)
        self.step_s = step_s
        self.tokenizer = SimpleNamespace(
            eos_ids=frozenset({EOS.id}), chat_template=None, encode=str.split, longest_token_bytes=100
        )
        self.context_length = CONTEXT
        self.steps = StepLog(time.monotonic_ns)
        self.policy = Policy()
        self.usage = Usage(0, 0, 0, 0)
        self.condition = None
        self._bell = Bell()
        self._queue: queue.Queue[tuple[Request, RunLog, int] | None] = queue.Queue()
        self._live: list[RunLog] = []
        self._cancelled: set[str] = set()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._cancelled.update(log.run_id for log in self._live)
        self._queue.put(None)
        self._thread.join(10)
        self._bell.close()

    def submit(self, request: Request) -> RunLog:
        ids = list(request.prompt.split())
        if len(ids) + request.sampling.max_new_tokens > CONTEXT:
            raise RequestError("prompt_too_long", f"The prompt has {len(ids)} tokens.")
        run_id = request.request_id or secrets.token_hex(16)
        log = RunLog(run_id, self._bell, lambda: self._cancelled.add(run_id))
        log.append(_header(run_id, request, ids))
        log.append(Queued(1, 0, len(self._live)))
        self._live.append(log)
        self._queue.put((request, log, time.monotonic_ns()))
        return log

    def cancel(self, run_id: str) -> bool:
        self._cancelled.add(run_id)
        return any(log.run_id == run_id for log in self._live)

    def batch_table(self) -> list[BatchRow]:
        return [
            BatchRow("decode" if i == 0 else None, 1, max(0, len(log) - 2), 10, len(log), None)
            for i, log in enumerate(list(self._live))
        ]

    def _work(self) -> None:
        while (taken := self._queue.get()) is not None:
            request, log, arrival = taken
            self._run(request, log, arrival)
            self._live.remove(log)

    def _run(self, request: Request, log: RunLog, arrival: int) -> None:
        n_prompt, held = len(request.prompt.split()), 0
        for number, word in enumerate(words(request.prompt, request.sampling.max_new_tokens)):
            start = time.monotonic_ns()
            time.sleep(self.step_s)
            if log.run_id in self._cancelled:
                return log.append(End(len(log), "cancelled", time.monotonic_ns() - arrival))
            if request.prompt == "crash" and number == 2:
                return log.append(Error(len(log), "engine_error", "The engine made a mistake."))
            n_in = n_prompt if number == 0 else 1
            held += n_in
            token = EOS if request.prompt == "short" and number == 2 else Token.of(number, word.encode())
            log.append(pass_of(len(log), number, n_in, held, token, start - arrival, time.monotonic_ns() - arrival))
            if token is EOS:
                return log.append(End(len(log), "stop", time.monotonic_ns() - arrival))
        log.append(End(len(log), "length", time.monotonic_ns() - arrival))
        return None


def _header(run_id: str, request: Request, ids: list[str]) -> Header:
    return Header(
        index=0,
        run_id=run_id,
        created=datetime.now(UTC).isoformat(),
        evidence="simulated",
        model=SHAPE,
        device=DEVICE,
        prompt=request.prompt,
        prompt_tokens=[Token.of(i, word.encode()) for i, word in enumerate(ids)],
        sampling=Sampling(**msgspec.structs.asdict(request.sampling)),
        engine_version="scripted",
        serving=request.serving,
    )


def pass_of(index: int, number: int, n_in: int, held: int, token: Token, start: int, end: int) -> Pass:
    other = Token.of(500, b" other")
    odds = [Candidate(token, 0.75, 0.75, 1.0), Candidate(other, 0.25, 0.25, 0.0)]
    return Pass(
        index=index,
        number=number,
        phase="decode" if number else "prefill",
        token_ids=[0] * n_in,
        start_position=held - n_in,
        shared_by=1,
        start_ns=start,
        end_ns=end,
        weight_bytes_read=None,
        kv_bytes_read=None,
        kv_bytes_written=None,
        state_bytes_read=None,
        state_bytes_written=None,
        operations=None,
        positions_held=held,
        kv_bytes_held=held,
        state_bytes_held=1,
        window_bytes_held=1,
        emitted=[Emission(token, held, odds, 0)],
    )


def main() -> None:
    """Serve a scripted engine, as `python -m engine serve` serves a real one."""
    from engine.serve import server

    options = argparse.ArgumentParser()
    options.add_argument("--step-ms", type=float, default=1)
    options.add_argument("--fail")
    options.add_argument("--lifeline", action="store_true")
    options.add_argument("--port", type=int, default=0)
    given = options.parse_args()

    def load(*_: object) -> ScriptedEngine:
        if given.fail:
            raise ValueError(given.fail)
        return ScriptedEngine(given.step_ms / 1e3)

    server._load = load
    server.serve(port=given.port, lifeline=given.lifeline)


if __name__ == "__main__":
    main()
