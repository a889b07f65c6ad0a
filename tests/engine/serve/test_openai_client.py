"""The official client against the real engine: the bundled model, in a folder to which a chat template was added.

What a scripted engine cannot show: that seeds repeat, that the log probabilities are the model's, that stop texts work
across real tokens, and that clients who ask together get what each would get alone.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import openai
import pytest
import torch
from transformers import AutoTokenizer, Qwen3_5ForCausalLM

from engine.account.record import Run
from engine.loop.engine import Engine
from engine.loop.model_folder import find_model
from engine.serve.client import EngineClient
from engine.serve.server import build
from tests.engine.serve.conftest import PATIENCE_S, ask, serving, until

PROMPT = "Once upon a time, there was a"
MESSAGES = [{"role": "system", "content": "A story."}, {"role": "user", "content": "Tom had a red ball. He"}]
TEMPLATE = """\
{% for message in messages %}
{{ message.role }}: {{ message.content }}{{ eos_token }}
{% endfor %}
{% if add_generation_prompt %}assistant: {% endif %}
"""
SETTINGS = {"model": "chatty", "max_tokens": 12, "extra_body": {"top_k": 20, "ignore_eos": True}}
"""Twenty candidates have few borders between them for a draw to fall on."""
ODDS_TOLERANCE = 2e-3
LOG_TOLERANCE = 0.05
"""In nats: transformers computes in float32 and all at once, the engine with its own kernels and a bf16 KV cache."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "chatty"
    shutil.copytree(find_model("story"), folder)
    config = folder / "tokenizer_config.json"
    fields = json.loads(config.read_text(encoding="utf-8")) | {"chat_template": TEMPLATE}
    config.write_text(json.dumps(fields), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def real_url(folder: Path) -> Iterator[str]:
    with serving(build(lambda: Engine.load(folder), sweep_s=0.02)) as url:
        with EngineClient(url) as client:
            until(lambda: client.health().status != "loading", seconds=240)
            assert client.health().status == "ready", client.health().message
        yield url


@pytest.fixture(scope="module")
def ai(real_url: str) -> Iterator[openai.OpenAI]:
    with ask(real_url) as client:
        yield client


@pytest.fixture(scope="module")
def record_of(real_url: str) -> Iterator[Callable]:
    with EngineClient(real_url) as client:
        yield lambda choice: client.run(choice if isinstance(choice, str) else choice.run_id)


def complete(ai: openai.OpenAI, **options: object):
    return ai.completions.create(**SETTINGS | {"prompt": PROMPT} | options)


def chat(ai: openai.OpenAI, **options: object):
    return ai.chat.completions.create(**SETTINGS | {"messages": MESSAGES} | options)


def joined(chunks: list, text_of: Callable) -> list[str]:
    texts: dict[int, str] = {}
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        texts[choice.index] = texts.get(choice.index, "") + (text_of(choice) or "")
    return [texts[index] for index in sorted(texts)]


def test_with_a_seed_three_completions_differ_from_one_another_and_come_again(ai, record_of):
    done = complete(ai, n=3, seed=11)
    texts = [choice.text for choice in done.choices]
    assert len(set(texts)) == 3
    assert texts == [record_of(choice).text for choice in done.choices]
    assert [choice.text for choice in complete(ai, n=3, seed=11).choices] == texts
    assert complete(ai, seed=12).choices[0].text == texts[1], "choice 1 is what the next seed gives alone"
    assert joined(list(complete(ai, n=3, seed=11, stream=True)), lambda choice: choice.text) == texts
    assert done.usage.prompt_tokens == len(record_of(done.choices[0]).header.prompt_tokens)
    assert done.usage.completion_tokens == sum(len(record_of(choice).emissions) for choice in done.choices)


def test_streamed_choices_come_side_by_side_since_the_engine_runs_them_together(ai):
    chunks = complete(ai, n=3, seed=1, max_tokens=300, stream=True)
    indices = [chunk.choices[0].index for chunk in chunks]
    assert set(indices) == {0, 1, 2}
    assert indices.index(2) < len(indices) - 1 - indices[::-1].index(0)


def test_a_chat_is_the_completion_of_the_prompt_that_transformers_renders(ai, folder, record_of):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    done = chat(ai, n=2, seed=5)
    texts = [choice.message.content for choice in done.choices]
    header = record_of(done.choices[0]).header
    assert header.prompt == prompt
    ids = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True, return_dict=False)
    assert [token.id for token in header.prompt_tokens] == ids
    assert ids.count(tokenizer.eos_token_id) == len(MESSAGES)
    assert [choice.text for choice in complete(ai, prompt=prompt, n=2, seed=5).choices] == texts
    assert joined(list(chat(ai, n=2, seed=5, stream=True)), lambda choice: choice.delta.content) == texts


def test_the_log_probabilities_are_those_of_the_model_in_float64(ai, folder, record_of):
    done = complete(ai, seed=3, temperature=1.4, top_p=0.9, logprobs=5)
    told, run = done.choices[0].logprobs, record_of(done.choices[0])
    prompt_ids = [token.id for token in run.header.prompt_tokens]
    reply_ids = [emission.token.id for emission in run.emissions]
    expected = float64_log_odds(folder, prompt_ids + reply_ids)[len(prompt_ids) - 1 : -1]
    assert told.tokens == [emission.token.text for emission in run.emissions]
    assert told.token_logprobs == pytest.approx(expected[range(len(reply_ids)), reply_ids].tolist(), abs=LOG_TOLERANCE)
    for top, row in zip(told.top_logprobs, expected, strict=True):
        assert list(top.values()) == pytest.approx(row.topk(5).values.tolist(), abs=LOG_TOLERANCE)


def test_a_chat_tells_the_same_log_probabilities_as_the_completion_of_its_prompt(ai, record_of):
    done = chat(ai, seed=3, logprobs=True, top_logprobs=5)
    prompt = record_of(done.choices[0]).header.prompt
    content = done.choices[0].logprobs.content
    told = complete(ai, prompt=prompt, seed=3, logprobs=5).choices[0].logprobs
    assert b"".join(bytes(one.bytes) for one in content).decode() == done.choices[0].message.content
    assert [one.logprob for one in content] == told.token_logprobs
    assert [{one.token: one.logprob for one in entry.top_logprobs} for entry in content] == told.top_logprobs


def float64_log_odds(folder: Path, ids: list[int]) -> torch.Tensor:
    """[T, vocab]: by transformers, every position at once."""
    model = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1)


def test_a_stop_text_in_the_midst_of_tokens_cuts_text_and_tokens_alike_streamed_or_whole(ai, record_of):
    full = complete(ai, seed=2, max_tokens=30, logprobs=0).choices[0]
    tokens = full.logprobs.tokens
    stop = tokens[4][-2:] + tokens[5] + tokens[6][:2]  # begins and ends inside a token
    place = full.text.index(stop)
    done = complete(ai, seed=2, max_tokens=2000, stop=[stop, "zebra stripes"], logprobs=0).choices[0]
    assert (done.text, done.finish_reason) == (full.text[:place], "stop")
    assert done.logprobs.tokens == [
        token for token, at in zip(tokens, full.logprobs.text_offset, strict=True) if at < place
    ]
    until(lambda: record_of(done).end, "the end of the run")
    assert record_of(done).end.reason == "cancelled"
    chunks = list(complete(ai, seed=2, max_tokens=2000, stop=stop, logprobs=0, stream=True))
    assert joined(chunks, lambda choice: choice.text) == [done.text]
    assert [token for chunk in chunks for token in chunk.choices[0].logprobs.tokens] == done.logprobs.tokens
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_stop_text_stops_a_chat_too(ai):
    full = chat(ai, seed=4, max_tokens=30).choices[0].message.content
    stop = full[10:14]
    done = chat(ai, seed=4, max_tokens=30, stop=stop).choices[0]
    assert (done.message.content, done.finish_reason) == (full[: full.index(stop)], "stop")


def test_eight_clients_at_once_get_what_each_gets_alone(real_url, record_of):
    async def one(ai: openai.AsyncOpenAI, number: int) -> dict[int, str]:
        options = SETTINGS | {"seed": number, "n": 2, "stream": number % 4 >= 2}
        if number % 2:
            answer = await ai.chat.completions.create(messages=MESSAGES, **options)
        else:
            answer = await ai.completions.create(prompt=f"{PROMPT} {number}", **options)
        chunks = [chunk async for chunk in answer] if options["stream"] else [answer]
        return {choice.index: choice.run_id for chunk in chunks for choice in chunk.choices}

    async def everyone() -> tuple[list, list]:
        http = httpx.AsyncClient(trust_env=False)
        async with openai.AsyncOpenAI(
            base_url=f"{real_url}/v1", api_key="none", max_retries=0, timeout=PATIENCE_S, http_client=http
        ) as ai:
            alone = [await one(ai, number) for number in range(8)]
            return alone, await asyncio.gather(*(one(ai, number) for number in range(8)))

    alone, together = asyncio.run(everyone())
    pairs = [(a[index], b[index]) for a, b in zip(alone, together, strict=True) for index in range(2)]
    same = [same_reply(record_of(one), record_of(other)) for one, other in pairs]
    assert len(same) == 16 and sum(same) >= 15


def same_reply(one: Run, other: Run) -> bool:
    """Whether two runs of one request drew the same tokens. While they did, their odds must be the same.

    A batch rounds differently, so once in thousands of tokens a draw falls on the other side of a border.
    """
    assert one.header.prompt == other.header.prompt and one.header.sampling == other.header.sampling
    for a, b in zip(one.emissions, other.emissions, strict=True):
        odds = {candidate.token.id: candidate.model for candidate in b.candidates}
        for candidate in a.candidates[:5]:
            assert odds[candidate.token.id] == pytest.approx(candidate.model, abs=ODDS_TOLERANCE)
        if a.token != b.token:
            return False
    return True


def test_what_does_not_fit_is_a_bad_request_that_names_the_limit(ai):
    with pytest.raises(openai.BadRequestError, match="2,048") as no:
        complete(ai, max_tokens=4000)
    assert (no.value.code, no.value.param) == ("context_length_exceeded", "max_tokens")
    with pytest.raises(openai.BadRequestError, match="2,048") as no:
        chat(ai, messages=[{"role": "user", "content": "word " * 3000}], max_tokens=None)
    assert (no.value.code, no.value.param) == ("context_length_exceeded", "messages")
    with pytest.raises(openai.NotFoundError):
        chat(ai, model="story")
