"""The resume code: enough bits, readable, forgiving of how it is typed, and not to be guessed."""

from __future__ import annotations

import math

from views.resume_code import N_WORDS, Limit, looks_like_a_code, new_code, normal_form, word_list


def test_a_code_has_at_least_44_bits_of_chance():
    assert len(set(word_list())) == len(word_list())
    assert N_WORDS * math.log2(len(word_list())) >= 44
    assert len({new_code() for _ in range(500)}) == 500


def test_the_words_are_short_plain_and_told_apart_by_four_letters():
    assert all(word.isascii() and word.islower() and 3 <= len(word) <= 9 for word in word_list())
    assert len({word[:4] for word in word_list()}) == len(word_list())


def test_capitals_spaces_and_commas_do_not_matter_but_a_slip_is_seen():
    code = new_code()
    assert normal_form(f"  {code.upper().replace('-', ' , ')} ") == code and looks_like_a_code(code.replace("-", " "))
    for wrong in ("", "acorn", code + "-acorn", code.replace("-", ""), code[:-1] + "q"):
        assert not looks_like_a_code(wrong), wrong


def test_the_limit_holds_each_key_by_itself_and_lets_go_again():
    now = [0.0]
    limit = Limit(3, 60, clock=lambda: now[0])
    assert [limit.allows("a") for _ in range(4)] == [True, True, True, False] and limit.allows("b")
    now[0] = 59.9
    assert not limit.allows("a")
    now[0] = 60.0
    assert limit.allows("a")
