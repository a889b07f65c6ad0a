"""Percentiles of a service: the figures say what the report says, and every choice of the form leads somewhere."""

import pytest

from engine.account.service import service_report
from engine.loop.arrivals import BadLoad
from lessons.instruments import INSTRUMENTS, published_kinds
from tests.lessons.story_run import story_run
from views import virtual_clock
from views.service_panels import first_tokens, gaps, results
from views.virtual_clock import play
from views.what_if_load import LENGTH_WORDS, POLICY_NAMES, arrivals, lengths_of, policy_in_words
from views.what_if_service import Chosen, played


@pytest.fixture(scope="module")
def report():
    chosen = Chosen(requests=20, at_once=4)
    found = play(chosen.setup())
    return service_report(found.runs, found.rows, window_ns=found.end_ns, limits=chosen.limits)


def test_the_waits_are_shown_apart_by_length_and_by_who_was_there(report):
    drawn = first_tokens(report, "light", evidence="simulated", how="here")
    table = drawn.table
    rows = dict(zip(zip(table["what"], table["of"], strict=True), table["p99 (ms)"], strict=True))
    found = report.finished.latencies
    assert rows["queue and prefill apart", "queue"] == round(found.queue_ns.p99 / 1e6, 3)
    assert rows["all, and by prompt length", "all"] == round(found.ttft_ns.p99 / 1e6, 3)
    lengths = [of for what, of in rows if what == "all, and by prompt length"]
    assert lengths[1:] == [f"{one.prompt_tokens.name} tokens" for one in report.by_length]
    assert any(of.endswith("others") for _what, of in rows)
    assert "nearest-rank" in drawn.how and drawn.evidence == "simulated"


def test_the_gaps_are_shown_by_how_many_shared_the_step(report):
    table = gaps(report, "dark", evidence="simulated", how="").table
    assert table["of"][0] == "all" and table["n"][0] == sum(table["n"][1:])


def test_where_nobody_got_a_second_token_there_is_no_figure_of_gaps():
    assert gaps(service_report([story_run(reply=[" one"])]), "light", evidence="measured", how="") is None


def test_everything_published_is_known_to_the_lessons(report):
    assert {f"percentiles.{name}" for name in results(report)} == set(published_kinds("percentiles"))


@pytest.mark.parametrize("name", LENGTH_WORDS)
def test_every_named_length_can_be_drawn_for_every_model_that_holds_it(name):
    asked = arrivals("qwen4b", "poisson", 2.0, 5, lengths_of(name), 1)
    assert len(asked) == 5 and asked == arrivals("qwen4b", "poisson", 2.0, 5, lengths_of(name), 1)
    context = 2048
    assert all(one.n_prompt + one.n_new <= context for one in arrivals("story", "bursts", 2.0, 9, lengths_of(name), 1))


def test_fixed_lengths_are_as_typed_and_a_load_that_cannot_be_is_refused():
    setup = Chosen(lengths="fixed", prompt_tokens=77, reply_tokens=3, requests=4, process="constant").setup()
    assert [(one.n_prompt, one.n_new) for one in setup.arrivals] == [(77, 3)] * 4
    with pytest.raises(BadLoad):
        Chosen(rate=0).setup()


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_is_told_in_words_and_can_be_linked(name):
    chosen = Chosen(policy=name, chunk=128, at_once=3, lengths="fixed", requests=2000)
    assert "At most 3 requests at once" in policy_in_words(chosen.setup().policy)
    instrument = INSTRUMENTS["percentiles"]
    assert [instrument.problem(*one) for one in chosen.linked().items() if instrument.problem(*one)] == []


def test_whole_prompts_and_chunks_read_differently():
    whole, cut = (policy_in_words(Chosen(chunk=chunk).setup().policy) for chunk in (0, 64))
    assert "taken whole" in whole and "at most 64 prompt tokens" in cut


def test_another_load_has_another_report(monkeypatch):
    monkeypatch.setattr(virtual_clock, "GLANCE_S", 60.0)
    few, many = (played(Chosen(requests=requests), "key")[1] for requests in (5, 9))
    assert (few.n_runs, many.n_runs) == (5, 9)
    strict = played(Chosen(requests=9, limit_ms=1), "key")[1]
    assert strict.goodput.share < many.goodput.share, "the limits are part of what is kept"
