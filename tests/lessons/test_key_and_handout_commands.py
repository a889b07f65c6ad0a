"""`python -m lessons key` and `handout`: right answers of every lesson, files written, plain words where it fails."""

from __future__ import annotations

from typer.testing import CliRunner

from lessons.__main__ import _check_on_every_save, app
from lessons.catalogue import lessons
from lessons.questions import Question

LESSON = "one-request-two-phases"


def run(*words: str):
    return CliRunner().invoke(app, list(words))


def test_the_key_has_every_question_every_card_and_every_lesson_s_notes():
    key = run("key").output
    for lesson in lessons():
        assert f"# Lesson {lesson.number}: {lesson.front.title}" in key
        for kind in ("predict", "check"):
            for block in lesson.named(kind):
                assert f": {block.argument}\n" in key
        for card in lesson.named("card"):
            assert (card.value("title") or "") in key
        assert key.count("## Notes for teachers") == len([one for one in lessons() if one.named("notes")])
    assert "{{" not in key and "[[" not in key


def test_the_right_answers_are_the_recording_s_and_each_belief_names_its_card(tmp_path):
    (lesson,) = [one for one in lessons() if one.slug == LESSON]
    out = tmp_path / "key.md"
    assert run("key", str(lesson.path), "--out", str(out)).exit_code == 0
    key = out.read_text()
    assert "**Right: 10 passes** (`run.passes`)" in key and "**Right: 24 decode passes**" in key
    assert "- 11 passes (`asked.new_tokens + 1`): “The prefill comes on top”" in key
    for block in (*lesson.named("predict"), *lesson.named("check")):
        assert key.count("`): “") >= len(Question.of(block).near)


def test_an_answer_that_only_an_instrument_knows_is_not_invented():
    key = run("key").output
    assert "(not known)**" not in key and "**Right: None" not in key


def test_a_handout_is_written_by_number_or_file(tmp_path):
    out = tmp_path / "one.html"
    assert run("handout", "1", str(out)).exit_code == 0
    assert "<h1>One request, two phases</h1>" in out.read_text()
    again = tmp_path / "again.html"
    assert run("handout", str(lessons()[0].path), str(again)).exit_code == 0 and again.read_text() == out.read_text()


def test_a_lesson_that_is_not_there_or_has_faults_is_told_in_plain_words(tmp_path):
    missing = run("handout", "99", str(tmp_path / "x.html"))
    assert missing.exit_code != 0 and "there is no lesson" in missing.output
    faulty = tmp_path / "01-faulty.md"
    faulty.write_text("---\ntitle: A\nquestion: B\nminutes: 1\n---\n\n:::nonsense\n:::\n")
    told = run("handout", str(faulty), str(tmp_path / "x.html"))
    assert told.exit_code == 1 and "unknown directive" in told.output and not (tmp_path / "x.html").exists()


def test_the_preview_checks_at_first_and_on_every_save(tmp_path, monkeypatch, capsys):
    draft = tmp_path / "20-a-draft.md"
    good = "---\ntitle: A\nquestion: B\nminutes: 1\n---\n\nText.\n"
    states = iter([good, good + ":::nonsense\n:::\n", None, good])

    def save_next() -> bool:
        try:
            state = next(states)
        except StopIteration:
            return False
        if state is not None:
            draft.write_text(state)
        return True

    monkeypatch.setattr("lessons.__main__.LOOK_EVERY_S", 0.01)
    _check_on_every_save(draft, save_next)
    told = capsys.readouterr().out.strip().splitlines()
    assert len(told) == 3 and "no faults" in told[0] and ":8: unknown directive" in told[1] and "no faults" in told[2]
