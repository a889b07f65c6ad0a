"""The runs that answer one OpenAI-compatible request: `n` requests to the engine, followed together.

Each choice is a request of its own with its own seed, so the engine batches them like any others and each leaves its
own record. They share their fate: when one fails or the client leaves, all are cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from datetime import datetime

from engine.account.record import Error
from engine.loop.run_log import RunLog
from engine.serve.admission import Admission
from engine.serve.asked import Asked
from engine.serve.completion_text import Piece, Writer
from engine.serve.faults import Refused
from engine.serve.streaming import tails

_FIELDS = {"too_many_new_tokens": "max_tokens"}
"""Code of the engine's refusal -> the field that is at fault; otherwise it is the prompt."""


class Choices:
    """n live runs and the text of each so far, in the order of their index."""

    def __init__(self, logs: list[RunLog], stops: list[str], hidden_ids: Collection[int]) -> None:
        self.logs = logs
        self._writers = [Writer(stops, hidden_ids) for _ in logs]

    @classmethod
    async def start(
        cls, admission: Admission, asked: Asked, prompt: str, max_new_tokens: int, prompt_field: str
    ) -> Choices:
        """Queue the runs. Raises Refused, naming the field at fault; then none of them is left."""
        stops = asked.stops()
        logs: list[RunLog] = []
        try:
            for sampling in asked.samplings(max_new_tokens):
                logs.append(await admission.submit(asked.model, prompt, sampling, asked.serving(), needs_viewers=False))
        except BaseException as wrong:
            for log in logs:
                log.cancel()
            raise _naming_the_field(wrong, prompt_field) from None
        hidden_ids = () if asked.ignore_eos else admission.host.engine.tokenizer.eos_ids
        return cls(logs, stops, hidden_ids)

    @property
    def created(self) -> int:
        """Seconds since 1970 at which the first of them arrived."""
        return int(datetime.fromisoformat(self.logs[0].run.header.created).timestamp())

    @property
    def failure(self) -> Error | None:
        """Why one of them failed, if one did."""
        return next((writer.failure for writer in self._writers if writer.failure), None)

    async def progress(self) -> AsyncGenerator[None, None]:
        """A turn for each batch of news, and now and then while there is none, until all are done or one has failed."""
        async with aclosing(tails(self.logs)) as batches:
            async for batch in batches:
                for log, writer, events in zip(self.logs, self._writers, batch, strict=True):
                    writer.take(events)
                    if writer.done and not log.ended:
                        log.cancel()  # it goes on past a stop text
                yield
                if self.failure or all(writer.done for writer in self._writers):
                    return

    def pieces(self) -> list[tuple[int, Piece]]:
        """Index and new text of each choice that has something to send."""
        fresh = [(index, writer.piece()) for index, writer in enumerate(self._writers) if not writer.closed]
        return [(index, piece) for index, piece in fresh if piece.text or piece.finish_reason]

    def cancel(self) -> None:
        """Stop those that still run."""
        for log in self.logs:
            log.cancel()

    def usage(self) -> dict[str, int]:
        """Tokens: the prompt counts once, however many replies it got."""
        prompt = len(self.logs[0].run.header.prompt_tokens)
        new = sum(writer.n_tokens for writer in self._writers)
        return {"prompt_tokens": prompt, "completion_tokens": new, "total_tokens": prompt + new}


def _naming_the_field(wrong: BaseException, prompt_field: str) -> BaseException:
    if not isinstance(wrong, Refused) or wrong.status != 400:
        return wrong
    # A complaint about the sampling settings begins with the name of the one that is meant.
    field = wrong.message.split()[0] if wrong.code == "bad_sampling" else _FIELDS.get(wrong.code, prompt_field)
    return Refused(wrong.status, wrong.code, wrong.message, field)
