"""The measurement behind lesson 6: every format is measured, and what is kept is what the lesson reads."""

import msgspec
import pytest

from benchmarks import fewer_bits as benchmark
from lessons import fewer_bits
from lessons.fewer_bits import FewerBits


@pytest.fixture(scope="module")
def story():
    return benchmark.measure_model("story", rounds=1, prompt=8)


def test_each_format_has_bytes_times_texts_and_all_but_bf16_odds(story):
    assert [one.weights for one in story.formats] == ["bf16", "int8", "int4"]
    assert all(one.decode_ns > 0 and one.prefill_ns > 0 for one in story.formats)
    assert [one.odds is None for one in story.formats] == [True, False, False]
    assert all(len(one.texts) == len(benchmark.PROMPTS) and all(one.texts) for one in story.formats)
    assert (story.n_decodes, story.n_prefills) == (benchmark.STEPS, 1)
    held = [one.weight_bytes for one in story.formats]
    assert held == sorted(held, reverse=True)


def test_fewer_bits_move_the_odds_further(story):
    _exact, eight, four = story.formats
    assert 0 < eight.odds.divergence_mean < four.odds.divergence_mean < four.odds.divergence_worst
    assert 0.5 < four.odds.same_top_choice < eight.odds.same_top_choice <= 1


def test_what_is_written_is_read_back(story, monkeypatch, tmp_path):
    monkeypatch.setattr(fewer_bits, "MEASUREMENTS", tmp_path)
    found = FewerBits("2026-11-30T00:00:00+00:00", "Test CPU", 1, benchmark.HOW, list(benchmark.PROMPTS), 40, [story])
    fewer_bits.place().write_bytes(msgspec.json.encode(found))
    assert fewer_bits.measured() == found and fewer_bits.of_model("story") == story
