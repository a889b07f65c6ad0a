"""From story files to rows: tokenizer, renaming, split and packing."""

import random

import numpy as np
import pytest

from training.batches import BROAD, RowStream, Stage, load_stories, pack
from training.names import find_names, rename
from training.prepare import is_held_out, prepare, read_stories, tidy, without_duplicates
from training.sources import SOURCES
from training.tokenizer import END_OF_TEXT, VOCABULARY, train_tokenizer


def made_up_story(number: int) -> str:
    rng = random.Random(number)
    girl, boy = rng.choice(["Lily", "Mia", "Sue"]), rng.choice(["Tom", "Ben", "Tim"])
    things = rng.sample(["ball", "kite", "boat", "cake", "frog", "tree", "stone", "drum"], 4)
    return (
        f"Once upon a time, there was a girl named {girl} and a boy named {boy}. They had a {things[0]}, a {things[1]} "
        f'and {number} of {things[2]}.\n{girl} said, "Can I have the {things[3]}, {boy}?" And {boy}\'s mom smiled.'
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Token files made from a few hundred made-up stories."""
    folder = tmp_path_factory.mktemp("stories")
    for index, source in enumerate(SOURCES):
        stories = [made_up_story(1000 * index + n) for n in range(150)]
        (folder / f"{source.name}.txt").write_text(f"\n{END_OF_TEXT}\n".join(stories))
    out = folder / "tokens"
    return out, prepare(folder, out)


def test_tokenizer_gives_back_any_text_and_begins_with_the_end_of_text_token():
    tokenizer = train_tokenizer(made_up_story(n) for n in range(100))
    foreign = "caf\u00e9 \u4f60\u597d \U0001f642 \x00\x07"
    for text in ["Once upon a time", "tabs\tand\n\nlines  ", foreign, "1234 isn't IT'S"]:
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert tokenizer.token_to_id(END_OF_TEXT) == 0
    assert tokenizer.encode(f"a{END_OF_TEXT}b").ids.count(0) == 1
    assert 257 <= tokenizer.get_vocab_size() <= VOCABULARY


def test_composed_and_decomposed_accents_get_the_same_tokens():
    tokenizer = train_tokenizer(["a story"])
    assert tokenizer.encode("cafe\u0301").ids == tokenizer.encode("caf\u00e9").ids


def test_renaming_changes_every_mention_and_nothing_else():
    names = find_names(made_up_story(n) for n in range(60))
    assert {"Lily", "Mia", "Sue"} == set(names["girl"])
    story = "There was a girl named Lily. Lily's mom called Lily. The lily was red. Tom ran."
    renamed = rename(story, {"girl": names["girl"], "boy": names["boy"]}, random.Random(0))
    assert "Lily" not in renamed
    assert "The lily was red." in renamed
    assert sum(renamed.count(name) for name in ("Mia", "Sue")) == 3


def test_a_story_that_says_the_same_in_other_case_or_spacing_is_dropped():
    seen = set()
    assert without_duplicates(["A cat sat.", "a CAT  sat!", "A dog sat."], seen) == ["A cat sat.", "A dog sat."]
    assert without_duplicates(["A cat... sat"], seen) == []


def test_broken_quotes_and_glued_sentences_are_mended_and_good_text_is_left_alone():
    assert tidy('"Whee!a said the boy.Then he ran. "Bye.a') == '"Whee!" said the boy. Then he ran. "Bye."'
    good = 'Mr. Fox had a hat. "A cake?" a boy asked... At 3.5 p.m. it rained, a lot.'
    assert tidy(good) == good


def test_held_out_stories_are_two_in_a_hundred_and_do_not_depend_on_order():
    stories = [made_up_story(n) for n in range(5000)]
    chosen = {s for s in stories if is_held_out(s, seed=0)}
    assert 60 < len(chosen) < 140
    assert chosen != {s for s in stories if is_held_out(s, seed=1)}


def test_no_held_out_story_is_among_the_training_tokens(prepared):
    folder, counts = prepared
    for source in SOURCES:
        train = {bytes(story) for story in load_stories(folder / f"{source.name}.0.npz")}
        held_out = [bytes(story) for story in load_stories(folder / f"{source.name}.held_out.npz")]
        assert held_out and not train.intersection(held_out)
        assert counts["sources"][source.name]["stories"] == len(train)


def test_a_missing_story_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tinystories\.txt"):
        prepare(tmp_path, tmp_path / "out")


def test_records_are_separated_by_the_mark_and_empty_ones_dropped(tmp_path):
    (tmp_path / "a.txt").write_text(f"one\n{END_OF_TEXT}\n\n{END_OF_TEXT}\ntwo\n")
    assert read_stories(tmp_path / "a.txt") == ["one", "two"]


def test_every_row_begins_where_a_story_begins_and_every_story_is_there():
    rng = np.random.default_rng(0)
    stories = [np.array([*rng.integers(100, 200, rng.integers(3, 40)), 0], dtype=np.uint16) for _ in range(300)]
    for number, story in enumerate(stories):
        story[0] = 1000 + number  # a first token that no other story has
    rows = pack(stories, 64, rng)
    assert rows.shape[1] == 64
    assert (rows[:, 0] >= 1000).all()
    text = rows.tobytes()
    assert all(story.tobytes() in text for story in stories)


def test_a_story_longer_than_a_row_is_cut_and_not_lost():
    story = np.arange(1, 151, dtype=np.uint16)
    rows = pack([story], 64, np.random.default_rng(0))
    assert set(rows.flatten()) == set(story)


def test_a_stream_goes_on_from_a_position_with_the_same_rows(prepared):
    folder, _ = prepared
    stage = Stage(BROAD.name, length=64, rows=4)
    stream = RowStream(stage, folder, seed=3)
    for _ in range(5):
        stream.next_batch()
    later = RowStream(stage, folder, seed=3, position=stream.position)
    assert all((stream.next_batch() == later.next_batch()).all() for _ in range(40))
