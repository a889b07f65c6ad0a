"""The chat route, asked with the official client; its template here is the last message itself."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest

from engine.model.chat_template import ChatTemplate
from engine.serve.client import EngineClient
from tests.engine.serve.conftest import ask, engine_server, until
from tests.engine.serve.scripted import CONTEXT, ScriptedEngine, words

TEMPLATE = """\
{% if messages[0].content == 'no' %}{{ raise_exception('This model does not take no.') }}{% endif %}
{% if messages | length > 1 %}{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}
{% if loud %}LOUD{% endif %}{% else %}{{ messages[0].content }}{% endif %}"""


def chat_engine(step_s: float = 0.0) -> ScriptedEngine:
    engine = ScriptedEngine(step_s)
    engine.tokenizer.chat_template = ChatTemplate(TEMPLATE, {})
    return engine


@pytest.fixture(scope="module")
def chat_url() -> Iterator[str]:
    with engine_server(chat_engine()) as address:
        yield address


@pytest.fixture
def chat(chat_url: str) -> Iterator[openai.OpenAI]:
    with ask(chat_url) as client:
        yield client


def says(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def prompt_of(chat_url: str, messages: list, **options: object) -> str:
    with EngineClient(chat_url) as client, ask(chat_url) as chat:
        done = chat.chat.completions.create(model="story", messages=messages, max_tokens=1, **options)
        return client.run(done.choices[0].run_id).header.prompt


def test_a_reply_is_the_text_of_the_run_and_its_id_leads_to_the_record(chat, chat_url):
    done = chat.chat.completions.create(model="story", messages=says("once upon"), max_completion_tokens=5)
    assert done.object == "chat.completion" and done.model == "story"
    message = done.choices[0].message
    assert (message.role, message.content) == ("assistant", "".join(words("once upon", 5)))
    assert done.choices[0].finish_reason == "length" and done.choices[0].logprobs is None
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (2, 5)
    with EngineClient(chat_url) as client:
        assert client.run(done.id.removeprefix("chatcmpl-")).text == message.content


def test_a_streamed_reply_is_the_same_in_deltas_the_first_of_which_names_the_role(chat):
    stream = chat.chat.completions.create(
        model="story", messages=says("once"), max_tokens=9, n=2, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    for index in range(2):
        own = [chunk.choices[0] for chunk in chunks[:-1] if chunk.choices[0].index == index]
        assert [choice.delta.role for choice in own] == ["assistant"] + [None] * (len(own) - 1)
        assert "".join(choice.delta.content or "" for choice in own) == "".join(words("once", 9))
        assert own[-1].finish_reason == "length"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 18


def test_the_client_s_own_stream_reader_puts_the_message_together(chat):
    with chat.chat.completions.stream(model="story", messages=says("short"), max_tokens=9, logprobs=True) as stream:
        done = stream.get_final_completion()
    assert done.choices[0].message.content == " short0 short1"
    assert done.choices[0].finish_reason == "stop"
    assert [one.token for one in done.choices[0].logprobs.content] == [" short0", " short1"]


def test_log_probabilities_come_with_bytes_and_as_many_others_as_asked_for(chat):
    def told(**options: object) -> list:
        done = chat.chat.completions.create(model="story", messages=says("a"), max_tokens=2, **options)
        return done.choices[0].logprobs.content

    first, second = told(logprobs=True, top_logprobs=2)
    assert (first.token, bytes(first.bytes)) == (" a0", b" a0")
    assert [one.token for one in second.top_logprobs] == [" a1", " other"]
    assert [one.top_logprobs for one in told(logprobs=True)] == [[], []]


def test_a_reply_takes_what_the_context_has_left_unless_told_otherwise(chat):
    done = chat.chat.completions.create(model="story", messages=says("a b c"))
    assert done.usage.completion_tokens == CONTEXT - 3


def test_a_conversation_goes_to_the_template_with_its_roles_and_the_template_s_own_names(chat_url):
    messages = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": " two"}]},
    ]
    assert prompt_of(chat_url, messages) == "[system] be kind [user] one two "
    loud = {"chat_template_kwargs": {"loud": True}}
    assert prompt_of(chat_url, messages, extra_body=loud) == "[system] be kind [user] one two LOUD"


def test_a_reply_can_be_sent_back_as_it_came(chat, chat_url):
    reply = chat.chat.completions.create(model="story", messages=says("a"), max_tokens=1).choices[0].message
    assert prompt_of(chat_url, [*says("a"), reply, *says("b")]) == "[user] a [assistant]  a0 [user] b "


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_hangs_up_cancels_all_its_replies(stream):
    engine = chat_engine(0.02)
    with engine_server(engine) as url, httpx.Client(base_url=url, trust_env=False) as http:
        body = {"model": "story", "messages": says("a"), "n": 3, "stream": stream}
        with pytest.raises(httpx.ReadTimeout), http.stream("POST", "/v1/chat/completions", json=body, timeout=0.5) as a:
            for _ in a.iter_lines():
                raise httpx.ReadTimeout("hung up")  # after the first piece
        until(lambda: not engine.batch_table(), "the cancellation")


def test_a_model_without_a_template_says_where_it_takes_prompts(ai):
    with pytest.raises(openai.BadRequestError, match="/v1/completions") as no:
        ai.chat.completions.create(model="story", messages=says("a"))
    assert (no.value.code, no.value.param) == ("no_chat_template", "model")


def test_an_unknown_model_is_not_found(chat):
    with pytest.raises(openai.NotFoundError, match="no model 'gpt-9'"):
        chat.chat.completions.create(model="gpt-9", messages=says("a"))


def test_a_run_that_fails_is_an_error_of_the_server(chat):
    with pytest.raises(openai.InternalServerError, match="made a mistake"):
        chat.chat.completions.create(model="story", messages=says("crash"), n=2)
    with pytest.raises(openai.APIError, match="made a mistake"):
        list(chat.chat.completions.create(model="story", messages=says("crash"), n=2, stream=True))


IMAGE = [{"type": "image_url", "image_url": {"url": "data:,"}}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"messages": []}, "messages is empty"),
        ({"messages": says("")}, "empty"),
        ({"messages": says("no")}, "This model does not take no"),
        ({"messages": says("word " * 5000)}, "has 5,000 tokens"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\] has no content"),
        ({"messages": [{"role": "user", "content": IMAGE}]}, "'image_url' is not supported"),
        ({"messages": [*says("a"), {"role": "tool", "content": "x", "tool_call_id": "1"}]}, r"messages\[1\].*'tool'"),
        ({"messages": [{"role": "wizard", "content": "a"}]}, "does not have the form"),
        ({"tools": [TOOL]}, "tools is not supported"),
        ({"tool_choice": "required"}, "tool_choice is not supported"),
        ({"response_format": {"type": "json_object"}}, "response_format is not supported"),
        ({"reasoning_effort": "high"}, "reasoning_effort is not supported"),
        ({"presence_penalty": 0.5}, "presence_penalty is not supported"),
        ({"logit_bias": {"5": 1}}, "logit_bias is not supported"),
        ({"logprobs": True, "top_logprobs": 11}, "top_logprobs must be from 0 to 10"),
        ({"top_logprobs": 2}, "top_logprobs needs logprobs"),
        ({"max_completion_tokens": 0}, "max_completion_tokens must be"),
        ({"n": 9}, "n must be from 1 to 8"),
        ({"extra_body": {"beams": 4}}, "unknown field `beams`"),
    ],
)
def test_what_cannot_be_done_is_refused_by_the_name_of_its_field(chat, options, message):
    with pytest.raises(openai.BadRequestError, match=message) as no:
        chat.chat.completions.create(**{"model": "story", "messages": says("a")} | options)
    assert no.value.type == "invalid_request_error" and no.value.code
    assert no.value.param == [*options.get("extra_body", options)][-1]


def test_what_changes_nothing_may_be_sent(chat):
    neutral = {"response_format": {"type": "text"}, "tool_choice": "none", "modalities": ["text"], "user": "someone"}
    done = chat.chat.completions.create(
        model="story", messages=says("a"), max_tokens=1, store=False, presence_penalty=0, **neutral
    )
    assert done.choices[0].message.content == " a0"
