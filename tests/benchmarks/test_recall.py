"""The exchange of memories: without an exchange it is the plain pass, and with one only that memory is another's."""

import itertools

import pytest
import torch

from benchmarks.recall import Readings, measure
from engine.loop.loading import load_parts
from engine.model.batch import Span
from lessons.recall import planted

NAMES = ("Max", "Lily")


@pytest.fixture(scope="module")
def parts():
    return load_parts("story", threads=1, max_running=4, draft_model=None)


def test_memories_of_one_text_give_what_the_whole_text_gives(parts):
    model, memory, ids = parts.runner.model, parts.runner.memory, parts.tokenizer.encode(planted("Max", 1))
    readings = Readings(model, memory, {"Max": ids[:-4]}, ids[-4:])
    holding = memory.open()
    memory.extend(holding, len(ids))
    whole = model.forward([Span(ids, 0, "prefill", holding)], memory)[0]
    expected = torch.log_softmax(whole.double(), -1)
    torch.testing.assert_close(readings.log_odds("Max", "Max"), expected, rtol=0, atol=2e-2)
    memory.close(holding)
    readings.close()
    memory.check_integrity()


def test_an_exchange_leaves_both_texts_as_they_were(parts):
    ids = {name: parts.tokenizer.encode(planted(name, 1)) for name in NAMES}
    readings = Readings(
        parts.runner.model, parts.runner.memory, {name: one[:-4] for name, one in ids.items()}, ids["Max"][-4:]
    )
    before = {name: readings.log_odds(name, name) for name in NAMES}
    mixed = [readings.log_odds(*pair) for pair in itertools.permutations(NAMES)]
    assert all(torch.equal(readings.log_odds(name, name), odds) for name, odds in before.items())
    assert not any(torch.equal(one, odds) for one in mixed for odds in before.values())
    readings.close()


def test_a_small_measurement_tells_each_ordered_pair_and_the_distance_in_tokens():
    found = measure("story", NAMES, (0, 1))
    assert [len(place.both) for place in found.places] == [2, 2]
    assert found.places[0].distance < found.places[1].distance and found.places[0].both[0] == found.places[0].both[1]
    assert all(value > 0 for place in found.places for value in place.both)
