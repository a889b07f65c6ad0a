"""A model whose layers are all full attention goes through the whole engine: no state anywhere."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from engine import Engine, Request, Run, SamplingParams
from engine.account import cost, record_file
from engine.account.run_table import timings_table
from engine.fetch.gguf_folder import complete_folder
from engine.loop.trace import TraceError
from tests.engine.model.gguf_files import random_llama, write_gguf


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    gguf = write_gguf(tmp_path_factory.mktemp("uniform") / "tiny" / "tiny.gguf", random_llama(), "Q4_1")
    complete_folder(gguf, "a test")
    with Engine.load(gguf.parent, threads=1) as engine:
        yield engine


@pytest.fixture(scope="module")
def run(engine: Engine) -> Run:
    return engine.run(Request("the inn in the", SamplingParams(max_new_tokens=6, ignore_eos=True)))


def test_every_pass_is_counted_without_a_state(run: Run):
    shape, held = run.header.model, 0
    assert len(run.passes) == len(run.emissions) == 6
    for one in run.passes:
        held += len(one.token_ids)
        assert one.kv_bytes_held == cost.kv_bytes(shape, held) > 0
        assert one.state_bytes_held == one.state_bytes_read == one.state_bytes_written == one.window_bytes_held == 0
        assert one.weight_bytes_read == cost.step_weight_bytes(shape, len(one.token_ids))
        assert one.operations == cost.pass_operations(shape, held - len(one.token_ids), len(one.token_ids), 1)


def test_the_record_is_kept_and_told_without_a_crossover(run: Run):
    assert record_file.loads(record_file.dumps(run)) == run
    console = Console(record=True, width=140, file=io.StringIO())
    console.print(timings_table(run))
    told = console.export_text()
    assert "time to first token" in told
    assert "size of the state" not in told


def test_a_trace_says_that_there_is_no_state_to_follow(engine: Engine, run: Run):
    with pytest.raises(TraceError, match="it has no recurrent state"):
        engine.trace(run, 0, 0)
