"""The Lab serves a run as a person asks: the boxes reach the engine, a link carries them, the page says how it was."""

import msgspec
import pytest

from engine.account.record import Admitted, Run, Serving
from tests.lessons.story_run import story_run
from tests.pages.conftest import checked, opened, press, words
from views.serving_form import serving_words

LAB = "../pages/lab.py"


def lab(**params: str):
    page = opened()
    page.switch_page(LAB)
    for name, value in params.items():
        page.query_params[name] = value
    return checked(page.run())


def set_boxes(page, *, cache="kept", ahead=0, reuse=False):
    page.radio[0].set_value(cache)
    next(one for one in page.number_input if one.label == "Tokens guessed ahead").set_value(ahead)
    next(one for one in page.checkbox if one.label == "Begin from what an earlier run left").set_value(reuse)
    return page


def boxes(page):
    ahead = next(one for one in page.number_input if one.label == "Tokens guessed ahead").value
    reuse = next(one for one in page.checkbox if one.label == "Begin from what an earlier run left").value
    return page.radio[0].value, ahead, reuse


@pytest.mark.parametrize(
    ("chosen", "serving", "params"),
    [
        ({}, Serving(), {}),
        ({"cache": "recomputed"}, Serving(cache="recomputed"), {"cache": "recomputed"}),
        ({"ahead": 3}, Serving(drafts="prompt_lookup", n_drafts=3), {"ahead": "3"}),
        ({"reuse": True}, Serving(reuse_prefix=True), {"reuse": "1"}),
        (
            {"ahead": 16, "reuse": True},
            Serving(drafts="prompt_lookup", n_drafts=16, reuse_prefix=True),
            {"ahead": "16", "reuse": "1"},
        ),
    ],
)
def test_how_it_is_served_reaches_the_engine_and_the_address(engine, chosen, serving, params):
    page = press(set_boxes(lab(), **chosen), "Run it")
    assert engine.served == [serving]
    assert {
        name: page.query_params[name] for name in ("cache", "ahead", "reuse") if name in page.query_params
    } == params
    assert boxes(page) == (serving.cache, chosen.get("ahead", 0), chosen.get("reuse", False)), "the boxes keep it"


def test_a_link_opens_the_boxes_as_they_were(engine):
    assert boxes(lab(prompt="Linked", ahead="5", reuse="1")) == ("kept", 5, True)
    page = lab(prompt="Linked", cache="recomputed")
    assert boxes(page) == ("recomputed", 0, False)
    press(page, "Run it")
    assert engine.served == [Serving(cache="recomputed")]


def test_what_cannot_go_together_is_refused_under_the_form_before_the_engine_is_asked(engine):
    page = press(set_boxes(lab(), cache="recomputed", ahead=4), "Run it")
    assert engine.asked == []
    assert "keeps nothing" in "\n".join(error.value for error in page.error)
    assert boxes(page) == ("recomputed", 4, False), "what was chosen stays"


def test_a_link_that_asks_for_both_says_so_and_keeps_the_cache(engine):
    page = lab(cache="recomputed", ahead="4")
    assert any("`cache`" in warning.value and "`ahead`" in warning.value for warning in page.warning)
    assert boxes(page) == ("kept", 4, False)


def test_a_run_that_was_served_as_usual_needs_no_words_and_another_is_told(engine):
    assert serving_words(story_run()) == [] and "This run:" not in words(lab())
    run = story_run()
    (guessed,) = serving_words(with_serving(run, Serving(drafts="prompt_lookup", n_drafts=4)))
    assert guessed == "up to 4 tokens guessed ahead, looked up: 0 of 0 guesses held"
    assert serving_words(with_serving(run, Serving(cache="recomputed"))) == ["everything computed again at every pass"]


@pytest.mark.parametrize(
    ("reused", "said"),
    [
        (None, "looks for an earlier run to begin from"),
        (0, "no earlier run to begin from"),
        (24, "began from 24 tokens that an earlier run left"),
    ],
)
def test_what_came_of_reuse_is_said_as_soon_as_it_is_known(reused, said):
    run = with_serving(story_run(), Serving(reuse_prefix=True))
    events = run.events if reused is None else [run.events[0], Admitted(1, 0, reused), *run.events[1:]]
    assert serving_words(Run(events)) == [said]


def with_serving(run: Run, serving: Serving) -> Run:
    return Run([msgspec.structs.replace(run.header, serving=serving), *run.events[1:]])
