"""The timing cards: the right number with its unit, n beside a statistic, a blank with a reason where there is none."""

from lessons.filters import significant
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, QUEUE_NS, REPLY, story_run
from views.metrics import readings


def by_id(run):
    return {reading.id: reading for reading in readings(run)}


def test_a_finished_run_has_every_reading_with_its_unit():
    cards = by_id(story_run())
    assert {name: card.value for name, card in cards.items()} == {
        "queue": "0.500 ms",
        "ttft": "6.50 ms",
        "itl-p50": "2.00 ms",
        "itl-p95": "2.00 ms",
        "tpot": "2.00 ms",
        "prompt-rate": significant(len(PROMPT) / (PREFILL_NS / 1e9)),
        "output-rate": significant(1e9 / DECODE_NS),
    }
    assert QUEUE_NS + PREFILL_NS == 6_500_000
    assert all(card.how for card in cards.values())


def test_statistics_carry_their_n_and_single_measurements_do_not():
    cards = by_id(story_run())
    n = len(REPLY) - 1
    assert {name: card.n for name, card in cards.items()} == {
        "queue": None, "ttft": None, "itl-p50": n, "itl-p95": n, "tpot": n, "prompt-rate": None, "output-rate": n,
    }  # fmt: skip


def test_one_token_has_no_gap_and_the_cards_say_why_instead_of_zero():
    cards = by_id(story_run(reply=REPLY[:1]))
    for name in ("itl-p50", "itl-p95", "tpot", "output-rate"):
        assert cards[name].value is None and "second token" in cards[name].reason
    assert cards["ttft"].value is not None


def test_a_run_stopped_in_the_queue_has_blanks_everywhere():
    assert all(card.value is None and card.reason for card in readings(story_run(reply=[], reason="cancelled")))


def test_reading_and_writing_speed_are_never_one_number():
    cards = by_id(story_run())
    assert cards["prompt-rate"].value != cards["output-rate"].value
    assert not any("total" in card.label.lower() or "overall" in card.label.lower() for card in cards.values())
