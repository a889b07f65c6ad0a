"""The engine from the shell."""

from __future__ import annotations

import io
import subprocess
import sys

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from engine.__main__ import app
from engine.account.record import Candidate, Token
from engine.account.record_file import load, loads
from engine.account.run_table import passes_table
from tests.engine.builders import run_of

PROMPT = "Once upon a time"


@pytest.fixture
def shell(small_model_folder):
    def call(*arguments):
        return CliRunner().invoke(app, ["run", *arguments, "--model", str(small_model_folder), "--threads", "1"])

    return call


def test_a_run_prints_a_row_a_pass_and_the_timings(shell):
    done = shell(PROMPT, "--new", "3")
    assert done.exit_code == 0
    rows = [line for line in done.stdout.splitlines() if "prefill │" in line or "decode  │" in line]
    assert len(rows) == 3
    assert "prefill" in rows[0]
    assert "%" in rows[0]
    for name in ("queue", "time to first token", "inter-token latency p95", "prompt tokens a second"):
        assert name in done.stdout


def test_json_prints_the_record_and_nothing_else(shell):
    done = shell(PROMPT, "--new", "4", "--json", "--temperature", "0.7", "--seed", "9", "--ignore-eos")
    run = loads(done.stdout_bytes)
    assert len(run.passes) == 4
    assert (run.header.sampling.temperature, run.header.sampling.seed) == (0.7, 9)


def test_a_saved_record_is_the_one_that_ran(shell, tmp_path):
    done = shell(PROMPT, "--new", "2", "--json", "--save", str(tmp_path / "run.json"))
    assert load(tmp_path / "run.json") == loads(done.stdout_bytes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([""], "The prompt is empty"),
        ([PROMPT, "--temperature", "nan"], "temperature must be"),
        ([PROMPT, "--new", "0"], "max_new_tokens must be"),
        ([PROMPT, "--new", "5000"], "ask for at most"),
        ([PROMPT, "--save", "/nowhere/at/all.json"], "No such file"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(shell, arguments, said):
    done = shell(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_markup_in_a_token_is_shown_and_not_obeyed():
    whole = run_of([(1, 2)])
    first = whole.passes[0]
    odd = msgspec.structs.replace(first.emitted[0], token=Token(66, "Qg==", "[red]\n\x1b[2J"), candidates=[])
    odd = msgspec.structs.replace(odd, candidates=[Candidate(odd.token, 1.0, 1.0, 1.0)])
    whole.events[first.index] = msgspec.structs.replace(first, emitted=[odd])
    console = Console(record=True, width=140, file=io.StringIO())
    console.print(passes_table(whole))
    assert r"'[red]\n\x1b[2J'" in console.export_text()


def test_the_module_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "engine", "run", ""], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: The prompt is empty. Type some text for the model to continue.\n"
