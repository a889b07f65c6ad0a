"""The server with the real engine and the bundled model, where a scripted one would prove nothing."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from engine.account.record import Sampling
from engine.loop.engine import Engine
from engine.loop.model_folder import find_model
from engine.loop.request import Request, SamplingParams
from engine.serve.client import EngineClient, EngineRefused
from engine.serve.launch import EngineProcess
from engine.serve.server import build
from tests.engine.same_words import assert_same_words
from tests.engine.serve.conftest import serving, until

LOADED_S = 240
"""A first start compiles the kernels."""

PROMPTS = [
    "Once upon a time, there was a",
    "The dog ran",
    "Lily",
    "One day, a little boy named Tim went to the park with his mom.",
    "\n",
    "A",
    'She said, "I am',
    "zq 🦖 é",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.load("story") as loaded:
        yield loaded


@pytest.fixture(scope="module")
def real_url(engine: Engine) -> Iterator[str]:
    with serving(build(lambda: engine, sweep_s=0.02)) as url:
        with EngineClient(url) as client:
            until(lambda: client.health().status == "ready")
        yield url


@pytest.fixture(scope="module")
def real(real_url: str) -> Iterator[EngineClient]:
    with EngineClient(real_url) as client:
        yield client


def sampled(number: int) -> Sampling:
    return Sampling(temperature=0.8, top_p=0.95, seed=number, max_new_tokens=12, ignore_eos=True)


def test_twenty_runs_at_once_give_the_same_tokens_as_one_at_a_time(real, real_url):
    def serve(client: EngineClient, number: int):
        prompt = f"{PROMPTS[number % len(PROMPTS)]} {number}"
        run_id = client.submit(prompt, Sampling(max_new_tokens=12, ignore_eos=True))
        list(client.events(run_id))
        return client.run(run_id)

    def ask(number: int) -> None:
        with EngineClient(real_url) as own:
            together[number] = serve(own, number)

    alone, together = [serve(real, number) for number in range(20)], {}
    askers = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert max(one.shared_by for run in together.values() for one in run.passes) > 1
    for number in range(20):
        assert_same_words(together[number], alone[number])


def test_over_http_the_record_is_the_one_that_python_gets(real, engine):
    params = SamplingParams(max_new_tokens=8)
    direct = engine.run(Request(PROMPTS[0], params))
    run_id = real.submit(PROMPTS[0], Sampling(max_new_tokens=8))
    list(real.events(run_id))
    told = real.run(run_id)
    assert told.text == direct.text
    assert [one.token_ids for one in told.passes] == [one.token_ids for one in direct.passes]
    assert told.header.model == direct.header.model == real.models()[0]


def test_a_long_run_is_cancelled_in_its_middle(real):
    run_id = real.submit(PROMPTS[0], Sampling(max_new_tokens=1500, ignore_eos=True))
    until(lambda: len(real.run(run_id).passes) >= 2)
    real.cancel(run_id)
    assert list(real.events(run_id))[-1].reason == "cancelled"
    assert len(real.run(run_id).passes) < 1500


def test_what_does_not_fit_is_refused_in_words_with_the_limit(real):
    limit = real.models()[0].context_length
    with pytest.raises(EngineRefused, match=f"{limit:,}") as no:
        real.submit("word " * 3000)
    assert no.value.code == "prompt_too_long"
    with pytest.raises(EngineRefused, match="ask for at most") as no:
        real.submit("Once", Sampling(max_new_tokens=limit))
    assert no.value.code == "too_many_new_tokens"


@pytest.mark.parametrize(
    "prompt", ["🦖" * 25_000, "\x00\x01\x02\x1b[31m" * 100, "<script>alert(1)</script>", "\u202e" * 50]
)
def test_odd_text_is_answered_or_refused_and_never_breaks_anything(real, prompt):
    try:
        run_id = real.submit(prompt, Sampling(max_new_tokens=2))
    except EngineRefused as no:
        assert no.code == "prompt_too_long"
    else:
        list(real.events(run_id))
        assert real.run(run_id).header.prompt == prompt


def test_an_instrumented_pass_over_a_finished_run_can_be_asked_for(real):
    run_id = real.submit(PROMPTS[0], Sampling(max_new_tokens=4, ignore_eos=True))
    list(real.events(run_id))
    shape = real.models()[0]
    layer = shape.layer_types.index("linear_attention")
    trace = real.trace(run_id, layer, 0)
    assert trace.run_id == run_id and trace.evidence == "instrumented"
    assert trace.n_prompt == len(real.run(run_id).header.prompt_tokens)
    for wrong in ({"layer": 99, "head": 0}, {"layer": layer, "head": 99}, {"layer": -1, "head": 0}):
        with pytest.raises(EngineRefused) as no:
            real.trace(run_id, **wrong)
        assert no.value.status == 400 and no.value.message


def test_the_official_client_gets_the_model_s_words(real, real_url):
    ai = openai.OpenAI(base_url=f"{real_url}/v1", api_key="none", http_client=httpx.Client(trust_env=False))
    done = ai.completions.create(model="story", prompt=PROMPTS[0], max_tokens=6, temperature=0, logprobs=5)
    run = real.run(done.id.removeprefix("cmpl-"))
    assert done.choices[0].text == run.text
    told = done.choices[0].logprobs
    assert all(max(top.values()) == chosen for top, chosen in zip(told.top_logprobs, told.token_logprobs, strict=True))
    assert all(len(top) == 5 for top in told.top_logprobs)


def broken_copy(folder: Path, damage: str) -> Path:
    """A copy of the bundled model with one fault."""
    shutil.copytree(find_model("story"), folder, symlinks=False, copy_function=shutil.copyfile)
    weights = next(folder.glob("*.safetensors"))
    if damage == "missing":
        weights.unlink()
    else:
        with weights.open("r+b") as file:
            file.truncate(weights.stat().st_size // 2)
    return folder


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_damaged_weights_leave_a_server_that_says_which_file_is_at_fault(tmp_path, damage):
    folder = broken_copy(tmp_path / "model", damage)
    with serving(build(lambda: Engine.load(folder))) as url, EngineClient(url) as client:
        until(lambda: client.health().status == "failed", seconds=LOADED_S)
        assert "safetensors" in client.health().message
        with pytest.raises(EngineRefused, match="safetensors"):
            client.submit("Once")


def test_the_command_serves_the_bundled_model_and_prints_its_address():
    process = EngineProcess([sys.executable, "-m", "engine", "serve", "--port", "0", "--lifeline"])
    try:
        url = process.read_url()
        assert url.startswith("http://127.0.0.1:")
        with EngineClient(url) as client:
            assert client.health().status in ("loading", "ready")
            until(lambda: client.health().status != "loading", seconds=LOADED_S)
            assert client.health().status == "ready"
            run_id = client.submit(PROMPTS[0], Sampling(max_new_tokens=3))
            assert list(client.events(run_id))[-1].reason in ("length", "stop")
    finally:
        process.stop()
