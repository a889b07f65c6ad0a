"""The OpenAI-compatible routes, asked with the official client."""

from __future__ import annotations

import math

import httpx
import openai
import pytest

from engine.serve.client import EngineClient
from tests.engine.serve.conftest import ask, engine_server, until
from tests.engine.serve.scripted import ScriptedEngine, words


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
def test_a_client_that_hangs_up_cancels_all_that_it_asked_for(stream):
    engine = ScriptedEngine(0.02)
    with engine_server(engine) as url, httpx.Client(base_url=url, trust_env=False) as http:
        body = {"model": "story", "prompt": "a", "max_tokens": 4000, "n": 3, "stream": stream}
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


def test_choice_i_of_n_is_a_run_of_its_own_with_the_seed_plus_i(ai, client):
    done = ai.completions.create(model="story", prompt="once upon", max_tokens=3, n=3, seed=7, best_of=3)
    assert [choice.index for choice in done.choices] == [0, 1, 2]
    runs = [client.run(choice.run_id) for choice in done.choices]
    assert [run.header.sampling.seed for run in runs] == [7, 8, 9]
    assert [choice.text for choice in done.choices] == [run.text for run in runs]
    assert done.id == f"cmpl-{done.choices[0].run_id}"
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.total_tokens) == (2, 9, 11)


def test_the_largest_seed_goes_round(ai, client):
    done = ai.completions.create(model="story", prompt="a", max_tokens=1, n=2, seed=2**53 - 1)
    assert [client.run(choice.run_id).header.sampling.seed for choice in done.choices] == [2**53 - 1, 0]


def test_streamed_choices_come_piece_by_piece_each_with_its_index(ai):
    chunks = list(
        ai.completions.create(
            model="story", prompt="once", max_tokens=9, n=3, stream=True, stream_options={"include_usage": True}
        )
    )
    texts, ends = ["", "", ""], ["", "", ""]
    for chunk in chunks[:-1]:
        assert chunk.usage is None
        texts[chunk.choices[0].index] += chunk.choices[0].text
        ends[chunk.choices[0].index] += chunk.choices[0].finish_reason or ""
    assert texts == ["".join(words("once", 9))] * 3
    assert ends == ["length"] * 3
    assert chunks[-1].usage.completion_tokens == 27


def test_when_the_queue_has_no_room_for_all_choices_none_is_left_in_it(monkeypatch):
    monkeypatch.setattr("engine.serve.server.MAX_WAITING", 3)
    engine = ScriptedEngine(0.02)
    with engine_server(engine) as url, ask(url) as ai:
        with pytest.raises(openai.RateLimitError, match="waiting already") as no:
            ai.completions.create(model="story", prompt="a", max_tokens=4000, n=8)
        assert (no.value.code, no.value.type) == ("queue_full", "rate_limit_error")
        until(lambda: not engine.batch_table(), "the cancellation of those that had been queued")


def test_a_stop_text_cancels_the_run_that_would_go_on(ai, client):
    done = ai.completions.create(model="story", prompt="a", max_tokens=4000, stop="9 a")
    run_id = done.choices[0].run_id
    until(lambda: client.run(run_id).end, "the end of the run")
    assert len(client.run(run_id).passes) < 4000


def test_a_prefix_is_reused_unless_the_request_says_not_to(ai, client):
    def reuses(**options) -> bool:
        done = ai.completions.create(model="story", prompt="a", max_tokens=1, **options)
        return client.run(done.choices[0].run_id).header.serving.reuse_prefix

    assert reuses() and reuses(extra_body={"reuse_prefix": None})
    assert not reuses(extra_body={"reuse_prefix": False})


def test_defaults_are_those_of_the_api(ai, client):
    done = ai.completions.create(model="story", prompt="a")
    sampling = client.run(done.id.removeprefix("cmpl-")).header.sampling
    assert (sampling.temperature, sampling.top_p, sampling.max_new_tokens) == (1.0, 1.0, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be from 1 to 8"),
        ({"n": 9}, "n must be from 1 to 8"),
        ({"best_of": 3}, "best_of must be equal to n"),
        ({"n": 2, "best_of": 1}, "best_of must be equal to n"),
        ({"prompt": ["a", "b"]}, "one text"),
        ({"prompt": [1, 2, 3]}, "one text"),
        ({"prompt": []}, "one text"),
        ({"echo": True}, "echo is not supported"),
        ({"suffix": "end"}, "suffix is not supported"),
        ({"presence_penalty": 1.0}, "presence_penalty is not supported"),
        ({"frequency_penalty": -0.5}, "frequency_penalty is not supported"),
        ({"logit_bias": {"5": 1}}, "logit_bias is not supported"),
        ({"extra_body": {"min_p": 0.1}}, "min_p is not supported"),
        ({"extra_body": {"beams": 4}}, "unknown field `beams`"),
        ({"logprobs": 6}, "logprobs must be"),
        ({"stop": [""]}, "none of them empty"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "up to 4"),
        ({"temperature": -1}, "temperature must be"),
        ({"top_p": 0}, "top_p must be"),
        ({"seed": -1}, "seed must be"),
        ({"max_tokens": 0}, "max_tokens must be"),
        ({"max_tokens": "many"}, "does not have the form"),
        ({"max_tokens": 5000}, "has 1 tokens"),
        ({"prompt": ""}, "empty"),
    ],
)
def test_what_cannot_be_done_is_refused_by_the_name_of_its_field(ai, options, message):
    with pytest.raises(openai.BadRequestError, match=message) as no:
        ai.completions.create(**{"model": "story", "prompt": "a"} | options)
    named = [*options.get("extra_body", options)][-1]
    assert no.value.type == "invalid_request_error" and no.value.code
    assert no.value.param == (named if options != {"max_tokens": 5000} else "prompt")


def test_what_changes_nothing_may_be_sent(ai):
    neutral = {"presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "echo": False, "user": "someone"}
    more = {"repetition_penalty": 1.0, "min_p": 0, "top_k": 0, "ignore_eos": None, "reuse_prefix": False}
    done = ai.completions.create(model="story", prompt=["a"], max_tokens=1, **neutral, extra_body=more)
    assert done.choices[0].text == " a0"


def test_an_unknown_model_is_not_found(ai):
    with pytest.raises(openai.NotFoundError, match="no model 'davinci'") as no:
        ai.completions.create(model="davinci", prompt="a")
    assert no.value.code == "model_not_found"


def test_a_run_that_fails_is_an_error_of_the_server(ai):
    with pytest.raises(openai.InternalServerError, match="made a mistake"):
        ai.completions.create(model="story", prompt="crash", max_tokens=5)
    with pytest.raises(openai.APIError, match="made a mistake") as no:
        list(ai.completions.create(model="story", prompt="crash", max_tokens=5, stream=True))
    assert (no.value.type, no.value.code) == ("server_error", "engine_error")


def test_the_models_are_listed(ai):
    listed = ai.models.list().data
    assert [model.id for model in listed] == ["story"]
    assert listed[0].created > 1_700_000_000


def test_the_token_is_the_api_key():
    with engine_server(ScriptedEngine(), token="key") as url:
        good = openai.OpenAI(base_url=f"{url}/v1", api_key="key", http_client=httpx.Client(trust_env=False))
        assert good.models.list().data[0].id == "story"
        with pytest.raises(openai.AuthenticationError) as no:
            ask(url).models.list()
        assert no.value.code == "invalid_api_key"
