"""The preflight says what works here, and what to do about what does not."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import psutil
import pytest
from typer.testing import CliRunner

from engine.__main__ import app
from engine.preflight import machine, software
from kernels import build


@pytest.fixture
def preflight(tmp_path, monkeypatch):
    """The command in a home of its own, on ports that are free."""
    monkeypatch.setenv("TWOSPEEDS_HOME", str(tmp_path / "home"))

    def call(**taken: int):
        ports = {"port": free_port(), "engine-port": free_port()} | taken
        options = [word for name, port in ports.items() for word in (f"--{name}", str(port))]
        done = CliRunner().invoke(app, ["preflight", *options], env={"COLUMNS": "160"})
        return done.exit_code, done.stdout

    return call


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_one_screen_names_everything_and_ends_well_where_the_app_runs(preflight):
    code, told = preflight()
    assert code == 0 and "Two Speeds runs here" in told and "missing" not in told
    rows = [line.split("│")[1].strip() for line in told.splitlines() if line.startswith("│")]
    for what in ("Python", "PyTorch", "C++ compiler", "GPU", "Triton", "Cores", "Memory", "Models", "Ray"):
        assert what in rows
    assert "story (bundled)" in told and len(told.splitlines()) < 40


def test_a_port_that_is_taken_is_missing_and_another_is_proposed(preflight):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, told = preflight(port=port)
        assert code == 1 and f"make run PORT={port + 1}" in told and "another program" in told
        assert machine.engine_port(port).state == "works without"


def test_without_a_compiler_the_slower_operations_are_announced(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    (only,) = software.operations()
    assert only.state == "works without" and "no C++ compiler" in only.found and "apt-get install g++" in only.advice


@pytest.mark.skipif(not software.operations()[1:], reason="there is no C++ compiler here")
def test_what_is_not_compiled_yet_says_how_to_compile_it(monkeypatch, tmp_path):
    monkeypatch.setenv("TWOSPEEDS_CACHE", str(tmp_path))
    compiler, operations, vectors = software.operations()
    assert (compiler.state, operations.state, vectors.state) == ("fine", "works without", "fine")
    assert "python -m kernels.build" in operations.advice
    build.place().parent.mkdir()
    build.place().touch()
    assert software.operations()[1].state == "fine"


def test_a_data_folder_that_cannot_be_written_names_the_setting(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    # Not by permissions: whoever is root may write anywhere.
    monkeypatch.setattr(machine.tempfile, "TemporaryFile", refuses)
    monkeypatch.setenv("TWOSPEEDS_HOME", str(tmp_path / "file" / "home"))
    (only,) = machine.data_folder()
    assert only.state == "works without" and "TWOSPEEDS_HOME" in only.advice


def refuses(*_, **__):
    raise OSError(30, "Read-only file system")


def test_too_little_memory_is_said_against_what_the_model_needs(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=100_000_000))
    found = machine.memory()
    assert found.state == "missing" and "0.1 GiB free" in found.found and "needs about" in found.advice


def test_a_python_that_is_too_old_says_how_to_take_another(monkeypatch):
    monkeypatch.setattr(software.sys, "version_info", (3, 10, 1))
    assert software.python().state == "missing" and "PYTHON=python3.12" in software.python().advice
