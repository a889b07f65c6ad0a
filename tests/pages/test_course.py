"""Lessons of other kinds than the first, as a learner goes through them: choices, decimals, instruments, two runs."""

import sys
from types import ModuleType

import pytest
import streamlit as st

from engine.account.record import Serving
from engine.account.record_file import save
from lessons import catalogue, instruments
from lessons.instruments import WHOLE, Instrument
from tests.lessons.story_run import PROMPT, REPLY, story_run
from tests.pages.conftest import checked, opened, press, words
from views.instruments.frame import Frame, framed, publish

FORMULA = """---
title: By formula
question: How long does reading take?
minutes: 3
---

:::predict larger
kind: choice
label: Which is larger
outcome: The formula says
option: cache | The cache of {{ 100 | plural "token" "tokens" }}
option: state | The state
answer: state
near: cache -> slogan

A [[KV cache|cache]] against a state: **which is larger?**
:::

:::screen answer
title: The answer
after: larger
:::

:::compare larger
The cache catches up at {{ shape.qwen4b.crossover | plural "token" "tokens" }}.
:::

:::instrument doubler
start: 4
:::

Twice that is {{ doubler.result }}.

:::check wait
kind: number
step: 0.1
within: 5 %
unit: ms
answer: shape.qwen27b.step_weight_bytes / preset.h100.bandwidth * 1000
right: Bytes over bandwidth.
wrong: Divide again.

How long does a read take?
:::

:::card slogan
title: “State is tiny”

Not in a short text.
:::
"""

COMPARED = f"""---
title: Two runs
question: Why keep anything?
minutes: 3
prompt: "{"".join(PROMPT)}"
new_tokens: 10
recording: kept
serving: cache=recomputed
other: drafts=prompt_lookup
other_recording: again
preset: A short one | Hi there | 3
---

:::run
:::

:::predict passes
kind: number
answer: other.passes
near: run.passes + 100 -> none

How many?
:::

:::screen answer
title: Both
after: passes
:::

:::compare passes
{{{{ run.passes }}}} and {{{{ other.passes }}}}.
:::
"""


def doubler(scene, settings, key) -> None:
    """A test's own instrument: a number box, and twice what is in it."""
    frame = Frame("Doubler", "computed", "Twice the number.", {"result": [1]})
    with framed(frame, "doubler", scene, settings, key):
        start = st.number_input("Start", value=int(settings.get("start", "1")), key=f"{key}-start")
    publish(scene, "doubler", {"result": 2 * start})


@pytest.fixture(autouse=True)
def instrument(monkeypatch) -> None:
    entry = Instrument("Doubler", "Doubles.", settings={"start": WHOLE}, publishes={"result": "count"})
    monkeypatch.setitem(instruments.INSTRUMENTS, "doubler", entry)
    module = ModuleType("views.instruments.doubler")
    module.show = doubler
    monkeypatch.setitem(sys.modules, "views.instruments.doubler", module)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of the one lesson that a test writes, then another; `course(text)` opens the first."""
    home = tmp_path / "lessons"
    (home / "en").mkdir(parents=True)
    (home / "en" / "glossary.md").write_text("- **KV cache**: What earlier passes left.\n")
    monkeypatch.setattr(catalogue, "HOME", home)
    for name in ("kept", "again"):
        save(story_run(), tmp_path / f"{name}.json")

    def open_course(text: str, **params: str):
        (home / "en" / "01-first.md").write_text(text)
        (home / "en" / "02-second.md").write_text(text.replace("title: ", "title: Also "))
        return opened(**params)

    return open_course


def choose(page, option: str, button: str):
    page.radio[0].set_value(option)
    return press(page, button)


def test_a_wrong_choice_meets_its_card_and_stays_in_the_address(engine, course):
    page = choose(course(FORMULA), "cache", "That is my guess")
    said = words(page)
    assert "**“State is tiny”**" in said and "The cache of 100 tokens" in said
    assert "The formula says" in said and "1,536 tokens" in said
    assert page.query_params["guess"] == "larger:cache" and not page.success
    again = course(FORMULA, guess="larger:cache")
    assert not again.main.radio and "**“State is tiny”**" in words(again)


def test_a_right_choice_is_told_so(engine, course):
    page = choose(course(FORMULA), "state", "That is my guess")
    assert page.success[0].value == "You had it." and "**“" not in words(page)


def test_nothing_chosen_is_asked_for_again_and_an_option_that_is_not_there_counts_for_nothing(engine, course):
    page = press(course(FORMULA), "That is my guess")
    assert "Choose one first" in page.error[0].value
    assert course(FORMULA, guess="larger:nonsense").radio and course(FORMULA, guess="larger:7").radio


def test_a_lesson_without_a_run_has_no_recording_no_warning_and_opens_with_the_guess(engine, course):
    page = course(FORMULA)
    assert not page.warning and not page.text_input and "The answer" not in [one.value for one in page.header]
    page = press(page, "Show it")
    assert "The answer" in [one.value for one in page.header] and engine.asked == []


def test_a_number_with_decimals_is_right_within_its_tolerance_and_every_attempt_is_kept(engine, course):
    page = choose(course(FORMULA), "state", "That is my guess")
    for answer in (20.0, 15.0):
        page.number_input[-1].set_value(answer)
        page = press(page, "Check")
    kept = [(one.question, one.answer, one.right) for one in page.session_state["attempts"]]
    assert kept == [("larger", "state", None), ("wait", 20.0, False), ("wait", 15.0, True)]


def test_what_an_instrument_publishes_stands_in_the_prose_after_it(engine, course):
    page = choose(course(FORMULA), "state", "That is my guess")
    assert "Twice that is 8." in words(page)
    next(box for box in page.number_input if box.label == "Start").set_value(21)
    page = checked(page.run())
    assert "Twice that is 42." in words(page)


def test_a_result_that_the_table_of_instruments_does_not_name_is_refused():
    with pytest.raises(ValueError, match="does not publish"):
        publish(None, "doubler", {"other": 1})  # type: ignore[arg-type]


def test_the_lab_opens_an_instrument_by_address_with_its_settings_and_leaves_a_spoilt_one_out(engine):
    page = opened()
    page.switch_page("../pages/lab.py")
    page.query_params["instrument"], page.query_params["start"] = "doubler", "6"
    page = checked(page.run())
    assert page.selectbox[0].value == "doubler"
    assert next(box for box in page.number_input if box.label == "Start").value == 6
    page = opened()
    page.switch_page("../pages/lab.py")
    page.query_params["instrument"], page.query_params["start"] = "doubler", "many"
    page = checked(page.run())
    assert any("`start`" in warning.value for warning in page.warning)


def test_the_settings_of_a_link_end_when_another_instrument_is_chosen(engine, monkeypatch):
    same = instruments.INSTRUMENTS["doubler"]
    monkeypatch.setitem(instruments.INSTRUMENTS, "tripler", same)
    monkeypatch.setitem(sys.modules, "views.instruments.tripler", sys.modules["views.instruments.doubler"])
    page = opened()
    page.switch_page("../pages/lab.py")
    page.query_params["instrument"], page.query_params["start"] = "doubler", "6"
    page = checked(page.run())
    page.selectbox[0].set_value("tripler")
    page = checked(checked(page.run()).run())
    assert page.query_params["instrument"] == "tripler" and "start" not in page.query_params
    assert next(box for box in page.number_input if box.label == "Start").value == 1


def test_the_lab_offers_every_other_instrument_in_a_box_and_writes_it_into_the_address(engine):
    page = opened()
    page.switch_page("../pages/lab.py")
    page = checked(page.run())
    page.selectbox[0].set_value("doubler")
    page = checked(page.run())
    assert page.query_params["instrument"] == "doubler" and "Doubler" in words(page)


def test_a_marked_term_is_in_italics_and_its_sentence_is_at_hand(engine, course):
    page = course(FORMULA)
    assert "A *cache* against a state" in words(page) and "What earlier passes left." in words(page)


def test_the_second_run_begins_when_the_first_has_ended_and_is_served_its_own_way(engine, course):
    page = course(COMPARED)
    page = press(page, "Run it")
    assert engine.served == [Serving(cache="recomputed"), Serving(drafts="prompt_lookup")]
    assert (page.query_params["run"], page.query_params["other"]) == (f"{1:032x}", f"{2:032x}")
    page.number_input[0].set_value(10)
    page = press(page, "That is my guess")
    assert "10 and 10." in words(page)


def test_a_screen_stays_shut_until_the_second_run_has_ended(engine, course):
    page = press(course(COMPARED), "Show it")
    assert "Both" in [one.value for one in page.header], "the two recordings answer"
    engine.next_run = story_run(reply=REPLY[:2], reason=None)
    page = press(page, "Run it")
    assert len(engine.asked) == 1 and "Both" not in [one.value for one in page.header]
    engine.runs[f"{1:032x}"] = story_run()
    page = checked(page.run())
    assert len(engine.asked) == 2 and "Both" not in [one.value for one in page.header]
    assert "second run goes on" in words(page)
    engine.runs[f"{2:032x}"] = story_run()
    assert "Both" in [one.value for one in checked(page.run()).header]


def test_a_preset_fills_the_box_and_runs(engine, course):
    page = press(course(COMPARED), "A short one")
    assert page.text_input[0].value == "Hi there"
    prompt, sampling = engine.asked[0]
    assert (prompt, sampling.max_new_tokens) == ("Hi there", 3)


def test_the_list_of_lessons_says_what_was_tried_and_leads_to_each(engine, course):
    page = choose(course(FORMULA), "cache", "That is my guess")
    page.switch_page("../pages/course.py")
    page.query_params.clear()
    page = checked(page.run())
    said = words(page)
    assert "How long does reading take?" in said and "2 lessons, about 6 minutes" in said
    assert [caption.value for caption in page.caption] == [
        "about 3 minutes · 1 of 2 questions tried", "about 3 minutes · not tried yet",
    ]  # fmt: skip
    links = [link.proto for link in page.get("page_link")]
    assert [link.page for link in links] == ["first", "second"]


def test_each_lesson_leads_to_its_neighbours(engine, course):
    page = course(FORMULA)
    assert [link.proto.page for link in page.get("page_link")] == ["course", "second"]
