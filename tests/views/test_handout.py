"""The handout: one file that fetches nothing, with the lesson's words and the recording's numbers, and all escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from engine.account.record import Run, Token
from lessons import catalogue
from lessons.parse import parse_lesson
from tests.lessons.story_run import story_run
from views.handout import handout
from views.handout_svg import memory_svg, passes_svg

LESSONS = {lesson.slug: lesson for lesson in catalogue.lessons()}
VOID = {"meta", "br", "hr", "col", "img", "link", "input"}


class Reader(HTMLParser):
    """Collects elements and text, and fails on a tag that is not closed."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(document)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("slug", LESSONS)
def test_every_lesson_s_handout_is_well_formed_and_fetches_nothing(slug):
    document = handout(LESSONS[slug])
    seen = Reader(document)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in seen.elements}
    for tag, attributes in seen.elements:
        assert not {"src", "srcset", "onload", "onclick"} & set(attributes), (tag, attributes)
        if href := attributes.get("href"):
            assert tag == "a" and href.startswith("https://")
    assert "default-src 'none'" in document and "url(http" not in document and "@import" not in document
    prose = Reader(re.sub(r"<pre>.*?</pre>", "", document, flags=re.DOTALL)).text
    assert not [sign for sign in ("{{", "[[", ":::", "$") if sign in prose]


def test_the_numbers_are_the_recording_s_and_the_answer_comes_after_the_question():
    lesson = LESSONS["one-request-two-phases"]
    run = catalogue.recording(lesson.front.recording)
    text = Reader(handout(lesson)).text
    asked, told = text.index("How many passes does the model need"), text.index(f"{len(run.passes)} passes")
    assert asked < told < text.index("Answers to the checks")
    assert text.index("Every pass of the run") > text.index("What happened"), "the table would tell the answer"
    for emission in run.emissions:
        assert emission.token.text.strip() in text
    assert run.header.device.name in text and run.header.created[:10] in text
    assert "The prefill comes on top" in text and "By a show of hands" not in text


def test_what_a_person_or_a_model_wrote_is_shown_and_never_obeyed(tmp_path: Path, monkeypatch):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    run = story_run()
    passes = list(run.events)
    place = next(i for i, one in enumerate(passes) if getattr(one, "emitted", None))
    spoilt = msgspec.structs.replace(passes[place].emitted[0], token=Token.of(1, evil.encode()))
    passes[place] = msgspec.structs.replace(passes[place], emitted=[spoilt])
    header = msgspec.structs.replace(run.header, device=msgspec.structs.replace(run.header.device, name=evil))
    monkeypatch.setattr(catalogue, "recording", lambda name: Run([header, *passes[1:]]))
    text = f"---\ntitle: {evil}\nquestion: {evil}\nminutes: 1\nprompt: {evil}\nrecording: evil\n---\n\n{evil}\n"
    text += (
        "\n[x](javascript:alert(1)) ![y](https://example.org/y.png)\n\n:::flipbook\n:::\n\n{{ run.first_new_token }}\n"
    )
    document = handout(parse_lesson(text, tmp_path / "01-evil.md"))
    seen = Reader(document)
    assert not {"script", "img"} & {tag for tag, _ in seen.elements}
    assert not [one for _, one in seen.elements if (one.get("href") or "").startswith("javascript")]
    assert seen.text.count("<script>alert(1)</script>") >= 5


def test_the_figures_are_to_scale_and_described():
    run = story_run()
    drawn = ElementTree.fromstring(passes_svg(run))
    blocks = list(drawn.iter("rect"))
    assert len(blocks) == len(run.passes) and f"{len(run.passes)} passes" in drawn.attrib["aria-label"]
    lasted = [one.end_ns - one.start_ns for one in run.passes]
    widths = [float(one.attrib["width"]) for one in blocks]
    assert widths[0] / widths[1] == pytest.approx(lasted[0] / lasted[1], rel=0.01)
    assert {one.attrib["fill"] for one in blocks[1:]} == {"url(#hatching)"}
    memory = ElementTree.fromstring(memory_svg(run))
    labels = [one.text or "" for one in memory.iter("text")]
    assert "state: 384 KiB, fixed" in labels and "KV cache" in labels and "tokens held" in labels
    assert all(re.fullmatch(r"[\d,]+ KiB", one) for one in labels if one[:1].isdigit() and "KiB" in one)
