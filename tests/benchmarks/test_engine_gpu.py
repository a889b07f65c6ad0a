"""What the GPU benchmark counts, on the engine that is here: the figures are of this CPU, the sums are the same."""

import subprocess
import sys

import pytest
import torch

from benchmarks.engine_gpu import decode_row, prefill_row
from engine import Engine


@pytest.fixture(scope="module")
def engine():
    with Engine.load("random:smollm2-135m", threads=1) as engine:
        yield engine


def test_a_step_of_two_moves_the_weights_once_and_each_one_s_cache(engine):
    one, two = (decode_row(engine, n, bandwidth=1e9, new=5) for n in (1, 2))
    cache = one["bytes"] - engine.shape.weight_bytes
    # Of the embedding a row a token is read, and the tied head whole.
    assert 0 < cache < 1e6
    assert two["bytes"] - one["bytes"] == pytest.approx(cache, rel=0.01)
    assert one["share"] == pytest.approx(one["bytes"] / one["us"] / 1e3)


def test_a_prefill_s_share_is_its_operations_over_the_rate(engine):
    row = prefill_row(engine, 20, matrix_rate=1e9, rounds=1)
    assert row["what"] == "prefill of 20"
    assert row["operations"] > 20 * engine.shape.parameters
    assert row["share"] == pytest.approx(row["operations"] / row["us"] / 1e3)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_claimed():
    done = subprocess.run([sys.executable, "-m", "benchmarks.engine_gpu"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Nothing was measured" in done.stderr and not done.stdout
