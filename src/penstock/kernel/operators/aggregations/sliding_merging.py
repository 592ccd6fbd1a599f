"""The sliding windows of a batch, for ``sliding_aggregate_columns``.

Which windows a record makes depends on all records before. So this goes through the records of a
batch one by one, as the record executor does, but over numbers and states.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.folds.session_fold import Step
from penstock.model.rules.fold_rule import FOLD
from penstock.model.windows.sliding_rule import SlidingRule

#: The state of a window, and the time of its latest record.
Row = tuple[Any, int]
#: The number of a key and the start of a window.
Place = tuple[int, int]


class Update(NamedTuple):
    """What a record has done to a window. ``place`` is that of the record."""

    place: int
    window: Place
    state: Any
    old: Any
    timestamp: int


class SlidingMerging:
    """Folds records into the windows of their keys.

    ``oldest`` tells which windows the store shows at the start of its newest window. A cache shows
    all of them, so its store's time stays what it is.
    """

    def __init__(
        self,
        rule: SlidingRule,
        start: Callable[[], Any],
        step: Step,
        *,
        through: Callable[[Any], Any] | None,
        oldest: Callable[[int], int],
        store_time: int,
        is_cached: bool,
    ) -> None:
        self._rule = rule
        self._start = start
        self._step = step
        self._through = through
        self._oldest = oldest
        self._store_time = store_time
        self._is_cached = is_cached
        self._starts: dict[int, list[int]] = {}
        self._rows: dict[Place, Row] = {}
        self.updates: list[Update] = []
        #: How many windows were closed when a record would have changed them.
        self.late = 0

    def add(self, window: Place, row: Row) -> None:
        """Add a window that was there before the batch."""
        self._rows[window] = row
        insort(self._starts.setdefault(window[0], []), window[1])

    def run(self, records: Iterable[tuple[int, int, int]]) -> None:
        """Take records: the number of the key, the timestamp, and stream time."""
        for place, (key, timestamp, stream_time) in enumerate(records):
            arrival = _Arrival(place, key, timestamp, self._rule.close_time(stream_time))
            if self._rule.is_early(timestamp):
                self._process_early(arrival)
            else:
                self._process_backward(arrival)

    def _shown(self, key: int, first: int, last: int) -> list[tuple[int, Row]]:
        """Return the windows of a key that start in the span, earliest first."""
        starts = self._starts.get(key, [])
        if not self._is_cached:
            first = max(first, self._oldest(self._store_time))
        found = starts[bisect_left(starts, first) : bisect_right(starts, last)]
        return [(start, self._rows[key, start]) for start in found]

    def _process_backward(self, record: _Arrival) -> None:
        timestamp, rule = record.timestamp, self._rule
        left: Row | None = None
        right: Row | None = None
        previous: int | None = None
        has_left = has_right = False
        for start, row in reversed(self._shown(record.key, *rule.neighbours(timestamp))):
            record.starts.add(start)
            end = rule.end(start)
            if start == rule.right_start(timestamp):
                has_right = True
            elif end > timestamp:
                right = right or row
                self._update(record, start, row)
            elif end == timestamp:
                has_left = True
                self._update(record, start, row)
                if row[1] >= timestamp:
                    return
                previous = row[1]
            else:
                left, previous = row, row[1]
                break
        self._make_right_of_previous(record, previous)
        if not has_left:
            has_partner = rule.has_left_partner(timestamp, previous)
            before = left[0] if has_partner and left is not None else self._start()
            self._update(record, rule.left_start(timestamp), (before, timestamp))
        if not has_right:
            self._make_right(record, right)

    def _process_early(self, record: _Arrival) -> None:
        timestamp, right_start = record.timestamp, self._rule.right_start
        shared: Row | None = None
        right: Row | None = None
        previous: int | None = None
        has_right = False
        for start, row in self._shown(record.key, 0, right_start(timestamp)):
            record.starts.add(start)
            if start == 0:
                shared = row
                if row[1] < timestamp:
                    previous = row[1]
            elif start <= timestamp:
                right = row
                self._update(record, start, row)
            else:
                has_right = True
        if right is None and shared is not None and shared[1] > timestamp:
            right = shared
        if not has_right:
            self._make_right(record, right)
        if previous is not None and right_start(previous) not in record.starts:
            self._update(record, right_start(previous), (self._start(), timestamp))
        self._update(record, 0, shared or (self._start(), timestamp))

    def _make_right_of_previous(self, record: _Arrival, previous: int | None) -> None:
        if previous is None:
            return
        start = self._rule.right_start(previous)
        if start not in record.starts and self._rule.reaches(start, record.timestamp):
            self._update(record, start, (self._start(), record.timestamp))

    def _make_right(self, record: _Arrival, right: Row | None) -> None:
        if right is not None and right[1] > record.timestamp:
            self._put(record, self._rule.right_start(record.timestamp), right[0], None, right[1])

    def _update(self, record: _Arrival, start: int, row: Row) -> None:
        if not self._rule.is_open(start, record.close_time):
            self.late += 1
            return
        old, newest = row[0], record.timestamp
        if old is not None:
            newest = FOLD.result_time(newest, row[1])
        self._put(record, start, self._step(old, record.place), old, newest)

    def _put(self, record: _Arrival, start: int, state: Any, old: Any, newest: int) -> None:
        if state is None:
            raise NotProvenError("an aggregate is None")
        window = record.key, start
        self.updates.append(Update(record.place, window, state, old, newest))
        if not self._is_cached:
            self._store_time = max(self._store_time, start)
            if start < self._oldest(self._store_time):
                raise NotProvenError("a window expires while it takes records")
        if window not in self._rows:
            insort(self._starts.setdefault(record.key, []), start)
        self._rows[window] = (state if self._through is None else self._through(state), newest)


class _Arrival:
    """One record while it is added to the windows of its key."""

    __slots__ = ("close_time", "key", "place", "starts", "timestamp")

    def __init__(self, place: int, key: int, timestamp: int, close_time: int) -> None:
        self.place = place
        self.key = key
        self.timestamp = timestamp
        self.close_time = close_time
        #: The starts of the windows that were found.
        self.starts: set[int] = set()
