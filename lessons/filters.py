"""How a value is written in prose: `{{ run.ttft | ms }}`. Each filter says which kind of value it is for.

A unit is never put on a value of another kind: the checker refuses `| ms` on a number of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lessons.expressions import ExpressionError, Filter, Value
from lessons.words import N_, shown

Write = Callable[[float, Sequence[str]], str]

MOST_DIGITS = 9

UNKNOWN = N_("(not known)")
"""Written where a value is missing; never 0."""


@dataclass(frozen=True)
class FilterRule:
    """What a filter accepts: the kinds of value, how many words, and how it writes a number."""

    kinds: frozenset[str]
    n_words: int
    write: Write
    optional: bool = False
    """Whether the words may be left out; they are numbers then."""


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, thousands apart, never in exponent form: 16.3, 0.0421, 1,430."""
    if value == 0:
        return "0"
    exponent = _exponent(value, digits)
    return f"{round(value, digits - 1 - exponent):,.{max(0, digits - 1 - exponent)}f}"


def milliseconds(value_ns: float) -> str:
    """Nanoseconds written as milliseconds, to the microsecond at most: "16.3 ms", "0.004 ms"."""
    value = value_ns / 1e6
    return f"{value:.3f} ms" if 0 < value < 1 else f"{significant(value)} ms"


def binary_bytes(value: float) -> str:
    """Bytes in powers of two: "384 KiB", "1.5 MiB"; below 1 KiB in bytes."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{value:,.0f} bytes"


def decimal_bytes(value: float, words: Sequence[str] = ()) -> str:
    """Bytes in powers of ten: "2.37 GB", "53.8 GB", with three significant digits or as many as asked for."""
    return _scaled(value, "B", "bytes", _digits(words))


def _scaled(value: float, unit: str, small: str, digits: int = 3) -> str:
    for letter, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if value >= size:
            return f"{significant(value / size, digits)} {letter}{unit}"
    return f"{significant(value, digits)} {small}"


def write(value: Value, filters: Sequence[Filter]) -> str:
    """The value in words and digits: plain text, not yet made safe for Markdown; a text value is returned as it is.

    Raises `ExpressionError` for an unknown filter or one that does not fit.
    """
    if value is None:
        return shown(UNKNOWN)
    if isinstance(value, str):
        return value
    if not filters:
        # A division gives 2304.0 where 2,304 is meant, and three digits of it would be wrong.
        return f"{int(value):,}" if float(value).is_integer() else significant(value)
    (only,) = filters
    return FILTERS[only.name].write(value, only.words)


def check_filters(filters: Sequence[Filter], kind: str | None) -> None:
    """Raise `ExpressionError` unless the filters exist, have their words, and fit a value of this kind (None: any)."""
    if len(filters) > 1:
        raise ExpressionError("only one filter may follow an expression")
    for one in filters:
        rule = FILTERS.get(one.name)
        if rule is None:
            raise ExpressionError(f"unknown filter `{one.name}`; there are {', '.join(sorted(FILTERS))}")
        if rule.optional and not all(word.isdecimal() and int(word) <= MOST_DIGITS for word in one.words):
            raise ExpressionError(f"the filter `{one.name}` takes a number of digits up to {MOST_DIGITS}")
        if len(one.words) != rule.n_words and (one.words or not rule.optional):
            raise ExpressionError(f"the filter `{one.name}` takes {rule.n_words} words, not {len(one.words)}")
        if kind is not None and kind not in rule.kinds:
            raise ExpressionError(f"the filter `{one.name}` is not for a {kind}")


def _exponent(value: float, digits: int) -> int:
    """Decimal exponent after rounding to so many digits, so that 999.9 counts as 1,000."""
    return int(f"{value:.{max(digits - 1, 0)}e}".partition("e")[2])


def _plural(value: float, words: Sequence[str]) -> str:
    return f"{value:,} {words[0] if value == 1 else words[1]}"


def _digits(words: Sequence[str], otherwise: int = 3) -> int:
    return int(words[0]) if words else otherwise


def _percent(value: float, words: Sequence[str]) -> str:
    return f"{value * 100:,.{_digits(words, 0)}f} %"


def _seconds(value: float, words: Sequence[str]) -> str:
    """A duration that an expression gives in seconds, in the unit that fits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{significant(value / size, _digits(words))} {unit}"
    return f"{significant(value * 1e9, _digits(words))} ns"


def _counted(value: float, words: Sequence[str]) -> str:
    """A large number in words: "26.9 billion"."""
    for counted, size in _LARGE:
        if value >= size:
            return shown(counted).format(n=significant(value / size, _digits(words)))
    return significant(value, _digits(words))


_LARGE = ((N_("{n} trillion"), 1e12), (N_("{n} billion"), 1e9), (N_("{n} million"), 1e6))
_RATE = N_("{n} tokens a second")
_TIMES = N_("{n} times")
_NUMBERS = frozenset({"count", "ratio"})

FILTERS: dict[str, FilterRule] = {
    "count": FilterRule(frozenset({"count"}), 0, lambda value, _: f"{value:,.0f}"),
    "plural": FilterRule(frozenset({"count"}), 2, _plural),
    "ms": FilterRule(frozenset({"time"}), 0, lambda value, _: milliseconds(value)),
    "s": FilterRule(frozenset({"time"}), 0, lambda value, _: f"{significant(value / 1e9)} s"),
    "bytes": FilterRule(frozenset({"bytes"}), 0, lambda value, _: binary_bytes(value)),
    "rate": FilterRule(frozenset({"rate"}), 0, lambda value, _: shown(_RATE).format(n=significant(value))),
    "times": FilterRule(_NUMBERS, 0, lambda value, _: shown(_TIMES).format(n=significant(value, 2))),
    "si_bytes": FilterRule(frozenset({"bytes"}), 1, decimal_bytes, optional=True),
    "bandwidth": FilterRule(
        frozenset({"bytes a second"}),
        1,
        lambda value, words: _scaled(value, "B/s", "bytes/s", _digits(words)),
        optional=True,
    ),
    "flops": FilterRule(
        frozenset({"operations a second"}),
        1,
        lambda value, words: _scaled(value, "FLOP/s", "operations/s", _digits(words)),
        optional=True,
    ),
    "seconds": FilterRule(frozenset({"ratio"}), 1, _seconds, optional=True),
    "percent": FilterRule(frozenset({"ratio"}), 1, _percent, optional=True),
    "large": FilterRule(_NUMBERS, 1, _counted, optional=True),
    "digits": FilterRule(_NUMBERS, 1, lambda value, words: significant(value, _digits(words)), optional=True),
    "fixed": FilterRule(
        _NUMBERS,
        1,
        lambda value, words: f"{value:,.{_digits(words, 0)}f}",
        optional=True,
    ),
}
