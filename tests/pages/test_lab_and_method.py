"""The Lab takes every setting and keeps it; Method says how numbers are made; a page switch loses nothing."""

import pytest

import views.lab
from engine.account.record import Sampling
from engine.serve.client import EngineRefused
from tests.lessons.story_run import REPLY, story_run
from tests.pages.components import card_values, cards, charts, flipbook
from tests.pages.conftest import checked, opened, press, words
from views.evidence import LABELS
from views.method import PACKAGES, _version_and_licence

LAB, METHOD, LEARN = "../pages/lab.py", "../pages/method.py", "../pages/learn.py"


def lab(**params: str):
    page = opened()
    page.switch_page(LAB)
    for name, value in params.items():
        page.query_params[name] = value
    return checked(page.run())


def box(page, label: str):
    return next(one for one in page.number_input if one.label == label)


def test_the_lab_opens_with_a_recording_and_all_its_instruments(engine):
    page = lab()
    assert flipbook(page)["recording"] is not None and flipbook(page)["reveal"] is True
    assert set(card_values(page)) >= {
        "Queue",
        "Time to first token",
        "Prompt tokens/s",
        "Output tokens/s",
    }
    assert len(charts(page)) == 2
    counted = [note for _label, _value, note in cards(page) if "n =" in note]
    assert counted and all("recorded" in note for note in counted)


def test_every_setting_reaches_the_engine_and_stays_in_its_box(engine):
    page = lab()
    page.text_area[0].set_value("Once a fox")
    for label, value in [("New tokens", 33), ("Temperature", 0.5), ("Top-k", 40), ("Top-p", 0.9), ("Seed", 7)]:
        box(page, label).set_value(value)
    page.checkbox[0].uncheck()
    page = press(page, "Run it")
    assert engine.asked == [("Once a fox", Sampling(0.5, 40, 0.9, 7, 33, ignore_eos=True))]
    assert page.text_area[0].value == "Once a fox"
    assert [box(page, label).value for label in ("New tokens", "Top-k", "Seed")] == [33, 40, 7]
    assert {name: page.query_params[name] for name in ("new", "temperature", "top_k", "top_p", "seed", "stop")} == {
        "new": "33", "temperature": "0.5", "top_k": "40", "top_p": "0.9", "seed": "7", "stop": "0",
    }  # fmt: skip


def test_a_press_draws_the_page_once_with_the_new_run_in_it(engine, monkeypatch):
    page, drawn, draw = lab(), [], views.lab.lab_form
    monkeypatch.setattr(views.lab, "lab_form", lambda scene, *rest: drawn.append(scene.run_id) or draw(scene, *rest))
    page = press(page, "Run it")
    assert drawn == [page.query_params["run"]] == [flipbook(page)["run_id"]]
    assert len(engine.asked) == 1
    checked(page.run())
    assert len(engine.asked) == 1, "a rerun is no press"


def test_the_boxes_hold_nothing_that_the_engine_would_refuse(engine):
    page = lab()
    limits = {one.label: (one.min, one.max) for one in page.number_input}
    assert limits["New tokens"] == (1, 2047) and limits["Temperature"] == (0.0, 100.0)
    assert limits["Top-p"] == (0.01, 1.0) and limits["Seed"][0] == 0


def test_a_link_fills_the_labs_boxes(engine):
    page = lab(prompt="Linked", new="12", temperature="1.5", seed="9", stop="0")
    assert page.text_area[0].value == "Linked"
    assert (box(page, "New tokens").value, box(page, "Temperature").value, box(page, "Seed").value) == (12, 1.5, 9)
    assert not page.checkbox[0].value


def test_a_refusal_stands_under_the_form_and_the_text_stays(engine):
    engine.refuses = EngineRefused("too_many_new_tokens", "Ask for at most 40 new tokens.", 400)
    page = lab()
    page.text_area[0].set_value("A long one")
    page = press(page, "Run it")
    assert "Ask for at most 40 new tokens." in [error.value for error in page.error]
    assert page.text_area[0].value == "A long one"


def test_switching_pages_and_back_restores_run_settings_and_text(engine):
    page = lab()
    page.text_area[0].set_value("Stay with me")
    box(page, "Seed").set_value(5)
    page = press(page, "Run it")
    run = page.query_params["run"]
    page.switch_page(METHOD)
    page.query_params.clear()
    checked(page.run())
    page.switch_page(LAB)
    page.query_params.clear()
    page = checked(page.run())
    assert page.query_params["run"] == run and page.query_params["seed"] == "5"
    assert page.text_area[0].value == "Stay with me" and box(page, "Seed").value == 5
    assert flipbook(page)["run_id"] == run


def test_the_lab_and_the_lesson_keep_their_own_runs(engine):
    page = press(lab(), "Run it")
    page.switch_page(LEARN)
    page.query_params.clear()
    page = checked(page.run())
    assert flipbook(page)["run_id"] is None and "run" not in page.query_params


def test_run_after_run_a_session_knows_no_more_widgets(engine):
    """It keeps what it knew of a widget for good: a picture with a key for each run grew it by 3 KiB a run."""
    page, known = lab(), []
    for _run in range(3):
        engine.next_run = story_run()
        page = press(page, "Run it")
        known.append({one.proto.id for one in page.get("bidi_component")})
    assert known[0] == known[1] == known[2] and flipbook(page)["run_id"] == f"{3:032x}"


def test_one_token_leaves_blanks_with_a_reason(engine):
    engine.next_run = story_run(reply=REPLY[:1])
    page = press(lab(), "Run it")
    blank = {label for label, value in card_values(page).items() if not value}
    assert blank == {
        "Inter-token latency, p50",
        "Inter-token latency, p95",
        "Time per output token",
        "Output tokens/s",
    }
    assert words(page).count("needs a second token") == 4


def test_method_names_every_kind_of_evidence_the_model_and_the_software(engine):
    page = opened()
    page.switch_page(METHOD)
    page = checked(page.run())
    assert all(f"**{label}**" in words(page) for label in LABELS.values())
    (machine,), (software,) = page.dataframe, page.table
    assert list(machine.value["model"]) == ["story"] and list(machine.value["DeltaNet layers"]) == [6]
    assert list(software.value["package"]) == list(PACKAGES)


def test_method_works_without_an_engine(engine):
    engine.is_down = True
    page = opened()
    page.switch_page(METHOD)
    page = checked(page.run())
    assert len(page.table) == 1 and not page.dataframe


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_states_its_version_and_licence(package):
    version, licence = _version_and_licence(package)
    assert version and licence and len(licence) < 120


def test_a_package_that_is_not_installed_is_blank():
    assert _version_and_licence("no-such-package-here") == (None, None)


def test_a_link_that_names_only_a_run_fills_the_boxes_with_what_that_run_was_asked(engine):
    run_id = engine.submit("Its own prompt", Sampling(0.3, 5, 0.8, 11, 21, ignore_eos=True))
    page = lab(run=run_id)
    assert page.text_area[0].value == "Its own prompt"
    assert [box(page, label).value for label in ("New tokens", "Temperature", "Top-k", "Seed")] == [21, 0.3, 5, 11]
