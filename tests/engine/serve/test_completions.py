"""The OpenAI-compatible routes, asked with the official client."""

from __future__ import annotations

import math
from collections.abc import Iterator

import httpx
import openai
import pytest

from engine.account.record import End, Event, Token
from engine.serve.client import EngineClient
from engine.serve.completion_text import Writer
from tests.engine.serve.conftest import PATIENCE_S, engine_server, until
from tests.engine.serve.scripted import ScriptedEngine, pass_of, words


def ask(url: str) -> openai.OpenAI:
    http = httpx.Client(trust_env=False)
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE_S, http_client=http)


@pytest.fixture
def ai(url: str) -> Iterator[openai.OpenAI]:
    with ask(url) as client:
        yield client


def test_a_completion_is_the_text_of_the_run_and_its_id_leads_to_the_record(ai, client):
    done = ai.completions.create(model="story", prompt="once upon", max_tokens=5)
    assert done.object == "text_completion" and done.model == "story"
    assert done.choices[0].text == "".join(words("once upon", 5))
    assert done.choices[0].finish_reason == "length"
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.total_tokens) == (2, 5, 7)
    assert client.run(done.id.removeprefix("cmpl-")).text == done.choices[0].text


def test_a_streamed_completion_is_the_same_text_in_pieces(ai):
    stream = ai.completions.create(
        model="story", prompt="once", max_tokens=30, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == "".join(words("once", 30))
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 30


def test_a_stream_comes_while_the_tokens_are_made():
    engine = ScriptedEngine(0.02)
    with engine_server(engine) as url, ask(url) as ai:
        stream = ai.completions.create(model="story", prompt="a", max_tokens=1000, stream=True)
        assert next(iter(stream)).choices[0].text
        assert engine.batch_table(), "the first piece came only after the run had ended"
        stream.close()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_hangs_up_cancels_its_request(stream):
    engine = ScriptedEngine(0.02)
    with engine_server(engine) as url, httpx.Client(base_url=url, trust_env=False) as http:
        body = {"model": "story", "prompt": "a", "max_tokens": 4000, "stream": stream}
        with pytest.raises(httpx.ReadTimeout), http.stream("POST", "/v1/completions", json=body, timeout=0.5) as answer:
            for _ in answer.iter_lines():
                raise httpx.ReadTimeout("hung up")  # after the first piece
        until(lambda: not engine.batch_table(), "the cancellation")
        with EngineClient(url) as client:
            assert client.health().status == "ready"


def test_a_client_that_hangs_up_while_it_waits_leaves_the_queue():
    engine = ScriptedEngine(0.02)
    with engine_server(engine) as url, httpx.Client(base_url=url, trust_env=False) as http, EngineClient(url) as client:
        first = client.submit("first")
        body = {"model": "story", "prompt": "a", "max_tokens": 4000}
        with pytest.raises(httpx.ReadTimeout):
            http.post("/v1/completions", json=body, timeout=0.1)
        list(client.events(first))
        until(lambda: not engine.batch_table(), "the cancellation of the one that waited")


def test_log_probabilities_are_of_the_model_s_own_odds(ai):
    done = ai.completions.create(model="story", prompt="a", max_tokens=3, logprobs=2)
    told = done.choices[0].logprobs
    assert told.tokens == words("a", 3)
    assert told.token_logprobs == pytest.approx([math.log(0.75)] * 3)
    assert told.top_logprobs[0] == pytest.approx({" a0": math.log(0.75), " other": math.log(0.25)})
    assert told.text_offset == [0, 3, 6]


def test_a_stop_text_ends_the_completion_before_it(ai):
    done = ai.completions.create(model="story", prompt="a", max_tokens=50, stop=["5 a", " zebra"])
    assert done.choices[0].text == " a0 a1 a2 a3 a4 a"
    assert done.choices[0].finish_reason == "stop"


def test_a_stop_text_that_falls_between_two_pieces_is_never_sent(ai):
    chunks = list(ai.completions.create(model="story", prompt="a", max_tokens=50, stop="5 a6 a", stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == " a0 a1 a2 a3 a4 a"
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_the_end_of_text_token_ends_the_text_and_is_no_part_of_it(ai, client):
    done = ai.completions.create(model="story", prompt="short", max_tokens=50)
    assert (done.choices[0].text, done.choices[0].finish_reason) == (" short0 short1", "stop")
    assert done.usage.completion_tokens == 3
    run = client.run(done.id.removeprefix("cmpl-"))
    assert run.text == done.choices[0].text
    assert run.emissions[-1].token.text == "<|endoftext|>"


def test_a_seed_is_kept_and_without_one_each_request_draws_its_own(ai, client):
    def seed_of(**options) -> int:
        done = ai.completions.create(model="story", prompt="a", max_tokens=1, **options)
        return client.run(done.id.removeprefix("cmpl-")).header.sampling.seed

    assert seed_of(seed=7) == 7
    assert len({seed_of() for _ in range(4)}) == 4


def test_defaults_are_those_of_the_api(ai, client):
    done = ai.completions.create(model="story", prompt="a")
    sampling = client.run(done.id.removeprefix("cmpl-")).header.sampling
    assert (sampling.temperature, sampling.top_p, sampling.max_new_tokens) == (1.0, 1.0, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 2}, "n and best_of must be 1"),
        ({"best_of": 3}, "n and best_of must be 1"),
        ({"prompt": ["a", "b"]}, "one text"),
        ({"prompt": [1, 2, 3]}, "one text"),
        ({"prompt": []}, "one text"),
        ({"echo": True}, "echo is not supported"),
        ({"suffix": "end"}, "suffix is not supported"),
        ({"presence_penalty": 1.0}, "presence_penalty is not supported"),
        ({"logit_bias": {"5": 1}}, "logit_bias is not supported"),
        ({"logprobs": 6}, "logprobs must be"),
        ({"stop": [""]}, "none of them empty"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "up to 4"),
        ({"temperature": -1}, "temperature must be"),
        ({"max_tokens": 0}, "max_new_tokens must be"),
        ({"max_tokens": "many"}, "does not have the form"),
        ({"prompt": ""}, "empty"),
    ],
)
def test_what_cannot_be_done_is_refused_and_not_ignored(ai, options, message):
    with pytest.raises(openai.BadRequestError, match=message):
        ai.completions.create(**{"model": "story", "prompt": "a"} | options)


def test_an_unknown_model_is_not_found(ai):
    with pytest.raises(openai.NotFoundError, match="no model 'davinci'"):
        ai.completions.create(model="davinci", prompt="a")


def test_a_run_that_fails_is_an_error_of_the_server(ai):
    with pytest.raises(openai.InternalServerError, match="made a mistake"):
        ai.completions.create(model="story", prompt="crash", max_tokens=5)
    with pytest.raises(openai.APIError, match="made a mistake"):
        list(ai.completions.create(model="story", prompt="crash", max_tokens=5, stream=True))


def test_the_models_are_listed(ai):
    listed = ai.models.list().data
    assert [model.id for model in listed] == ["story"]
    assert listed[0].created > 1_700_000_000


def test_the_token_is_the_api_key():
    with engine_server(ScriptedEngine(), token="key") as url:
        good = openai.OpenAI(base_url=f"{url}/v1", api_key="key", http_client=httpx.Client(trust_env=False))
        assert good.models.list().data[0].id == "story"
        with pytest.raises(openai.AuthenticationError):
            ask(url).models.list()


class TestWriter:
    """Text leaves in pieces that no later token can change."""

    @staticmethod
    def emitting(*raws: bytes) -> list[Event]:
        return [pass_of(i, i, 1, i + 1, Token.of(i, raw), 0, 1) for i, raw in enumerate(raws)]

    def test_half_a_character_waits_for_its_other_half(self):
        writer = Writer([])
        first, second = self.emitting(b"caf\xc3", b"\xa9!")
        writer.take([first])
        assert writer.piece().text == "caf"
        writer.take([second])
        assert writer.piece().text == "\u00e9!"

    def test_half_a_character_at_the_end_is_shown_as_the_record_shows_it(self):
        writer = Writer([])
        writer.take([*self.emitting(b"caf\xc3"), End(1, "length", 1)])
        assert writer.piece().text == "caf\ufffd"

    def test_what_may_begin_a_stop_text_is_held_back_until_it_is_decided(self):
        writer = Writer(["\n\nEND"])
        first, second, third = self.emitting(b"one\n", b"\n", b"two")
        writer.take([first])
        assert writer.piece().text == "one"
        writer.take([second])
        assert writer.piece().text == ""
        writer.take([third])
        assert writer.piece().text == "\n\ntwo"

    def test_what_was_held_back_is_sent_at_the_end(self):
        writer = Writer(["xyz"])
        writer.take([*self.emitting(b"abcxy"), End(1, "stop", 1)])
        piece = writer.piece()
        assert (piece.text, piece.finish_reason) == ("abcxy", "stop")

    def test_the_first_of_two_stop_texts_counts(self):
        writer = Writer(["d", "b"])
        writer.take(self.emitting(b"abcd"))
        assert writer.piece().text == "a"
