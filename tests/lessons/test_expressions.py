"""Expressions compute with names and numbers, and with nothing else."""

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.expressions import Expression, ExpressionError, Placeholder, placeholders, without_placeholders
from lessons.filters import check_filters, significant, write

VALUES = {"run.passes": 10, "run.itl.p50": 2_000_000, "run.tpot": None, "run.first_new_token": " girl"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("run.passes", 10),
        ("run.passes - 1", 9),
        ("1 + (run.passes - 1) * 2", 19),
        ("-run.passes", -10),
        ("run.passes / 4", 2.5),
        ("run.passes // 4", 2),
        ("run.passes % 4", 2),
        ("run.first_new_token", " girl"),
        ("7", 7),
    ],
)
def test_names_and_arithmetic_are_computed(source, expected):
    assert Expression.parse(source).evaluate(VALUES) == expected


@pytest.mark.parametrize(
    "source",
    [
        "__import__('os').system('true')", "run.passes()", "[1]", "{}", "run.passes[0]", "lambda: 1", "1 if 1 else 2",
        "run.passes > 3", "2 ** 1000", "'text'", "True", "None", "1j", "f'{run}'", "a := 1", "*a", "...",
        "1 + 'a'", "not 1", "~1", "1 << 8", "", "1 +", "(" * 300, "x" * 300, "run.passes; 1", "a\x00b",
    ],
)  # fmt: skip
def test_anything_else_is_refused_before_it_is_evaluated(source):
    with pytest.raises(ExpressionError):
        Expression.parse(source)


def test_unknown_makes_the_whole_expression_unknown_and_is_written_as_such():
    assert Expression.parse("run.tpot * 2 + 1").evaluate(VALUES) is None
    assert write(None, ()) == "(not known)"


def test_an_unknown_name_a_text_in_a_sum_and_a_division_by_zero_say_so():
    for source, words in [
        ("run.pases", "unknown name `run.pases`"),
        ("run.first_new_token + 1", "text"),
        ("1 / (run.passes - 10)", "zero"),
    ]:
        with pytest.raises(ExpressionError, match=words):
            Expression.parse(source).evaluate(VALUES)


_ARITHMETIC = st.recursive(
    st.integers(0, 99).map(str) | st.just("run.passes"),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=12,
)


@given(_ARITHMETIC)
def test_arithmetic_agrees_with_python_itself(source):
    try:
        expected = eval(compile(ast.parse(source.replace("run.passes", "10"), mode="eval"), "", "eval"))
    except ZeroDivisionError:
        with pytest.raises(ExpressionError):
            Expression.parse(source).evaluate(VALUES)
        return
    assert math.isclose(Expression.parse(source).evaluate(VALUES), expected, rel_tol=1e-12)


def test_placeholders_are_found_with_filters_and_faulty_ones_with_their_place():
    text = 'a {{ run.passes | plural "pass" "passes" }} b {{ run.( }} c {{ run.tpot | ms }}'
    first, second, third = placeholders(text)
    assert isinstance(first, Placeholder) and isinstance(third, Placeholder)
    assert first.filters[0].words == ("pass", "passes")
    assert second[0] == text.index("{{ run.(")
    blanked = without_placeholders(text)
    assert len(blanked) == len(text) and "{" not in blanked and blanked.startswith("a ")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ run.passes }}", "10"),
        ('{{ run.passes | plural "pass" "passes" }}', "10 passes"),
        ('{{ run.passes - 9 | plural "pass" "passes" }}', "1 pass"),
        ("{{ run.itl.p50 | ms }}", "2.00 ms"),
        ("{{ run.itl.p50 * 1000 | s }}", "2.00 s"),
        ("{{ 2048 }}", "2,048"),
        ("{{ 393216 | bytes }}", "384 KiB"),
        ("{{ 1536 | bytes }}", "1.5 KiB"),
        ("{{ 96 | bytes }}", "96 bytes"),
        ("{{ run.passes / 3 }}", "3.33"),
    ],
)
def test_filters_write_values_the_way_a_page_shows_them(source, expected):
    (found,) = placeholders(source)
    assert isinstance(found, Placeholder)
    assert write(found.expression.evaluate(VALUES), found.filters) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (16.34, "16.3"),
        (0.04217, "0.0422"),
        (1430.4, "1,430"),
        (999.96, "1,000"),
        (0.99996, "1.00"),
        (0, "0"),
        (-2.5, "-2.50"),
    ],
)
def test_significant_digits_do_not_jump_at_a_power_of_ten(value, expected):
    assert significant(value) == expected


def test_a_filter_refuses_a_value_of_another_kind_or_missing_words():
    def filters(source):
        (found,) = placeholders(source)
        return found.filters

    check_filters(filters("{{ run.passes | count }}"), "count")
    for source, kind in [
        ("{{ run.passes | ms }}", "bytes"),
        ("{{ run.passes | sparkle }}", "count"),
        ('{{ run.passes | plural "pass" }}', "count"),
        ("{{ run.passes | count | ms }}", None),
    ]:
        with pytest.raises(ExpressionError):
            check_filters(filters(source), kind)
