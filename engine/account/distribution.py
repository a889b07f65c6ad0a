"""Many measured values as a few, and the ranges by which they are grouped.

Percentiles are nearest-rank: always a value that was measured. `n` stands beside them, since the 99th percentile of
fifty values is simply the largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from engine.account.metrics import percentile


class Distribution(msgspec.Struct, frozen=True):
    """What is said of a list of values, in their own unit; everything but `n` is None without values."""

    n: int
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> Distribution:
        """Sum the values up."""
        if not values:
            return cls(0)
        ordered = sorted(values)
        p50, p90, p99 = (percentile(ordered, percent) for percent in (50, 90, 99))
        return cls(len(ordered), p50, p90, p99, ordered[0], ordered[-1], sum(ordered) / len(ordered))


class Bucket(msgspec.Struct, frozen=True):
    """Whole numbers from `low` to `high`, both included; `high` None is without end."""

    low: int
    high: int | None

    @property
    def name(self) -> str:
        """As a table writes it."""
        if self.high is None:
            return f"{self.low:,} and more"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


def bucket_of(value: int, tops: Sequence[int], low: int = 1) -> Bucket:
    """The range that holds `value`; `tops` are the ranges' last numbers, ascending, `low` the first range's first."""
    for top in tops:
        if value <= top:
            return Bucket(low, top)
        low = top + 1
    return Bucket(low, None)


def in_order(buckets: Iterable[Bucket]) -> list[Bucket]:
    """Ascending."""
    return sorted(buckets, key=lambda bucket: bucket.low)
