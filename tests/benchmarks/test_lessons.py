"""What the benchmark of lessons tells of its times; taking them needs a browser and minutes."""

from benchmarks import lessons

WAITS = {"a: quick": [90.0, 110.0], "a: late": [400.0, 300.0], "b: later": [500.0, 500.0], "b: silent": [90.0, None]}


def test_the_slow_ones_are_named_slowest_first_and_what_did_not_answer_counts_in_no_median():
    assert lessons.slow(WAITS) == ["500 ms  b: later", "350 ms  a: late", "did not answer  b: silent"]
    row = [list(column.cells)[-1] for column in lessons.summary({lessons.KEPT: WAITS}, 2).columns]
    assert row == [lessons.KEPT, "350", "100", "500", "3 x 2", "300"]


def test_two_controls_of_one_name_stay_apart():
    assert lessons._free_name("a: Model", {}) == "a: Model"
    assert lessons._free_name("a: Model", {"a: Model": []}) == "a: Model (2)"
