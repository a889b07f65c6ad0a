"""Lesson 3 counts what a cache saves: its answers follow from the runs, and each known belief leads to its card."""

import pytest

from engine.account import cost
from lessons.catalogue import lessons, recording
from lessons.questions import Question
from lessons.run_values import values_of
from views.two_runs import TOLERANCE, compare_odds, tokens_computed

(LESSON,) = [one for one in lessons() if one.number == 3]
FRONT = LESSON.front
KEPT, AGAIN = recording(FRONT.recording), recording(FRONT.other_recording)
P, N = len(KEPT.header.prompt_tokens), FRONT.new_tokens


def question(name: str, argument: str) -> Question:
    block = LESSON.find(name, argument)
    assert block is not None
    return Question.of(block)


def test_the_recordings_are_one_prompt_with_and_without_notes_and_gave_the_same_odds():
    assert (KEPT.header.serving.cache, AGAIN.header.serving.cache) == ("kept", "recomputed")
    compared = compare_odds(KEPT, AGAIN)
    assert compared.parted_at is None and len(compared.gaps) == N and compared.largest < TOLERANCE


def test_each_token_goes_through_once_with_notes_and_the_whole_prefix_each_time_without():
    assert tokens_computed(KEPT) == P + N - 1 == KEPT.passes[-1].positions_held
    assert [len(one.token_ids) for one in AGAIN.passes] == [P + i for i in range(N)]
    assert question("predict", "work").is_right(tokens_computed(AGAIN), values_of(KEPT))


@pytest.mark.parametrize(
    ("guess", "card"),
    [
        (P + N - 1, "each-token-once"),
        (P + N, "each-token-once"),
        (N, "reading-left-out"),
        (P * N, "the-prompt-alone"),
        (N * (P + N - 1), "the-whole-text-every-time"),
        (sum(P + i for i in range(N)), None),
        (round(1.05 * sum(P + i for i in range(N))), None),
        (5, None),
    ],
)
def test_each_wrong_guess_about_the_work_meets_the_card_of_its_belief(guess, card):
    assert question("predict", "work").card_for(guess, values_of(KEPT)) == card


def test_a_cached_step_still_reads_more_entries_as_the_text_grows_but_writes_one():
    read = [one.kv_bytes_read for one in KEPT.passes[1:]]
    assert read == sorted(read) and read[0] < read[-1]
    assert {one.kv_bytes_written for one in KEPT.passes[1:]} == {cost.kv_bytes_per_position(KEPT.header.model)}
    scan = question("check", "scan")
    assert scan.is_right("scan", {})
    assert [scan.card_for(one, {}) for one in ("constant", "rebuild")] == ["the-past-is-free", "rebuilt-keys"]


def test_the_request_of_the_sources_is_counted_with_and_without():
    check = question("check", "request")
    p, n = 500, 200
    without = sum(p + i for i in range(n))
    assert check.is_right(p + n - 1, {}) and without == 119_900
    assert [check.card_for(one, {}) for one in (p + n, n, without)] == [
        "last-token-fed-back", "reading-left-out", "that-is-without",
    ]  # fmt: skip


def test_reading_the_cache_can_outweigh_the_weights_as_the_card_says():
    shape = cost.PRESET_SHAPES["Qwen3.5-4B"]
    assert 100_000 * cost.kv_bytes_per_position(shape) > shape.parameters * 4.5 / 8


def test_every_card_can_be_reached():
    reachable = {
        near.card for name in ("predict", "check") for block in LESSON.named(name) for near in Question.of(block).near
    }
    assert reachable == {card.argument for card in LESSON.named("card")}
