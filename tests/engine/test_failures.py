"""What a person is told when a model or a prompt cannot be used."""

from __future__ import annotations

import shutil
import time

import pytest

from engine import Engine, Request, RequestError, SamplingParams
from engine.loop.model_folder import ModelNotFound, find_model, known_models


def test_a_model_that_is_not_here_is_refused_with_those_that_are(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.loop.model_folder.BUNDLED", tmp_path / "models")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ModelNotFound, match="Models here: none"):
        Engine.load("nope")
    fetched = tmp_path / "cache" / "two-speeds" / "models" / "big"
    fetched.mkdir(parents=True)
    (fetched / "config.json").write_text("{}")
    assert known_models() == ["big"]
    assert find_model("big") == fetched
    assert find_model(fetched) == fetched
    with pytest.raises(ModelNotFound, match=r"'\.\./big'"):
        find_model("../big")


def test_a_folder_without_a_config_is_not_a_model(tmp_path):
    with pytest.raises(ModelNotFound, match=r"no config\.json"):
        find_model(tmp_path)


def test_missing_and_truncated_weights_are_named(small_model_folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(small_model_folder, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        Engine.load(broken)
    weights.unlink()
    with pytest.raises(ValueError, match="safetensors"):
        Engine.load(broken)


def test_a_hundred_kilobytes_of_emoji_are_refused_at_once(small_engine):
    started = time.perf_counter()
    with pytest.raises(RequestError) as caught:
        small_engine.submit(Request("🦊" * 25_000))
    assert caught.value.code == "prompt_too_long"
    assert time.perf_counter() - started < 2


def test_a_prompt_at_the_very_limit_runs_and_one_beyond_is_told_so(small_engine):
    limit = small_engine.context_length
    run = small_engine.run(Request("x" * (limit - 1), SamplingParams(max_new_tokens=1)))
    assert len(run.passes) == 1
    with pytest.raises(RequestError, match=f"has {limit} tokens"):
        small_engine.run(Request("x" * limit, SamplingParams(max_new_tokens=1)))
    with pytest.raises(RequestError, match="at most 1 new tokens"):
        small_engine.run(Request("x" * (limit - 1), SamplingParams(max_new_tokens=2)))
