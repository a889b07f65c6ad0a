"""Values are written in the unit that was asked for, with as many digits, and never with the wrong one."""

import pytest

from lessons.expressions import ExpressionError, Placeholder, placeholders
from lessons.filters import check_filters, write


def written(value: float, source: str) -> str:
    (found,) = placeholders(f"{{{{ x | {source} }}}}")
    assert isinstance(found, Placeholder)
    check_filters(found.filters, None)
    return write(value, found.filters)


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        (53_791_996_928, "si_bytes", "53.8 GB"),
        (2_366_000_000, "si_bytes", "2.37 GB"),
        (53_791_996_928, "si_bytes 4", "53.79 GB"),
        (999, "si_bytes", "999 bytes"),
        (48 << 20, "bytes", "48 MiB"),
        (3.35e12, "bandwidth", "3.35 TB/s"),
        (989.4e12, "flops", "989 TFLOP/s"),
        (0.0153, "seconds", "15.3 ms"),
        (1.5, "seconds 2", "1.5 s"),
        (4.2e-6, "seconds", "4.20 µs"),
        (3e-9, "seconds", "3.00 ns"),
        (0.254, "percent", "25 %"),
        (0.254, "percent 1", "25.4 %"),
        (26.896e9, "large", "26.9 billion"),
        (7_900_080, "large 2", "7.9 million"),
        (1234.5, "digits 2", "1,200"),
        (99.96, "digits", "100"),
        (9.996, "digits 4", "9.996"),
        (1234.5, "fixed 1", "1,234.5"),
    ],
)
def test_a_value_is_written_with_its_unit_and_digits(value, source, expected):
    assert written(value, source) == expected


@pytest.mark.parametrize("source", ["digits many", "digits 10", "digits 1 2", "percent x"])
def test_digits_are_a_small_whole_number(source):
    with pytest.raises(ExpressionError):
        written(1.0, source)


@pytest.mark.parametrize(("source", "kind"), [("si_bytes", "time"), ("bandwidth", "bytes"), ("flops", "rate")])
def test_a_unit_is_never_put_on_another_kind_of_value(source, kind):
    (found,) = placeholders(f"{{{{ x | {source} }}}}")
    with pytest.raises(ExpressionError, match="is not for a"):
        check_filters(found.filters, kind)
