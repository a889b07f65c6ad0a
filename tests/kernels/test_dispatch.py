"""Which implementation runs, who may change that, and what the record is told."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernels import build, dispatch, reference


def test_every_operation_has_an_implementation_with_a_name():
    names = dispatch.in_use()
    assert tuple(names) == dispatch.OPERATIONS
    assert {name.removesuffix("+bf16") for name in names.values()} <= set(dispatch.PREFERENCE["cpu"])


def test_the_specification_has_every_operation():
    assert all(hasattr(reference, operation) for operation in dispatch.OPERATIONS)


def test_an_override_holds_inside_its_block_only_even_when_it_fails():
    before = dispatch.in_use()
    with pytest.raises(ZeroDivisionError), dispatch.override_all("reference"):
        assert set(dispatch.in_use().values()) == {"reference"}
        assert dispatch.table.linear_add is reference.linear_add
        raise ZeroDivisionError
    assert dispatch.in_use() == before


def test_a_function_can_stand_in_and_is_reported_by_its_name():
    def listener(*_: object) -> None: ...

    with dispatch.override(linear_add=listener):
        assert dispatch.in_use()["linear_add"] == "listener"


@pytest.mark.parametrize("wrong", [{"no_such_operation": "cpu"}, {"linear_add": "chunked"}])
def test_what_does_not_exist_is_refused_and_nothing_changes(wrong: dict):
    before = dispatch.in_use()
    with pytest.raises(LookupError), dispatch.override(**wrong):
        pass
    assert dispatch.in_use() == before


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As in a process that has not loaded any operation yet, with an empty cache."""
    monkeypatch.setenv("TWOSPEEDS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delitem(sys.modules, "kernels.native", raising=False)
    monkeypatch.setattr(dispatch, "table", dispatch.Table())
    return monkeypatch


def test_without_a_compiler_torch_computes_and_says_why(fresh: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    fresh.setenv("CXX", "no-such-compiler")
    assert set(dispatch.in_use().values()) == {"cpu"}
    assert "no C++ compiler found" in caplog.text


def test_a_compiler_that_fails_is_no_reason_to_fail(
    fresh: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    fresh.setenv("CXX", str(_script(tmp_path / "compiler", 'echo "out of ideas" >&2; exit 1')))
    assert set(dispatch.in_use().values()) == {"cpu"}
    assert "out of ideas" in caplog.text


def test_a_library_that_does_not_load_is_no_reason_to_fail(fresh: pytest.MonkeyPatch, tmp_path: Path):
    # A compiler that writes rubbish and calls it done.
    rubbish = 'while [ "$1" != -o ]; do shift; done; echo rubbish > "$2"'
    fresh.setenv("CXX", str(_script(tmp_path / "compiler", rubbish)))
    assert set(dispatch.in_use().values()) == {"cpu"}


def test_the_environment_can_ask_for_an_implementation(fresh: pytest.MonkeyPatch):
    fresh.setenv("TWO_SPEEDS_KERNELS", "reference")
    fresh.setenv("CXX", "no-such-compiler")
    assert set(dispatch.in_use().values()) == {"reference"}


def test_the_library_is_compiled_once_and_again_for_other_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = tmp_path / "calls"
    body = f'[ "$1" = --version ] && exit; echo >> {calls}; while [ "$1" != -o ]; do shift; done; echo ok > "$2"'
    compiler = _script(tmp_path / "compiler", body)
    sources = tmp_path / "cpp"
    sources.mkdir()
    (sources / "one.cpp").write_text("int x;")
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("TWOSPEEDS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "SOURCES", sources)
    first = build.library()
    assert build.library() == first
    assert len(calls.read_text().splitlines()) == 1
    (sources / "one.cpp").write_text("int y;")
    assert build.library() != first
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 2, "no draft is left behind"


def test_a_cache_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "cache").write_text("a file, not a folder")
    monkeypatch.setenv("TWOSPEEDS_CACHE", str(tmp_path / "cache"))
    with pytest.raises(build.BuildError, match="cache"):
        build.library()


def _script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path
