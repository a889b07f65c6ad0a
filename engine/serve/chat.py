"""`POST /v1/chat/completions` as OpenAI's API has it, for models whose folder has a chat template.

The template turns the messages into one text, and from there on a chat is a completion: the same engine, the same
record, whose prompt is that text.
"""

from __future__ import annotations

from typing import Any, ClassVar

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.loop.request import Request as EngineRequest
from engine.loop.request import RequestError, SamplingParams, read_prompt
from engine.loop.sampler import N_CANDIDATES
from engine.model.chat_template import ChatTemplate, ChatTemplateError
from engine.serve.admission import Admission
from engine.serve.asked import Asked, check_length
from engine.serve.chat_messages import ChatMessage
from engine.serve.choices import Choices
from engine.serve.completion_text import Piece
from engine.serve.faults import Refused, read_json
from engine.serve.logprobs import chat_logprobs
from engine.serve.openai_answer import answer


class ChatRequest(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of `POST /v1/chat/completions`. `chat_template_kwargs`, an extension, are names for the template."""

    messages: list[ChatMessage]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    chat_template_kwargs: dict[str, str | int | float | bool | None] | None = None

    tools: Any = None
    tool_choice: Any = None
    functions: Any = None
    function_call: Any = None
    response_format: Any = None
    modalities: Any = None
    audio: Any = None
    web_search_options: Any = None
    reasoning_effort: Any = None
    verbosity: Any = None
    add_generation_prompt: Any = None
    continue_final_message: Any = None

    parallel_tool_calls: Any = None
    prediction: Any = None

    unsupported: ClassVar[dict[str, tuple[Any, ...]]] = {
        **Asked.unsupported,
        "tools": ([],),
        "tool_choice": ("none", "auto"),
        "functions": ([],),
        "function_call": ("none", "auto"),
        "response_format": ({"type": "text"},),
        "modalities": (["text"],),
        "audio": (),
        "web_search_options": (),
        "reasoning_effort": (),
        "verbosity": ("medium",),
        "add_generation_prompt": (True,),
        "continue_final_message": (False,),
    }

    def check(self) -> None:
        """Raise Refused for what is out of bounds, or would have to be ignored."""
        Asked.check(self)
        check_length("max_completion_tokens", self.max_completion_tokens)
        if self.top_logprobs is not None and not 0 <= self.top_logprobs <= N_CANDIDATES:
            message = f"top_logprobs must be from 0 to {N_CANDIDATES}."
            raise Refused(400, "bad_logprobs", message, "top_logprobs")
        if self.top_logprobs and not self.logprobs:
            raise Refused(400, "bad_logprobs", "top_logprobs needs logprobs to be true.", "top_logprobs")

    def limit(self) -> int | None:
        """Most tokens of a reply under either of its names, the newer first; None: as many as fit."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    def told(self) -> list[dict[str, str]]:
        """The messages for the template. Raises Refused."""
        if not self.messages:
            raise Refused(400, "bad_messages", "messages is empty; send at least one.", "messages")
        return [message.for_template(place) for place, message in enumerate(self.messages)]


class ChatForm:
    """A reply as it travels: a message, or deltas of one, the first of which names the role."""

    id_prefix = "chatcmpl"
    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"

    def __init__(self, n_logprobs: int | None) -> None:
        """`n_logprobs`: how many of the likeliest to tell beside each token; None: no log probabilities at all."""
        self._n_logprobs = n_logprobs

    def whole(self, piece: Piece) -> dict[str, Any]:
        """The message."""
        message = {"role": "assistant", "content": piece.text, "refusal": None}
        return {"message": message, **self._rest(piece)}

    def chunk(self, piece: Piece) -> dict[str, Any]:
        """What is new of it."""
        delta = {"role": "assistant"} if piece.offset == 0 else {}
        if piece.text:
            delta["content"] = piece.text
        return {"delta": delta, **self._rest(piece)}

    def _rest(self, piece: Piece) -> dict[str, Any]:
        logprobs = None if self._n_logprobs is None else chat_logprobs(piece.tokens, self._n_logprobs)
        return {"logprobs": logprobs, "finish_reason": piece.finish_reason}


class ChatRoutes:
    """Handler of `/v1/chat/completions`."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def table(self) -> list[Route]:
        """Path, handler, method."""
        return [Route("/v1/chat/completions", self.complete, methods=["POST"])]

    async def complete(self, request: Request) -> Response:
        """`n` replies to the messages, whole or as server-sent events."""
        asked = await read_json(request, ChatRequest)
        asked.check()
        self._admission.host.check(asked.model)
        template = self._template(asked.model)
        prompt = await anyio.to_thread.run_sync(_render, template, asked)
        limit = asked.limit()
        if limit is None:
            limit = await anyio.to_thread.run_sync(self._room, prompt)
        choices = await Choices.start(self._admission, asked, prompt, limit, "messages")
        n_logprobs = (asked.top_logprobs or 0) if asked.logprobs else None
        return await answer(request, choices, ChatForm(n_logprobs), asked)

    def _template(self, model: str) -> ChatTemplate:
        template = self._admission.host.engine.tokenizer.chat_template
        if template is None:
            message = (
                f"The model {model!r} continues texts and has no chat template, so it cannot take messages. "
                "Send it a prompt at /v1/completions."
            )
            raise Refused(400, "no_chat_template", message, "model")
        return template

    def _room(self, prompt: str) -> int:
        """Tokens that the context has left for a reply. Raises Refused."""
        engine = self._admission.host.engine
        tokenizer = engine.tokenizer
        try:
            least = EngineRequest(prompt, SamplingParams(max_new_tokens=1))
            ids = read_prompt(least, tokenizer.encode, tokenizer.longest_token_bytes, engine.context_length)
        except RequestError as wrong:
            raise Refused(400, wrong.code, wrong.message, "messages") from None
        return engine.context_length - len(ids)


def _render(template: ChatTemplate, asked: ChatRequest) -> str:
    try:
        return template.render(asked.told(), asked.chat_template_kwargs)
    except ChatTemplateError as wrong:
        raise Refused(400, "bad_messages", str(wrong), "messages") from None
