"""Lesson 11 says what the engine's memory and the kernel do: answers, cards, and the numbers of its prose."""

import pytest

from engine.account.attention_traffic import Heads, positions_read, tiled, written_out
from engine.account.page_table import crowd, play
from engine.memory.pages import PAGE_SIZE, pages_for
from lessons.catalogue import lessons
from lessons.expressions import Placeholder, placeholders
from lessons.instruments import INSTRUMENTS
from lessons.named_shapes import shape_of
from lessons.questions import Question
from lessons.run_values import values_of
from tests.lessons import reading
from tests.lessons.story_run import story_run
from views.instruments.pages import N_PAGES

(LESSON,) = [one for one in lessons() if one.number == 11]


def question(name: str, argument: str) -> Question:
    block = LESSON.find(name, argument)
    assert block is not None
    return Question.of(block)


def settings(instrument: str) -> dict[str, str]:
    (block,) = [one for one in LESSON.named("instrument") if one.argument == instrument]
    return {one.key: one.value for one in block.settings}


def test_what_is_asked_is_the_engines_page_and_the_pool_of_the_picture():
    given = question("predict", "fit").given
    assert given["check.page"] == PAGE_SIZE
    assert given["check.room"] == N_PAGES * PAGE_SIZE == shape_of("story").context_length
    assert given["check.chat"] == int(settings("pages")["length"])


def test_as_many_chats_run_in_the_picture_as_the_answer_says_and_the_others_wait():
    asked, fit = settings("pages"), question("predict", "fit")
    chats, length = int(asked["chats"]), int(asked["length"])
    table = play(N_PAGES, 0, crowd(chats, 0, 1, length, length))
    assert fit.is_right(len(table.running), {}) and fit.is_right(N_PAGES // pages_for(150), {})
    assert table.waiting
    together = play(N_PAGES, 96, crowd(chats, 96, 1, length, length))
    assert len(together.running) == chats and together.saved_pages == (chats - 1) * 96 // PAGE_SIZE


@pytest.mark.parametrize(
    ("guess", "card"),
    [
        (13, "to-the-last-place"), (1, "room-for-the-longest"), (0, "room-for-the-longest"),
        (128, "a-page-is-not-a-chat"), (12, None), (40, None),
    ],
)  # fmt: skip
def test_each_wrong_guess_about_chats_meets_its_card(guess, card):
    assert question("predict", "fit").card_for(guess, {}) == card


def test_tiles_save_reads_and_nothing_else_and_every_other_belief_meets_its_card():
    tiles = question("predict", "tiles")
    assert tiles.is_right("bytes", {})
    assert [tiles.card_for(one, {}) for one in ("operations", "approximate", "nothing")] == [
        "tiles-compute-less", "tiles-look-away", "each-for-itself",
    ]  # fmt: skip


def test_the_checks_have_one_right_answer_and_know_their_wrong_ones():
    empty, decode = question("check", "empty"), question("check", "decode")
    assert empty.is_right(pages_for(100) * PAGE_SIZE - 100, {})
    assert [empty.card_for(one, {}) for one in (4, 0, 12, 6)] == ["taken-for-empty", "to-the-last-place", None, None]
    assert decode.is_right("nothing", {})
    assert [decode.card_for(one, {}) for one in ("same", "more")] == ["tiles-need-queries"] * 2


def test_every_card_can_be_reached():
    asked = [Question.of(block) for name in ("predict", "check") for block in LESSON.named(name)]
    assert {near.card for one in asked for near in one.near} == {card.argument for card in LESSON.named("card")}


def test_numbers_of_the_prose_that_need_no_picture_are_right():
    compare = LESSON.find("compare", "fit")
    said = [one.expression.evaluate({}) for one in placeholders(compare.body) if isinstance(one, Placeholder)]
    assert said == [150, pages_for(150), 9, 6, PAGE_SIZE, 1]


def test_the_sum_of_the_maths_is_what_the_kernel_reads():
    for t, m in ((512, 64), (1024, 32)):
        assert positions_read(t, m) == t * (t + m) // (2 * m)
        assert positions_read(t, 1) == t * (t + 1) // 2


def test_with_tiles_less_moves_than_in_either_other_way():
    heads, n_tokens = Heads.of(shape_of("story")), int(settings("tiles")["tokens"])
    moved = tiled(n_tokens, 64, heads).total
    assert tiled(n_tokens, 1, heads).total > 30 * moved
    assert written_out(n_tokens, heads).total > 3 * moved


def test_the_instruments_give_every_name_that_the_prose_uses():
    given = {f"{name}.{what}" for name in ("pages", "tiles") for what in INSTRUMENTS[name].publishes}
    used = {
        name
        for block in LESSON.blocks
        for one in placeholders(block.body)
        if isinstance(one, Placeholder)
        for name in one.expression.names
        if name.startswith(("pages.", "tiles."))
    }
    assert len(used) >= 9 and used <= given


@pytest.mark.parametrize(("n_new", "pages"), [(10, 2), (9, 1), (400, 26)])
def test_a_learners_text_holds_as_many_pages_as_the_engine_would_give_it(n_new, pages):
    values = values_of(story_run(reply=[" word"] * n_new))
    asked = question("predict", "pages")
    assert asked.right_value(values) == pages == pages_for(values["run.positions_held"])
    assert values["run.positions_held"] == 8 + n_new - 1, "the last token never goes back in"


def test_each_wrong_number_of_pages_meets_the_card_of_its_belief():
    values, asked = values_of(story_run()), question("predict", "pages")
    beliefs = {128: "room-for-the-longest", 18: "a-place-is-not-a-page", 17: "a-place-is-not-a-page",
               1: "to-the-last-place", 2: None, 5: None}  # fmt: skip
    assert {guess: asked.card_for(guess, values) for guess in beliefs} == beliefs
    long = values_of(story_run(reply=[" word"] * 400))
    assert asked.card_for(1, long) == "a-page-is-not-a-chat" and asked.card_for(25, long) == "to-the-last-place"


def test_what_happened_counts_full_pages_and_the_rest():
    text = reading.told(LESSON, "compare", "pages", values_of(story_run()))
    assert "17 positions were held" in text and "fills 1 page and leaves 1 position for one more" in text
