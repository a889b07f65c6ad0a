"""`POST /v1/completions` and `GET /v1/models` as OpenAI's API has them, so that ordinary clients and load tools can use
the engine.
"""

from __future__ import annotations

from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.serve.admission import Admission
from engine.serve.asked import Asked
from engine.serve.choices import Choices
from engine.serve.completion_text import Piece
from engine.serve.faults import Refused, read_json
from engine.serve.logprobs import completion_logprobs
from engine.serve.openai_answer import answer, json_response

DEFAULT_MAX_TOKENS = 16
"""As OpenAI's."""
MAX_LOGPROBS = 5
"""As OpenAI's own limit; the record holds at least as many candidates."""


class CompletionRequest(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of `POST /v1/completions`: one text to continue."""

    prompt: str | list[Any]
    logprobs: int | None = None
    best_of: int | None = None
    echo: Any = None
    suffix: Any = None

    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {**Asked.unsupported, "echo": (False,), "suffix": ("",)}

    def text(self) -> str:
        """The prompt; a list of one text counts. Raises Refused."""
        if isinstance(self.prompt, str):
            return self.prompt
        if len(self.prompt) == 1 and isinstance(self.prompt[0], str):
            return self.prompt[0]
        message = "prompt must be one text; lists of several prompts or of token ids are not supported."
        raise Refused(400, "unsupported", message, "prompt")

    def check(self) -> None:
        """Raise Refused for what is out of bounds, or would have to be ignored."""
        Asked.check(self)
        if self.best_of is not None and self.best_of != self.n_choices:
            message = "best_of must be equal to n: every completion that is computed is sent."
            raise Refused(400, "unsupported", message, "best_of")
        if self.logprobs is not None and not 0 <= self.logprobs <= MAX_LOGPROBS:
            raise Refused(400, "bad_logprobs", f"logprobs must be from 0 to {MAX_LOGPROBS}.", "logprobs")


class CompletionForm:
    """A completion as it travels; whole or in pieces, an entry looks the same."""

    id_prefix = "cmpl"
    whole_object = chunk_object = "text_completion"

    def __init__(self, n_logprobs: int | None) -> None:
        self._n_logprobs = n_logprobs

    def whole(self, piece: Piece) -> dict[str, Any]:
        """Text, log probabilities if they were asked for, and why it ended if it did."""
        logprobs = None if self._n_logprobs is None else completion_logprobs(piece.tokens, self._n_logprobs)
        return {"text": piece.text, "logprobs": logprobs, "finish_reason": piece.finish_reason}

    chunk = whole


class CompletionRoutes:
    """Handlers of `/v1/completions` and `/v1/models`."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def table(self) -> list[Route]:
        """Path, handler, method."""
        return [Route("/v1/completions", self.complete, methods=["POST"]), Route("/v1/models", self.models)]

    async def models(self, _: Request) -> Response:
        """The loaded models; `created` is when they were loaded."""
        host = self._admission.host
        entry = {"object": "model", "created": host.loaded_at, "owned_by": "two-speeds"}
        return json_response({"object": "list", "data": [{"id": name, **entry} for name in host.engine.models]})

    async def complete(self, request: Request) -> Response:
        """`n` completions of one prompt, whole or as server-sent events."""
        asked = await read_json(request, CompletionRequest)
        asked.check()
        max_new_tokens = DEFAULT_MAX_TOKENS if asked.max_tokens is None else asked.max_tokens
        choices = await Choices.start(self._admission, asked, asked.text(), max_new_tokens, "prompt")
        return await answer(request, choices, CompletionForm(asked.logprobs), asked)
