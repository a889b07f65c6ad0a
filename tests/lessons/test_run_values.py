"""What a lesson may say of a run: every listed name has a value, and the counts obey the laws."""

import pytest

from lessons.run_values import KINDS, OTHER_KINDS, other_values_of, values_of
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, QUEUE_NS, REPLY, story_run


def test_every_name_in_the_catalogue_has_a_value_and_no_other_name_exists():
    assert set(values_of(story_run())) == set(KINDS)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_passes_positions_and_waits_follow_from_the_run(n):
    values = values_of(story_run(reply=REPLY[:n]))
    assert values["run.passes"] == 1 + (n - 1)
    assert values["run.prefill_passes"] == 1 and values["run.decode_passes"] == n - 1
    assert values["run.positions_held"] == len(PROMPT) + n - 1
    assert values["run.ttft"] == values["run.queue"] + values["run.prefill"] == QUEUE_NS + PREFILL_NS
    assert values["run.e2e"] == QUEUE_NS + PREFILL_NS + (n - 1) * DECODE_NS


def test_what_one_token_cannot_tell_is_unknown_and_not_zero():
    values = values_of(story_run(reply=REPLY[:1]))
    assert [values[name] for name in ("run.tpot", "run.itl.p50", "run.itl.p95", "run.output_tokens_per_s")] == [
        None
    ] * 4


def test_a_run_that_has_not_begun_knows_only_what_was_asked():
    values = values_of(story_run(reply=[], reason=None))
    assert values["asked.prompt_tokens"] == len(PROMPT)
    assert values["run.first_new_token"] is None and values["run.ttft"] is None and values["run.positions_held"] is None


def test_the_story_models_memory_is_what_the_formulas_say():
    values = values_of(story_run())
    assert values["model.full_layers"] == 2 and values["model.linear_layers"] == 6
    assert values["model.kv_bytes_per_position"] == 2 * 2 * 2 * 64 * 2
    assert values["model.state_bytes"] == 6 * 4 * 64 * 64 * 4
    assert values["model.crossover"] == 384


def test_two_texts_are_compared_token_by_token_from_the_beginning():
    first, second = story_run(reply=[" one", " two", " three"]), story_run(reply=[" one", " two", " four"])
    assert other_values_of(second, first)["other.same_tokens"] == 2
    assert other_values_of(first, first)["other.same_tokens"] == 3
    assert other_values_of(story_run(reply=[" two"]), first)["other.same_tokens"] == 0
    assert other_values_of(None, first)["other.same_tokens"] is None
    assert set(other_values_of(second, first)) == set(OTHER_KINDS)
