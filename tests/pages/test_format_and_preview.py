"""For people who write lessons: the page with every directive working, and the preview that checks on every save."""

from __future__ import annotations

import pytest

from lessons.check import check_lesson
from lessons.directives import DIRECTIVES
from lessons.instruments import INSTRUMENTS
from lessons.parse import read_lesson
from tests.pages.components import charts
from tests.pages.conftest import checked, opened, press, words
from views.format_page import EXAMPLE
from views.site import PREVIEW_FILE

LESSON = """---
title: A draft
question: Is it ready?
minutes: 3
---

:::check sum
kind: number
answer: 2 + 2
right: Yes.
wrong: Count again.

How much is two and two?
:::
"""


def test_the_example_has_every_directive_and_no_fault():
    lesson = read_lesson(EXAMPLE)
    assert {block.name for block in lesson.blocks} == {*DIRECTIVES, "prose"}
    assert check_lesson(lesson) == []


def test_the_page_shows_the_rules_the_source_and_each_directive_working(engine):
    page = opened()
    page.switch_page("../pages/format.py")
    page = checked(page.run())
    headers, said = [one.value for one in page.header], words(page)
    for name, directive in DIRECTIVES.items():
        assert any(header.startswith(f":::{name}") for header in headers), name
        assert directive.purpose in said and any(one.value.startswith(f":::{name}") for one in page.code), name
    assert "10 passes" in said and {"Check", "Run it"} <= {one.label for one in page.button}
    assert len(charts(page)) == 4 and set(INSTRUMENTS) <= set(page.dataframe[-1].value.iloc[:, 0])
    page.main.radio[-1].set_value("cache")
    assert "“The cache is always larger”" in words(press(page, "Check"))


DRAWN_CHECK = """---
title: A draft
question: Is it ready?
minutes: 3
---

:::check line
kind: curve
label: Cost
along: days
at: 0, 1, 2
max: 10
answer: 2 * x
near: 2 -> flat
right: Yes.
wrong: Look again.

Draw it.
:::

:::card flat
title: “It stays”

It goes up.
:::
"""


@pytest.fixture
def draft(engine, tmp_path, monkeypatch):
    path = tmp_path / "20-a-draft.md"
    path.write_text(LESSON)
    monkeypatch.setenv(PREVIEW_FILE, str(path))
    return path


def preview():
    page = opened()
    page.switch_page("../pages/preview.py")
    return checked(page.run())


def test_a_draft_is_shown_with_its_faults_named_by_line_and_a_save_is_seen(draft):
    page = preview()
    assert "No faults." in page.success[0].value and page.title[0].value == "A draft"
    draft.write_text(LESSON.replace("answer: 2 + 2", "answer: run.nonsense").replace("A draft", "Second draft"))
    page = checked(page.run())
    assert page.title[0].value == "Second draft" and not page.success
    assert "Line 9" in page.error[0].value and "run.nonsense" in page.error[0].value


def test_a_draft_that_is_hardly_begun_is_no_crash(draft):
    for text in ("", "---\n", "---\ntitle: x\n---\n:::check\n", ":::predict a\nkind: number\n:::\n"):
        draft.write_text(text)
        assert preview().error, text
    draft.unlink()
    assert "cannot be read" in preview().error[0].value


def test_without_a_file_there_is_no_preview_in_the_side_bar(engine, monkeypatch):
    from views import site

    monkeypatch.delenv(PREVIEW_FILE, raising=False)
    assert len(site.sections()["Teach"]) == 1
    monkeypatch.setenv(PREVIEW_FILE, "x.md")
    assert len(site.sections()["Teach"]) == 2


def test_a_check_may_be_drawn_too_and_is_tried_until_it_is_right(draft):
    draft.write_text(DRAWN_CHECK)
    page = preview()
    assert press(page, "Check").error[0].value == "Draw a line first."
    box = "check-box-a-draft-line"
    page.session_state[box] = {"points": [2, 2, 2]}
    page = press(page, "Check")
    assert "Look again." in words(page) and "“It stays”" in words(page)
    page.session_state[box] = {"points": [0, 2.5, 4]}
    assert "Yes." in words(press(page, "Check"))
