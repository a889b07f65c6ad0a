"""The lesson as a learner goes through it, right and wrong, with the engine well and ill."""

import re

import pytest

from engine.account.record import Error, Run
from engine.loop.model_folder import BUNDLED
from engine.model.tokenizer import Tokenizer
from engine.serve import wire
from engine.serve.client import EngineRefused
from lessons import catalogue
from tests.lessons.story_run import PROMPT, REPLY, story_run
from tests.pages.components import card_values, cards, charts, flipbook
from tests.pages.conftest import checked, opened, press, words
from tests.views.test_transfers import MOVED, served_by_several
from views.prompt_checks import MAX_PROMPT_CHARACTERS

STORY_PROMPT = "".join(PROMPT)
N = len(REPLY)


def ask(page, prompt: str = STORY_PROMPT):
    page.text_input[0].set_value(prompt)
    return press(page, "Run it")


def guess(page, number: int):
    page.number_input[0].set_value(number)
    return press(page, "Guess and run")


def beside(page) -> tuple[str, str]:
    """The guess beside what the model did."""
    values = card_values(page)
    return values["You said"], values["The model ran"]


def test_the_front_door_leads_to_the_first_lesson_with_a_recording_in_view_and_one_box(engine):
    page = opened()
    assert page.title[0].value == "One request, two phases"
    assert [box.value for box in page.text_input] == [STORY_PROMPT] and not page.number_input
    shown = flipbook(page)
    assert shown["run_id"] is None and shown["recording"]["events"][0]["prompt"] == STORY_PROMPT
    assert engine.asked == []


def test_what_the_question_asks_is_not_on_the_page_until_the_guess_is_made(engine):
    page = opened()
    assert flipbook(page)["reveal"] == "motion", "something moves from the first second on, and counts nothing"
    assert not cards(page) and "9 decodes" not in words(page)
    page = ask(page)
    assert flipbook(page)["reveal"] == "motion" and engine.asked == []
    page = guess(page, 7)
    assert flipbook(page)["reveal"] is True and engine.asked != []


def test_the_prompt_waits_for_the_guess_and_then_runs_as_the_lesson_says(engine):
    page = guess(ask(opened(), "A cat sat"), N)
    ((prompt, sampling),) = engine.asked
    assert prompt == "A cat sat"
    assert (sampling.max_new_tokens, sampling.ignore_eos, sampling.temperature) == (10, True, 0)
    assert page.query_params["run"] == f"{1:032x}"
    assert flipbook(page)["run_id"] == f"{1:032x}"


def test_a_question_about_a_prompt_that_waits_counts_the_tokens_of_that_prompt(engine, monkeypatch):
    """It once told everybody that their prompt has the tokens of the recording's."""
    (path,) = [file for file in catalogue.lesson_files() if file.name.startswith("03-")]
    monkeypatch.setattr(catalogue, "lesson_files", lambda language=catalogue.DEFAULT_LANGUAGE: [path])
    long = "Once upon a time, there was a little girl who had a red ball."
    page = ask(opened(), long)
    n = len(Tokenizer(BUNDLED / "story").encode(long))
    assert n > 12 and f"Your prompt has {n} tokens" in words(page)


def test_a_right_guess_is_told_so_beside_what_happened(engine):
    page = guess(ask(opened()), N)
    assert beside(page) == ("10 passes", "10 passes")
    assert page.success[0].value == "You had it."
    assert "1 prefill and then 9 decodes" in words(page)


def test_a_wrong_belief_meets_its_own_card_and_no_other(engine):
    page = guess(ask(opened()), N + 1)
    beliefs = [text for text in words(page).splitlines() if text.startswith("**“")]
    assert beliefs == ["**“The prefill comes on top”**"]
    assert not page.success


def test_a_guess_without_a_known_belief_is_shown_beside_the_answer_and_no_card(engine):
    page = guess(ask(opened()), 77)
    assert "**“" not in words(page)
    assert beside(page) == ("77 passes", "10 passes")


def test_going_on_without_a_guess_is_allowed_and_said(engine):
    page = press(ask(opened()), "Run without a guess")
    assert beside(page) == ("no guess", "10 passes")
    assert "**“" not in words(page)


def test_an_empty_guess_is_asked_for_again_and_nothing_runs(engine):
    page = press(ask(opened()), "Guess and run")
    assert "Type a number first" in page.error[0].value
    assert engine.asked == [] and flipbook(page)["reveal"] is not True


def test_the_box_for_the_guess_takes_only_sensible_numbers(engine):
    box = ask(opened()).number_input[0]
    assert (box.min, box.max, box.step, box.value) == (1, 9999, 1, None)


def test_a_second_run_needs_no_second_guess_and_stops_the_first_if_it_still_goes_on(engine):
    engine.next_run = story_run(reply=REPLY[:3], reason=None)
    page = guess(ask(opened()), N)
    page = ask(page, "Another one")
    assert [prompt for prompt, _ in engine.asked] == [STORY_PROMPT, "Another one"]
    assert engine.cancelled == [f"{1:032x}"]
    assert not [box for box in page.number_input if box.label == "Your guess"]


def test_while_it_runs_there_is_a_stop_button_and_no_verdict(engine):
    engine.next_run = story_run(reply=REPLY[:3], reason=None)
    page = guess(ask(opened()), N)
    assert not cards(page) and "when the run has ended" in words(page)
    page = press(page, "Stop")
    assert engine.cancelled == [f"{1:032x}"]


def test_a_stopped_run_judges_nobody_and_has_no_stop_button_any_more(engine):
    engine.next_run = story_run(reply=REPLY[:4], reason="cancelled")
    page = guess(ask(opened()), 4)
    said = words(page)
    assert "This run was cut short, so it does not answer the question." in said
    assert "You had it." not in said and "Stop" not in [button.label for button in page.button]


def test_a_run_whose_engine_was_lost_is_shown_as_far_as_it_came_and_the_prompt_is_kept(engine):
    run = story_run(reply=REPLY[:3], reason=None)
    engine.next_run = Run([*run.events, Error(len(run.events), "engine_lost", "The engine stopped.")])
    page = guess(ask(opened(), "Keep me"), N)
    assert flipbook(page)["run_id"] == f"{1:032x}" and "cut short" in words(page)
    assert page.text_input[0].value == "Keep me"


@pytest.mark.parametrize(
    ("prompt", "said"),
    [("", "empty"), ("a\x00b", "control character"), ("x" * (MAX_PROMPT_CHARACTERS + 1), "no more than")],
)
def test_a_prompt_that_cannot_run_is_refused_beside_the_box_and_kept(engine, prompt, said):
    page = ask(opened(), prompt)
    assert said in page.error[0].value
    assert page.text_input[0].value == prompt
    assert engine.asked == [] and not page.number_input


def test_what_the_engine_refuses_stands_on_the_page_and_the_recording_answers_instead(engine):
    engine.refuses = EngineRefused("prompt_too_long", "The prompt has 9,000 tokens. This model holds 2,048.", 400)
    page = guess(ask(opened(), "word " * 9000), 11)
    assert "The prompt has 9,000 tokens. This model holds 2,048." in [error.value for error in page.error]
    assert page.text_input[0].value.startswith("word word")
    assert flipbook(page)["run_id"] is None and flipbook(page)["reveal"] is True
    assert "recorded" in words(page)


def test_a_dead_engine_leaves_the_lesson_readable(engine):
    engine.is_down = True
    engine.state = wire.Health("failed", "models/story/model.safetensors is cut off.")
    page = opened()
    assert any("model.safetensors is cut off" in note.value for note in page.info)
    page = guess(ask(page), 11)
    assert any("cut off" in error.value for error in page.error)
    assert "The prefill comes on top" in words(page)


def test_an_engine_that_is_still_starting_is_said_to_be_so_and_no_more_once_it_is_ready(engine):
    engine.state = wire.Health("loading")
    page = opened()
    assert any("engine is starting" in note.value for note in page.info)
    engine.state = wire.Health("ready")
    assert not checked(page.run()).info


def test_markup_in_a_prompt_and_in_a_reply_stays_text(engine):
    engine.next_run = story_run(reply=[" <script>alert(1)</script>", " :red[x] $y$", *REPLY[2:]])
    page = guess(ask(opened(), "<img src=x onerror=alert(1)> [x](javascript:1)"), N)
    mentions = [one for one in page.markdown if "<script>" in one.value]
    assert mentions and all("`<script>alert(1)</script>`" in one.value for one in mentions)
    assert not any(one.allow_html for one in page.markdown)


def test_other_text_than_ascii_gets_a_word_of_warning_and_runs(engine):
    page = guess(ask(opened(), "Il était une fois"), N)
    assert any("only ever read plain English" in note.value for note in page.info)
    assert engine.asked[0][0] == "Il était une fois"


def test_a_check_is_tried_until_it_is_right_and_every_attempt_is_kept(engine):
    page = guess(ask(opened()), N)
    for answer in (25, 3, 24):
        box = next(box for box in page.number_input if box.label == "Your answer")
        box.set_value(answer)
        page = press(page, "Check")
    kept = [(one.question, one.answer, one.right) for one in page.session_state["attempts"]]
    assert kept == [
        ("passes", N, None), ("decode-passes", 25, False), ("decode-passes", 3, False), ("decode-passes", 24, True),
    ]  # fmt: skip
    assert any("came out of the prefill" in one.value for one in page.success)


def test_a_wrong_check_gets_a_hint_and_the_card_of_its_belief(engine):
    page = guess(ask(opened()), N)
    next(box for box in page.number_input if box.label == "Your answer").set_value(25)
    page = press(page, "Check")
    assert "look at its odds" in page.warning[0].value and "The prefill only reads" in words(page)


def test_the_explanation_stands_in_three_depths_with_this_runs_own_numbers(engine):
    page = guess(ask(opened()), N)
    assert [tab.label for tab in page.tabs] == ["In words", "In formulas", "In code"]
    assert "1 + 9 = 10" in words(page) and "In this run: 17." in words(page)
    assert re.search(r"`{5}python\n.*def step\(self\)", words(page), re.DOTALL)


def test_the_second_pass_opens_on_the_head_that_keeps_most_and_its_figures_are_labelled(engine):
    page = press(guess(ask(opened()), N), "Run it again with instruments")
    assert engine.traced == [(0, 0), (0, 3)]  # the first tells what every head keeps, the next draws the one to show
    assert len(charts(page)) == 5
    assert "instrumented second pass" in words(page)
    next(box for box in page.selectbox if box.label == "DeltaNet layer").set_value(4)
    page = checked(page.run())
    assert engine.traced == [(0, 0), (0, 3), (4, 3)]


def test_a_recording_offers_no_second_pass(engine):
    engine.refuses = EngineRefused("bad_request", "No.", 400)
    page = guess(ask(opened()), N)
    assert any("Run a prompt of your own" in note.value for note in page.info)


def test_a_shared_link_brings_prompt_run_and_step_but_not_the_answer(engine):
    first = guess(ask(opened(), "A shared story"), N)
    link = next(block.value for block in first.code if "run=" in block.value)
    params = dict(pair.split("=", 1) for pair in link.partition("?")[2].split("&"))
    assert params["prompt"] == "A+shared+story" and "guess" not in params
    page = opened(prompt="A shared story", run=params["run"], at="3")
    assert page.text_input[0].value == "A shared story"
    assert flipbook(page)["run_id"] == params["run"] and flipbook(page)["at"] == 3
    assert flipbook(page)["reveal"] is False, "a live run would tell"
    assert [box.label for box in page.number_input] == ["Your guess"]


def test_after_a_reload_the_run_is_told_at_once_and_the_guess_is_not_asked_for_again(engine):
    first = guess(ask(opened()), N + 1)
    page = opened(**{name: first.query_params[name] for name in ("run", "guess")})
    assert flipbook(page)["run_id"] == first.query_params["run"] and flipbook(page)["reveal"] is True
    assert beside(page) == ("11 passes", "10 passes")
    assert "Your guess" not in [box.label for box in page.number_input]


def test_a_guess_in_the_address_that_no_question_asked_for_counts_for_nothing(engine):
    page = opened(guess="other:3")
    assert flipbook(page)["reveal"] == "motion"


def test_the_prompt_is_not_in_the_address_until_somebody_shares_it(engine):
    page = guess(ask(opened(), "A private story"), N)
    assert "prompt" not in page.query_params


def test_a_spoilt_link_says_which_part_was_left_out(engine):
    page = opened(new="-5", temperature="hot", at="2")
    said = [warning.value for warning in page.warning]
    assert len(said) == 2 and "`new`" in " ".join(said) and "`temperature`" in " ".join(said)
    assert page.text_input[0].value == STORY_PROMPT


def test_a_link_to_a_run_that_is_not_kept_shows_the_recording_and_says_so(engine):
    page = opened(run="f" * 32)
    assert "not kept any more" in page.warning[0].value
    assert flipbook(page)["run_id"] is None


def test_the_settled_step_goes_into_the_address(engine):
    page = guess(ask(opened()), N)
    page.session_state["flipbook.one-request-two-phases"] = {
        "settled": {"run_id": f"{1:032x}", "step": 4}, "ended": None,
    }  # fmt: skip
    page = checked(page.run())
    assert page.query_params["at"] == "4"


def test_without_its_recording_the_lesson_still_opens(engine, tmp_path):
    for file in tmp_path.glob("*.json"):
        file.unlink()
    page = opened()
    assert "recorded example cannot be read" in page.warning[0].value
    assert page.text_input[0].value == STORY_PROMPT


def test_where_two_pools_serve_lesson_nine_says_what_of_ones_own_prompt_moved_and_for_how_long(engine, monkeypatch):
    (path,) = [file for file in catalogue.lesson_files() if file.name.startswith("09-")]
    monkeypatch.setattr(catalogue, "lesson_files", lambda language=catalogue.DEFAULT_LANGUAGE: [path])
    engine.next_run = served_by_several(MOVED)
    page = ask(opened())
    page.number_input[0].set_value(419)
    page = press(page, "Guess and run")
    assert "You had it." in [one.value for one in page.success]
    assert "`prefill/a` read the prompt and `decode/b` went on: 457 KB moved, in 3.50 ms." in words(page)
