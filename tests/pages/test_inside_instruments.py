"""The race, the guesses and the planted name on a page: a second run when asked for, plain words when it fails."""

import pytest

from engine.account.record import Sampling, Serving
from engine.serve.client import EngineRefused
from lessons.recall import planted
from tests.lessons.story_run import REPLY, story_run
from tests.lessons.two_served import recomputed_run, rounded_run
from tests.pages.components import cards, charts
from tests.pages.conftest import checked, opened, press, words
from views.state_changes import heads_keep, longest

NAMED = ["Once", " upon", " a", " time", ",", " there", " was", " a", " cat", " named", " Max", ".", " is"]


def lab_with(engine, instrument: str):
    """The Lab on a finished run, with one instrument opened by its link."""
    engine.runs["a" * 32] = story_run(run_id="a" * 32)
    page = opened()
    page.switch_page("../pages/lab.py")
    for name, value in {"run": "a" * 32, "instrument": instrument}.items():
        page.query_params[name] = value
    return checked(page.run())


@pytest.mark.parametrize(
    ("instrument", "button", "serving"),
    [
        ("race", "Run it again and recompute everything", Serving(cache="recomputed")),
        ("drafts", "Run it again with guesses from the text", Serving(drafts="prompt_lookup")),
        ("texts", "Run it again in 4 bits", Serving(weights="int4")),
    ],
)
def test_the_lab_offers_the_second_run_and_starts_it_as_the_instrument_needs_it(engine, instrument, button, serving):
    page = lab_with(engine, instrument)
    run = engine.runs["a" * 32]
    press(page, button)
    assert engine.served == [serving] and engine.asked == [(run.header.prompt, run.header.sampling)]
    assert page.query_params["other"] == f"{1:032x}"


def test_when_the_second_run_has_ended_the_race_is_drawn(engine):
    engine.next_run = recomputed_run()
    page = lab_with(engine, "race")
    before = len(charts(page))
    press(page, "Run it again and recompute everything")
    assert len(charts(page)) == before + 2
    assert "Two runs on one clock" in words(page) and "Both runs wrote the same 10 tokens." in words(page)


def test_when_the_second_run_has_ended_both_texts_stand_side_by_side(engine):
    engine.next_run = rounded_run([*REPLY[:3], " Max", *REPLY[4:]])
    page = press(lab_with(engine, "texts"), "Run it again in 4 bits")
    told = {label: text for label, text, _note in cards(page)}
    assert told["16 bits"].split()[:4] == ["little", "girl", "named", "Lily."] and "Max." in told["4 bits"].split()
    assert "The same for 3 tokens, then they part." in words(page)


def test_a_second_run_that_another_instrument_asked_for_does_not_stand_in(engine):
    engine.next_run = recomputed_run()
    page = press(lab_with(engine, "race"), "Run it again and recompute everything")
    page.query_params["instrument"] = "drafts"
    page = checked(page.run())
    assert "Run it again with guesses from the text" in [button.label for button in page.button]


def test_a_second_run_that_is_refused_says_why_under_its_button(engine):
    page = lab_with(engine, "race")
    engine.refuses = EngineRefused("queue_full", "Too many wait.", 429)
    press(page, "Run it again and recompute everything")
    assert "Too many wait." in words(page)


def test_a_recording_is_not_offered_a_second_run(engine):
    page = opened()
    page.switch_page("../pages/lab.py")
    page.query_params["instrument"] = "race"
    page = checked(page.run())
    assert "Run a prompt of your own to its end first" in words(page)


def test_a_planted_name_runs_twice_with_it_and_without_and_the_try_stays(engine):
    engine.next_run = story_run(prompt=NAMED, reply=[" Max"])
    page = lab_with(engine, "state")
    press(page, "Plant it and ask")
    assert engine.asked == [(planted(name, 5), Sampling(max_new_tokens=1, ignore_eos=True)) for name in ("Max", "")]
    (tries,) = [frame.value for frame in page.dataframe if "likeliest word" in frame.value.columns]
    assert list(tries["first token"]) == ["Max"] and list(tries["tokens since the name"]) == [2]


def test_ones_own_run_opens_on_the_head_that_keeps_longest(engine):
    page = press(lab_with(engine, "state"), "Look into my own run")
    best = longest(heads_keep(engine.trace("", 0, 0)))
    assert (best.layer, best.head) in engine.traced
    (box,) = [one for one in page.selectbox if one.label == "Head to look into"]
    assert len(box.options) == len(heads_keep(engine.trace("", 0, 0)))


def test_a_name_that_the_model_cannot_have_seen_is_not_run(engine):
    page = lab_with(engine, "state")
    next(box for box in page.text_input if box.label == "A name to plant").set_value("Zoë")
    press(page, "Plant it and ask")
    assert engine.asked == [] and "Use letters of the English alphabet" in words(page)
