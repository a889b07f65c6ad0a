"""The whole course in a browser: a learner goes from question to check through every lesson, then a teacher does.

What is right, what is wrong and which card answers it are computed from the lessons' files and the learner's own runs,
so no number of a lesson stands here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

from engine.account.record import Run
from engine.account.record_file import decode_event
from lessons.catalogue import lessons
from lessons.expressions import Value
from lessons.questions import Answer, Question
from lessons.run_values import KINDS, values_of
from lessons.structure import Block, Lesson
from tests.browser.site.conftest import App, settled
from tests.browser.site.visitor import visit
from tests.lessons.instrument_values import published
from views.answer_key import right_answer
from views.presenting import slides_of
from views.prose import filled
from views.recorded_lesson import RecordedLesson

COURSE = lessons()
GUESSED = re.compile("^(You said|You drew)$")
INSTRUMENTS_THAT_ANSWER = ("batch_table.", "collision.", "percentiles.")
"""Whose results are answers of questions; they are played out without a page by `instrument_values`."""

# The page's own channel to a run, read to its end: what the learner's figures and numbers are made from.
RUN = """id => new Promise((told, failed) => {
  const events = [], socket = new WebSocket(`${location.origin.replace("http", "ws")}/twospeeds/runs/${id}?from=0`);
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    events.push(...(message.events ?? []));
    if (message.end) told(events);
    if (message.error) failed(new Error(message.error.message));
  };
  socket.onerror = () => failed(new Error("no answer"));
})"""


@dataclass
class Trouble:
    """What no page may do while somebody walks over it."""

    url: str
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(f"{page.url}: {error}"))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        # On a page with a path Streamlit asks for its own routes under that path first, and then rightly.
        asked = message.location["url"]
        if message.type == "error" and "/_stcore/" not in asked:
            self.errors.append(f"{asked}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.strangers.append(request.url)


@contextmanager
def walk(page: Page, app: App) -> Iterator[None]:
    """Afterwards no page has complained in the console or asked for anything from outside."""
    page.emulate_media(reduced_motion="reduce")  # a picture that plays takes a core, and has tests of its own
    trouble = Trouble(app.url)
    trouble.listen(page)
    yield
    assert not trouble.errors, "\n".join(trouble.errors)
    assert not trouble.strangers, "\n".join(trouble.strangers)


def expect_no_exception(page: Page) -> None:
    expect(page.get_by_test_id("stException"), page.url).to_have_count(0)


def answering_values(lesson: Lesson) -> dict[str, Value]:
    """What the lesson's questions are computed from, before anything has run: the recording stands for the run."""
    names = [name for block in lesson.named("predict") for name in Question.of(block).names]
    played = published(lesson) if any(name.startswith(INSTRUMENTS_THAT_ANSWER) for name in names) else {}
    return {**RecordedLesson.of(lesson).values, **played}


def takes(question: Question, answer: Answer) -> Answer:
    """The answer as the question's box holds it: whole, or with as many decimals as a step has."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, tuple):
        return tuple(round((one - question.smallest) / question.step) * question.step for one in answer)
    decimals = len(str(question.step).partition(".")[2])
    return round(answer, decimals) if decimals else round(answer)


def right_one(question: Question, values: Mapping[str, Value]) -> Answer:
    value = question.right_value(values)
    assert value is not None, question.id
    return takes(question, value)


def wrong_one(question: Question, values: Mapping[str, Value]) -> Answer:
    """An answer that meets a card: every question of the course knows a wrong belief."""
    known = {**values, **question.given}
    beliefs = (near.value if isinstance(near.value, str) else near.value.evaluate(known) for near in question.near)
    tried = [takes(question, one) for one in beliefs if one is not None]
    return next(one for one in tried if question.accepts(one) and question.card_for(one, values))


def give(place: Locator, question: Question, answer: Answer, button: str) -> None:
    """Fill the box or choose the option, and press the button.

    Not before the page stands: what is typed into a box that is just being drawn anew is gone with the old one.
    """
    settled(place.page)
    if isinstance(answer, str):
        option = place.get_by_test_id("stRadio").locator("label:has(input)").nth(list(question.options).index(answer))
        option.click()
        expect(option.locator("input")).to_be_checked()
    elif isinstance(answer, tuple):
        for mark, value in enumerate(answer):
            place.get_by_role("slider").nth(mark).fill(str(value))
    else:
        decimals = len(str(question.step).partition(".")[2])
        place.get_by_role("spinbutton").fill(f"{answer:.{decimals}f}")
    place.get_by_role("button", name=button).click()


def plain(markdown: str) -> str:
    """Markdown as the page's text has it."""
    return " ".join(re.sub(r"[*`]", "", markdown).split())


def expect_card(place: Page | Locator, lesson: Lesson, card: str, values: Mapping[str, Value]) -> None:
    block = lesson.find("card", card)
    assert block is not None
    shown = place.locator(f".st-key-card-{lesson.slug}-{card}")
    expect(shown).to_contain_text(plain(filled(block.value("title") or "", values)))
    if "$" not in block.body:
        expect(shown).to_contain_text(plain(filled(block.body, values)))


def guess(page: Page, lesson: Lesson, block: Block, values: dict[str, Value], number: int) -> None:
    """One prediction: commit, let the run end where one waits, and see the comparison and what is said about it."""
    question, runs = Question.of(block), lesson.runs_after(block.argument)
    odd = lesson.number % 2 == 1
    answer = right_one(question, values) if odd else wrong_one(question, values)
    if runs:
        page.get_by_role("button", name="Run it", exact=True).click()
    place = page.locator(f".st-key-predict-{lesson.slug}-{question.id}")
    give(place, question, answer, "Guess and run" if runs else "That is my guess")
    expect(place).to_have_count(0)
    # A sketch stands in a figure beside the right line, any other guess on a card beside the right answer.
    expect(page.locator(".ts-cards dt, .legendtext").filter(has_text=GUESSED)).to_have_count(number)
    if runs:
        values |= values_of(run_in_view(page))
    if not any(KINDS.get(name) == "time" for name in question.names):
        assert question.is_right(answer, values) is odd
    if question.is_right(answer, values):
        expect(page.get_by_text("You had it.", exact=True)).to_have_count(number)
    elif card := question.card_for(answer, values):
        expect_card(page, lesson, card, values)


def run_in_view(page: Page) -> Run:
    (run_id,) = re.findall(r"[?&]run=([^&]+)", page.url)
    return Run([decode_event(json.dumps(one)) for one in page.evaluate(RUN, run_id)])


def check(page: Page, lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    """Wrong first, with the card of that belief, then right."""
    question = Question.of(block)
    everything = {**values, **question.given}
    place = page.locator(f".st-key-check-{lesson.slug}-{question.id}")
    wrong = wrong_one(question, everything)
    give(place, question, wrong, "Check")
    expect(place.get_by_test_id("stAlert")).to_contain_text(plain(filled(question.wrong, everything)))
    expect_card(place, lesson, question.card_for(wrong, everything) or "", everything)
    give(place, question, right_one(question, everything), "Check")
    expect(place.get_by_test_id("stAlert")).to_contain_text(plain(filled(question.right, everything)))
    expect(place.locator("[class*=st-key-card-]")).to_have_count(0)


def test_a_learner_walks_from_question_to_check_through_the_whole_course(page: Page, app: App):
    with walk(page, app):
        visit(page, f"{app.url}/{COURSE[0].slug}")
        for lesson, following in zip(COURSE, [*COURSE[1:], None], strict=True):
            expect(page.get_by_role("heading", level=1, name=lesson.front.title)).to_be_visible()
            values = answering_values(lesson)
            for number, block in enumerate(lesson.named("predict"), 1):
                guess(page, lesson, block, values, number)
            for block in lesson.named("check"):
                check(page, lesson, block, values)
            settled(page)
            expect_no_exception(page)
            if following:
                page.locator(f".st-key-neighbours-{lesson.slug}").get_by_role(
                    "link", name=following.front.title
                ).click()


def test_a_teacher_reads_the_answers_and_shows_every_screen_of_every_lesson_by_key(page: Page, app: App):
    with walk(page, app):
        for lesson in COURSE:
            visit(page, f"{app.url}/{lesson.slug}?teach=1")
            section = page.locator(f".st-key-teaching-{lesson.slug}")
            values = RecordedLesson.of(lesson).values
            for block in (*lesson.named("predict"), *lesson.named("check")):
                expect(section).to_contain_text(plain(f"Right: {right_answer(Question.of(block), values)}"))
            expect_no_exception(page)
            section.get_by_role("link", name="Present it", exact=True).click()
            page.get_by_role("group", name="Presenting").wait_for()
            n_slides = len(slides_of([[block] for block in lesson.blocks]))
            for number in range(1, n_slides + 1):
                expect(page.locator(f".st-key-slide-{lesson.slug}-{number}")).to_be_visible()
                settled(page)
                expect_no_exception(page)
                page.keyboard.press("PageDown")
            page.keyboard.press("PageUp")
            expect(page.locator(f".st-key-slide-{lesson.slug}-{n_slides - 1}")).to_be_visible()
