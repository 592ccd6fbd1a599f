"""Records of a left or outer join that wait for a partner, for ``stream_join_columns``.

Which of them are emitted, and when, depends on all records before. So this goes through the records
of a batch one by one, as the record executor does, but over numbers and bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sortedcontainers import SortedDict

from penstock.kernel.columns.effects import Effects
from penstock.kernel.services import JoinClock
from penstock.model.rules.stream_join_rule import StreamJoinRule
from penstock.model.time.duration import MAX_LONG
from penstock.state.buffer.outer_join import (
    BulkWaiting,
    appended,
    items_of,
    split_waiting_key,
    waiting_key,
)


class Row(NamedTuple):
    """One record that looks for partners. ``place`` is its place among those of its side."""

    is_left: bool
    place: int
    timestamp: int
    last_partner: int
    stream_time: int
    #: ``None`` if it has no key, so that it never has a partner.
    key: bytes | None
    data: bytes
    #: The range of its pairs among those of its side.
    first_pair: int
    after_pairs: int


class Closed(NamedTuple):
    """A record that is emitted because its window has closed, and the row that has closed it."""

    timestamp: int
    is_left: bool
    key: bytes
    data: bytes
    by: Row


@dataclass(slots=True)
class Results:
    """What is emitted: each result has its number in the order of all results of the batch."""

    count: int = 0
    #: By side: numbers of results, and of pairs.
    pairs: dict[bool, list[tuple[int, int]]] = field(default_factory=lambda: {True: [], False: []})
    #: By side: numbers of results, and places of records without a partner.
    alone: dict[bool, list[tuple[int, int]]] = field(default_factory=lambda: {True: [], False: []})
    closed: list[tuple[int, Closed]] = field(default_factory=list)

    def next(self) -> int:
        self.count += 1
        return self.count - 1


class Waiting:
    """The records that wait, as the batch leaves them after each of its records."""

    def __init__(
        self, rules: dict[bool, StreamJoinRule], clock: JoinClock, now: int, interval_ms: int
    ) -> None:
        self._rules = rules
        self._min_time = clock.min_time
        self._next_time = clock.next_time_to_emit
        self._clock = clock
        self._now = now
        self._interval_ms = interval_ms
        self._rows: BulkWaiting | None = None
        self._held: SortedDict[bytes, bytes] = SortedDict()
        self._writes: list[tuple[bytes, bytes | None, int]] = []
        self.results = Results()

    def load(self, rows: BulkWaiting) -> None:
        self._rows = rows
        self._held.update(rows.read())

    def take(self, row: Row, other_times: list[int]) -> None:
        """Take the next record. ``other_times`` are the times of its partners, one per pair."""
        rule, results = self._rules[row.is_left], self.results
        if row.key is None:
            results.alone[row.is_left].append((results.next(), row.place))
            return
        if self._rows is not None and row.timestamp == row.stream_time:
            self._emit_closed(row, rule)
        if row.first_pair < row.after_pairs:
            pairs = results.pairs[row.is_left]
            for pair, time in zip(range(row.first_pair, row.after_pairs), other_times, strict=True):
                if self._held:
                    self._forget(waiting_key(time, not row.is_left, row.key), row.timestamp)
                pairs.append((results.next(), pair))
        elif rule.is_outer:
            if self._rows is None or not rule.waits(row.last_partner, row.stream_time):
                results.alone[row.is_left].append((results.next(), row.place))
            else:
                self._hold(row, row.key)

    def _hold(self, row: Row, key: bytes) -> None:
        self._min_time = min(self._min_time, row.timestamp)
        place = waiting_key(row.timestamp, row.is_left, key)
        data = appended(self._held.get(place), bytes([row.is_left]) + row.data)
        self._held[place] = data
        self._writes.append((place, data, row.timestamp))

    def _forget(self, place: bytes, timestamp: int) -> None:
        if place in self._held:
            del self._held[place]
            self._writes.append((place, None, timestamp))

    def _emit_closed(self, row: Row, rule: StreamJoinRule) -> None:
        """Emit what has waited long enough, as ``StreamJoinExecutor`` does."""
        if rule.is_open(self._min_time, row.stream_time, of_left=row.is_left):
            return
        if self._now < self._next_time:
            return
        self._next_time = self._now + self._interval_ms
        self._min_time = MAX_LONG
        open_sides: set[bool] = set()
        emitted: list[bytes] = []
        for place, timestamp, is_left, key, data in self._entries():
            self._min_time = timestamp
            if len(open_sides) == 2:
                break
            if rule.is_open(timestamp, row.stream_time, of_left=is_left):
                open_sides.add(is_left)
                continue
            closed = Closed(timestamp, is_left, key, data, row)
            self.results.closed.append((self.results.next(), closed))
            if not emitted or emitted[-1] != place:
                emitted.append(place)
        for place in emitted:
            self._forget(place, row.timestamp)

    def _entries(self) -> Iterator[tuple[bytes, int, bool, bytes, bytes]]:
        for place, data in self._held.items():
            timestamp, _, key = split_waiting_key(place)
            for item in items_of(data):
                yield place, timestamp, item[0] == 1, key, item[1:]

    def finish(self, effects: Effects) -> None:
        """Write what has changed, and set the clock."""
        effects.add(self._apply)

    def _apply(self) -> None:
        self._clock.min_time = self._min_time
        self._clock.next_time_to_emit = self._next_time
        if self._rows is not None and self._writes:
            self._rows.write(self._writes)
