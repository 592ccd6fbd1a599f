"""A histogram of latencies with buckets that grow by a fifth, for p50 and p99 of any span of time.

Two histograms of one counter can be subtracted, which leaves what happened in between.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Buckets per doubling: the error of a quantile is at most a tenth of its value.
_PER_DOUBLING = 4
#: How many values of one batch are looked at: more would cost time and tell nothing new.
MOST_SAMPLES = 256


@dataclass(frozen=True, slots=True)
class Latencies:
    """How many values there were, by bucket."""

    counts: Mapping[int, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.counts.values())

    def plus(self, other: Latencies) -> Latencies:
        both = dict(self.counts)
        for bucket, count in other.counts.items():
            both[bucket] = both.get(bucket, 0) + count
        return Latencies(both)

    def since(self, earlier: Latencies) -> Latencies:
        """Return what was added after an earlier state of the same counter."""
        left = {
            bucket: count - earlier.counts.get(bucket, 0) for bucket, count in self.counts.items()
        }
        return Latencies({bucket: count for bucket, count in left.items() if count > 0})

    def quantile(self, share: float) -> float | None:
        """Return the value below which a share of all values lies; None if there are none.

        >>> Latencies({bucket_of(10): 99, bucket_of(5_000): 1}).quantile(0.5)
        10.0
        """
        left = share * self.total
        if not self.counts:
            return None
        for bucket in sorted(self.counts):
            left -= self.counts[bucket]
            if left <= 0:
                return middle_of(bucket)
        return middle_of(max(self.counts))


NO_LATENCIES = Latencies()


def bucket_of(milliseconds: float) -> int:
    """Return the bucket of a value; a time that is not positive has bucket 0.

    >>> bucket_of(0.2), bucket_of(1), bucket_of(2), bucket_of(1000)
    (1, 4, 6, 40)
    """
    if milliseconds <= 0:
        return 0
    return max(round(math.log2(1 + milliseconds) * _PER_DOUBLING), 0)


def middle_of(bucket: int) -> float:
    """Return the value that stands for a bucket, with two digits that count."""
    value = 2 ** (bucket / _PER_DOUBLING) - 1
    return float(f"{value:.2g}")


def spread(values: Sequence[int]) -> Sequence[int]:
    """Return some of many values, evenly spread.

    >>> len(spread(range(100_000)))
    257
    """
    return values[:: max(len(values) // MOST_SAMPLES, 1)]


def sampled(chosen: Sequence[int], count: int) -> Latencies:
    """Return the histogram of ``count`` values, of which some were chosen."""
    if not chosen:
        return NO_LATENCIES
    weight = count / len(chosen)
    found: dict[int, float] = {}
    for value in chosen:
        bucket = bucket_of(value)
        found[bucket] = found.get(bucket, 0) + weight
    return Latencies(found)
