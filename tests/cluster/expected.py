"""The output that the application must write, computed in plain Python from the input topics."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.cluster.feeder import CLOSER
from tests.cluster.topology import AMOUNTS, JOIN_WINDOW_MS, LEFT, LINES, RIGHT, SUMMARY_MS


class LogRecord(NamedTuple):
    """One record of a topic. Lists of them keep the order of each partition's log."""

    partition: int
    timestamp: int
    key: bytes
    value: bytes | None

    @property
    def name(self) -> str:
        return self.key.decode()

    @property
    def text(self) -> str:
        assert self.value is not None
        return self.value.decode()

    @property
    def number(self) -> int:
        assert self.value is not None
        return to_number(self.value)


@dataclass(frozen=True)
class Expected:
    """The one right outcome of a run. ``optional_summaries`` may be there or not."""

    counts: dict[str, list[int]]
    pairs: Counter[str]
    sums: dict[str, list[int]]
    summaries: dict[str, list[int]]
    optional_summaries: frozenset[str]
    left: Counter[str]
    right: Counter[str]


def to_number(value: bytes) -> int:
    """Read Kafka's long; the last eight bytes, because stores may put a timestamp before it."""
    return int(struct.unpack(">q", value[-8:])[0])


def compute(inputs: Mapping[str, Sequence[LogRecord]]) -> Expected:
    """Compute the outcome that the records of the input topics ask for."""
    words = Counter(word for record in inputs[LINES] for word in record.text.split())
    stretches, closing = _stretches(inputs[AMOUNTS])
    return Expected(
        counts={word: list(range(1, count + 1)) for word, count in words.items()},
        pairs=_pairs(inputs[LEFT], inputs[RIGHT]),
        sums=_sums(inputs[AMOUNTS]),
        summaries={name: [count] for name, count in stretches.items() if name not in closing},
        optional_summaries=frozenset(closing),
        left=Counter(record.text for record in inputs[LEFT]),
        right=Counter(record.text for record in inputs[RIGHT]),
    )


def _pairs(left: Iterable[LogRecord], right: Iterable[LogRecord]) -> Counter[str]:
    """Count each pair of records with one key whose event times are close enough."""
    by_key: dict[bytes, list[LogRecord]] = defaultdict(list)
    for record in right:
        by_key[record.key].append(record)
    for records in by_key.values():
        records.sort(key=lambda record: record.timestamp)
    found: Counter[str] = Counter()
    for one in left:
        others = by_key.get(one.key, [])
        first = bisect_left(others, one.timestamp - JOIN_WINDOW_MS, key=_timestamp)
        after = bisect_right(others, one.timestamp + JOIN_WINDOW_MS, key=_timestamp)
        found.update(f"{one.text}+{other.text}" for other in others[first:after])
    return found


def _sums(amounts: Iterable[LogRecord]) -> dict[str, list[int]]:
    sums: dict[str, list[int]] = defaultdict(list)
    for record in amounts:
        so_far = sums[record.name]
        so_far.append((so_far[-1] if so_far else 0) + record.number)
    return dict(sums)


def _stretches(amounts: Iterable[LogRecord]) -> tuple[Counter[str], set[str]]:
    """Count the records of each stretch of stream time, and name those of closing records."""
    stream_time: dict[int, int] = defaultdict(int)
    counts: Counter[str] = Counter()
    closing = set()
    for record in amounts:
        now = max(stream_time[record.partition], record.timestamp)
        stream_time[record.partition] = now
        name = f"{record.partition}@{now // SUMMARY_MS}"
        counts[name] += 1
        if record.name.startswith(CLOSER):
            closing.add(name)
    return counts, closing


def _timestamp(record: LogRecord) -> int:
    return record.timestamp
