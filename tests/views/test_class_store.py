"""A class in the store: who gets in, which votes count when, what is told of them, and what goes with whom."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from views import class_names, class_store
from views.attempt_store import AttemptStore
from views.class_store import LASTS_S, Class, ClassStore
from views.class_votes import PHASES, ClassVotes, Phase
from views.database import KEEP_DAYS
from views.words import speaking

LESSON = "one-request-two-phases"
KEY = (LESSON, "passes")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def people(tmp_path, clock) -> AttemptStore:
    return AttemptStore(tmp_path, clock)


@pytest.fixture
def store(tmp_path, clock) -> ClassStore:
    return ClassStore(tmp_path, clock)


@pytest.fixture
def votes(store) -> ClassVotes:
    return ClassVotes(store)


@pytest.fixture
def one(store, people) -> Class:
    begun = store.start(people.visitor("teacher"), LESSON)
    assert begun is not None
    return begun


@pytest.fixture
def sit(store, people, one):
    """Seat somebody by browser; gives the seat's number."""

    def join(browser: str) -> int:
        assert store.join(people.visitor(browser), one.code) == "joined"
        return store.seat_of(browser).id

    return join


def go(votes: ClassVotes, one: Class, to: Phase) -> None:
    """On to a phase, step by step."""
    while (now := votes.glance(one.id, KEY).phase) != to:
        assert votes.advance(one, KEY, now, PHASES[PHASES.index(now) + 1])


def test_a_code_can_be_read_from_the_last_row_and_typed_in_any_way():
    code = class_names.new_class_code()
    assert not set(code) & set("0O1IL2Z5S8BUVAE") and len(code) == 6
    for typed in (code.lower(), f" {code[:3]}-{code[3:]} ", class_names.shown_class_code(code)):
        assert class_names.looks_like_a_class_code(typed) and class_names.normal_class_code(typed) == code
    for typed in ("", "K7QM3", "K7QM3XX", "K7QM30", "klassen", "К7QM3X"):
        assert not class_names.looks_like_a_class_code(typed)


def test_thirty_join_at_once_under_thirty_names_and_joining_twice_keeps_the_seat(store, people, one):
    visitors = [people.visitor(f"phone {n}") for n in range(30)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda who: store.join(who, one.code), visitors)) == {"joined"}
    names = [learner.name for learner in store.learners(one)]
    assert len(set(names)) == 30
    before = store.seat_of("phone 3")
    assert store.join(visitors[3], one.code.lower()) == "joined" and store.seat_of("phone 3").id == before.id
    assert store.n_learners(one.id) == 30
    assert store.rename(before) and store.seat_of("phone 3").name not in names


def test_a_wrong_code_a_full_class_and_one_that_has_ended_let_nobody_in(store, people, one, sit, monkeypatch, clock):
    assert store.join(people.visitor("late"), "CCCCCC" if one.code != "CCCCCC" else "DDDDDD") == "unknown"
    monkeypatch.setattr(class_store, "MOST_LEARNERS", 2)
    sit("first"), sit("second")
    assert store.join(people.visitor("third"), one.code) == "full"
    assert store.join(people.visitor("first"), one.code) == "joined", "whoever has a seat comes back to it"
    clock.now += LASTS_S + 1
    assert store.seat_of("first") is None and not store.find(one.code).is_live, "a class ends by itself"
    assert store.join(people.visitor("first"), one.code) == "ended"
    again = store.start(None, "")
    assert store.end(again.id) and not store.end(again.id)
    assert store.join(people.visitor("first"), again.code) == "ended"


def test_the_first_vote_the_talk_and_the_second_vote_are_counted_apart(votes, one, sit):
    seats = [sit(f"phone {n}") for n in range(4)]
    for seat, answer in zip(seats, (11, 11, 18, 10), strict=True):
        assert votes.vote(seat, KEY, 1, answer) == "counted"
    assert votes.vote(seats[0], KEY, 1, 12) == "counted", "a vote can be changed while it is open"
    assert votes.glance(one.id, KEY) == (True, "first", 4, 0, 4)
    go(votes, one, "talk")
    assert votes.vote(seats[0], KEY, 1, 10) == "closed"
    assert votes.vote(seats[0], KEY, 2, 10) == "closed"
    go(votes, one, "second")
    for seat, answer in zip(seats[:3], (10, 11, 10), strict=True):
        assert votes.vote(seat, KEY, 2, answer) == "counted"
    go(votes, one, "done")
    assert votes.vote(seats[3], KEY, 2, 10) == "closed"
    tally = votes.tally(one.id, KEY)
    assert tally.of_round(1) == {12: 1, 11: 1, 18: 1, 10: 1} and tally.of_round(2) == {10: 2, 11: 1}
    assert (tally.n_both, tally.n_changed) == (3, 2)
    assert votes.own(seats[0], KEY) == {1: 12, 2: 10}


def test_a_drawn_line_is_a_vote_like_any_other_and_the_same_line_twice_is_no_change(votes, one, sit):
    seats = [sit(f"phone {n}") for n in range(2)]
    for seat in seats:
        assert votes.vote(seat, KEY, 1, (0, 50.5, 100)) == "counted"
    go(votes, one, "talk")
    go(votes, one, "second")
    votes.vote(seats[0], KEY, 2, (0, 50.5, 100))
    votes.vote(seats[1], KEY, 2, (40, 90, 140))
    tally = votes.tally(one.id, KEY)
    assert tally.of_round(1) == {(0, 50.5, 100): 2} and (tally.n_both, tally.n_changed) == (2, 1)
    assert votes.own(seats[1], KEY) == {1: (0, 50.5, 100), 2: (40, 90, 140)}


def test_two_windows_of_a_teacher_cannot_go_on_twice_and_nothing_goes_back(votes, one, store):
    assert votes.advance(one, KEY, "first", "talk") and not votes.advance(one, KEY, "first", "talk")
    assert not votes.advance(one, KEY, "talk", "first")
    assert votes.advance(one, KEY, "talk", "done"), "a class may go without a second vote"
    store.end(one.id)
    assert not votes.advance(one, KEY, "done", "revealed")


def test_in_a_class_about_the_course_a_question_waits_only_when_it_was_opened(votes, store, people):
    one = store.start(None, "")
    assert store.join(people.visitor("phone"), one.code) == "joined"
    seat = store.seat_of("phone").id
    assert votes.vote(seat, KEY, 1, 11) == "closed" and votes.glance(one.id, KEY).phase is None
    assert votes.advance(one, KEY, None, "first") and votes.vote(seat, KEY, 1, 11) == "counted"


def test_the_teacher_sees_whose_answer_it_was_only_of_those_who_let_it_be_seen(votes, store, one, sit):
    open_one, closed_one = sit("open"), sit("closed")
    for seat in (open_one, closed_one):
        votes.vote(seat, KEY, 1, 11)
    assert votes.shared(one.id, KEY) == {}
    store.share(store.seat_of("open"), answers=True, prompts=False)
    assert votes.shared(one.id, KEY) == {open_one: 11}


def test_deleting_one_s_data_takes_the_seat_with_its_votes_and_leaving_does_too(votes, store, people, one, sit):
    for browser in ("goes", "leaves", "stays"):
        votes.vote(sit(browser), KEY, 1, 11)
        store.note_run(browser, f"run of {browser}")
    people.delete("goes")
    store.leave(store.seat_of("leaves"))
    assert [learner.n_runs for learner in store.learners(one)] == [1]
    assert votes.tally(one.id, KEY).of_round(1) == {11: 1} and len(store.runs(one.id)) == 1
    assert store.seat_of("goes") is None
    people.delete("teacher")
    assert store.find(one.code).is_live, "the class of a teacher who deletes their data goes on"


def test_a_class_goes_with_all_its_votes_a_month_after_it_ended(votes, store, one, sit, clock):
    votes.vote(sit("phone"), KEY, 1, 11)
    clock.now += LASTS_S + KEEP_DAYS * 86400 + 1
    store.start(None, "")
    assert store.find(one.code) is None and not votes.tally(one.id, KEY).pairs


def test_a_disk_that_cannot_be_written_costs_the_class_and_says_so(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    store = ClassStore(blocked)
    assert store.start(None, "") is None and store.join(1, "CCCCCC") == "not_kept" and store.seat_of("any") is None


def test_a_pseudonym_is_in_the_language_of_whoever_gets_it():
    """On a Spanish class's stage stood English animals."""
    with speaking("es"):
        name = class_names.new_pseudonym(())
    assert name in class_names.PSEUDONYMS["es"] and class_names.new_pseudonym(()) in class_names.PSEUDONYMS["en"]
    for names in class_names.PSEUDONYMS.values():
        assert len(set(names)) == len(names) > 2_000, "a hundred learners are not the end of them"
