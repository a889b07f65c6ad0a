"""What the page sends to the flipbook: settings, the run or what may be seen of it, and every word."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from engine.account.record import Run
from tests.browser.flipbook.runs import run_of, story
from views import flipbook
from views.flipbook_words import labels
from views.served_files import ASSETS

JS = sorted((ASSETS / "flipbook").glob("*.js"))


def sent(**changes):
    usual = {"run_id": None, "recording": None, "at": None, "reveal": True, "play": False}
    return flipbook.settings(**(usual | changes))


def test_a_recording_travels_whole_and_unchanged():
    run = run_of(["Once", " upon"], [" a", " time"])
    saved = sent(recording=run)["recording"]
    assert saved["schema"] == "twospeeds.run/1"
    assert msgspec.convert({"events": saved["events"]}, Run) == run


def test_what_is_hidden_never_leaves_the_server():
    run = run_of(["Once", " upon"], [" a", " wonder"])
    hidden = sent(recording=run, reveal=False)
    assert [event["event"] for event in hidden["recording"]["events"]] == ["header"]
    assert "wonder" not in str(hidden["recording"])


def test_settings_are_plain_json():
    assert msgspec.json.decode(msgspec.json.encode(sent(recording=run_of(["a"], ["b"]))))["colours"]["dark"]


@pytest.mark.parametrize(("configured", "expected"), [("", ""), ("class", "/class"), ("/a/b/", "/a/b")])
def test_the_shim_and_the_socket_honour_the_base_path(monkeypatch, configured, expected):
    registered = {}
    monkeypatch.setattr("streamlit.get_option", lambda name: configured)
    monkeypatch.setattr("streamlit.components.v2.component", lambda name, **given: registered.update(given))
    flipbook._component.__wrapped__()
    address = re.search(r'new URL\("([^"]+)", location.origin\)', registered["js"]).group(1)
    assert re.fullmatch(re.escape(expected) + r"/twospeeds/assets/v-\w+/flipbook/flipbook\.js", address)
    assert sent()["base_path"] == expected
    assert "\n" in registered["js"].strip(), "one line would be taken for a file's name"


def page_with_a_flipbook() -> None:
    import streamlit as st

    from tests.browser.flipbook.runs import story
    from views.flipbook import flipbook

    seen = flipbook(recording=story(), at=2, key="picture")
    st.text(f"{seen.step} {seen.ended}")


def test_a_page_gets_the_settled_step_and_nothing_before_there_is_one():
    page = AppTest.from_function(page_with_a_flipbook, default_timeout=30)
    assert page.run().text[0].value == "None None"
    assert msgspec.json.decode(page.get("bidi_component")[0].proto.json)["at"] == 2
    page.session_state["picture"] = {"settled": {"run_id": story().header.run_id, "step": 7}}
    assert page.run().text[0].value == "7 None"


def test_a_step_settled_on_in_another_run_is_not_a_step_of_this_one():
    """The picture takes one run after another: what was told of the one before may still stand in its state."""
    page = AppTest.from_function(page_with_a_flipbook, default_timeout=30).run()
    for said in ({"run_id": "cd" * 16, "step": 7}, {"step": 7}, {"run_id": story().header.run_id, "step": "7"}, 7):
        page.session_state["picture"] = {"settled": said}
        assert page.run().text[0].value == "None None"


def test_every_word_that_the_browser_asks_for_is_there():
    asked = set()
    for path in JS:
        code = path.read_text()
        # say("name"), parts("name"), and both names of say(x ? "one" : "other")
        for call in re.findall(r"\b(?:say|parts)\(([^;]*?)[,)]", code):
            asked |= set(re.findall(r'"([a-z_0-9]+)"', call))
    missing = asked - set(labels())
    assert len(asked) > 60
    assert not missing


def test_words_with_plurals_have_the_form_that_any_number_can_take():
    for name, word in labels().items():
        assert isinstance(word, str) or "other" in word, name


def test_the_code_asks_nothing_of_other_hosts_and_never_writes_markup():
    for path in [*JS, *Path(ASSETS / "flipbook").glob("*.css")]:
        code = path.read_text()
        assert "innerHTML" not in code and "insertAdjacentHTML" not in code, path.name
        assert not re.search(r"https?://(?!www\.w3\.org/)", code), path.name
        assert "Math.random" not in code, path.name
