"""Folds a grouped stream per sliding window.

Node: ``topology.nodes.aggregations.sliding_aggregate``.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.expr.absent import AbsentFields
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.operators.absent_fields import noting
from penstock.kernel.operators.aggregations.idle_time import watch_idle
from penstock.kernel.operators.tables.table_forwarder import TableForwarder
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.drop_reasons import EXPIRED_WINDOW
from penstock.model.rules.fold_rule import FOLD
from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.sliding_rule import SLIDING_NULLS, SlidingRule
from penstock.model.windows.windowed import Window, Windowed
from penstock.topology.nodes.aggregations.sliding_aggregate import SlidingAggregate


class _Arrival:
    """One record while it is added to the windows of its key.

    A record at time ``t`` has a left window, which ends at ``t``, and a right window, which starts
    at ``t + 1``. All other windows around it were made by records near it.
    """

    __slots__ = ("close_time", "headers", "key", "starts", "timestamp", "value")

    def __init__(
        self, key: Any, value: Any, timestamp: int, headers: Headers, close_time: int
    ) -> None:
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers
        self.close_time = close_time
        #: The starts of the windows that were found in the store.
        self.starts: set[int] = set()


@executes(SlidingAggregate)
class SlidingAggregateExecutor(Executor[SlidingAggregate]):
    """Keeps one window per distinct set of records at most ``difference_ms`` apart.

    ``SlidingRule`` says which windows a record needs and which of them are closed. The timestamp of
    a stored window is that of its latest record. It tells which windows a new record makes.
    """

    def init(self) -> None:
        node = self.node
        self.clock = OperatorClock()
        self._rule = SlidingRule(node.windows.difference_ms, node.windows.grace_ms)
        self._store = self.task.store(node.store or "")
        self._note = noting(AbsentFields.of_aggregator(node.fn), node.name, self.task.dropped)
        self._is_silent = (
            node.emit_final or TableForwarder(self._store, self, sends_old=node.sends_old).is_cached
        )
        if node.idle_ms is not None:
            watch_idle(self.task, node.name, self.clock, node.idle_ms, self._close_idle)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if not SLIDING_NULLS.takes(key is not None, value is not None):
            self.task.dropped(self.node.name, SLIDING_NULLS.drop_reason)
            return
        close_time = self._rule.close_time(self.clock.advance(timestamp))
        if not self._rule.is_open(timestamp, close_time):
            self.task.dropped(self.node.name, EXPIRED_WINDOW)
            return
        if self._note is not None:
            self._note(value)
        record = _Arrival(key, value, timestamp, headers, close_time)
        if self._rule.is_early(timestamp):
            # Such a record emits no final result: no window can have closed before it.
            self._process_early(record)
            return
        if self.node.emits_first:
            self._emit_closed(close_time, headers)
        self._process_backward(record)
        if self.node.emit_final and not self.node.emits_first:
            self._emit_closed(close_time, headers)

    def _process_backward(self, record: _Arrival) -> None:
        """Update the windows that contain the record, latest first, then make missing ones."""
        timestamp, rule = record.timestamp, self._rule
        left: Any = None
        right: Any = None
        previous: int | None = None
        has_left = has_right = False
        with self._store.backward_fetch(record.key, *rule.neighbours(timestamp)) as windows:
            for start, row in windows:
                record.starts.add(start)
                end = rule.end(start)
                if start == rule.right_start(timestamp):
                    has_right = True
                elif end > timestamp:
                    if right is None:
                        right = row
                    self._update(record, start, row)
                elif end == timestamp:
                    has_left = True
                    self._update(record, start, row)
                    if row.timestamp >= timestamp:
                        # Another record had this timestamp, and made all windows of it.
                        return
                    previous = row.timestamp
                else:
                    left, previous = row, row.timestamp
                    break
        self._make_right_of_previous(record, previous)
        if not has_left:
            has_partner = rule.has_left_partner(timestamp, previous)
            before = left.value if has_partner else self.node.initializer()
            self._update(record, rule.left_start(timestamp), _row(before, timestamp))
        if not has_right:
            self._make_right(record, right)

    def _process_early(self, record: _Arrival) -> None:
        """Add a record whose left window would start before 0.

        All such records share the window that starts at 0.
        """
        timestamp, right_start = record.timestamp, self._rule.right_start
        shared: Any = None
        right: Any = None
        previous: int | None = None
        has_right = False
        with self._store.fetch(record.key, 0, right_start(timestamp)) as windows:
            for start, row in windows:
                record.starts.add(start)
                if start == 0:
                    shared = row
                    if row.timestamp < timestamp:
                        previous = row.timestamp
                elif start <= timestamp:
                    right = row
                    self._update(record, start, row)
                else:
                    has_right = True
        if right is None and shared is not None and shared.timestamp > timestamp:
            # The shared window has only later records, so its value is that of the right window.
            right = shared
        if not has_right:
            self._make_right(record, right)
        if previous is not None and right_start(previous) not in record.starts:
            self._update(record, right_start(previous), _row(self.node.initializer(), timestamp))
        if shared is None:
            shared = _row(self.node.initializer(), timestamp)
        self._update(record, 0, shared)

    def _make_right_of_previous(self, record: _Arrival, previous: int | None) -> None:
        if previous is None:
            return
        start = self._rule.right_start(previous)
        if start not in record.starts and self._rule.reaches(start, record.timestamp):
            self._update(record, start, _row(self.node.initializer(), record.timestamp))

    def _make_right(self, record: _Arrival, right: Any) -> None:
        """Make the record's right window from one that overlaps it, if there are records in it."""
        if right is not None and right.timestamp > record.timestamp:
            start = self._rule.right_start(record.timestamp)
            self._store.put(record.key, right, start)
            self._forward_update(record, start, right.value, None, right.timestamp)

    def _update(self, record: _Arrival, start: int, row: Any) -> None:
        """Fold the record into a window; if the window is closed, count a drop instead."""
        if not self._rule.is_open(start, record.close_time):
            self.task.dropped(self.node.name, EXPIRED_WINDOW)
            return
        if self._rule.difference_ms == 0:
            raise InvalidArgumentError(
                "bad-window",
                f"node {self.node.name!r}: windows with a time difference of 0 ms hold nothing",
                fix="give a time difference of 1 ms or more",
                at=self.node.site,
            )
        old = None if row is None else row.value
        newest = record.timestamp
        if old is not None:
            newest = FOLD.result_time(newest, row.timestamp)
        new = self.node.fn(record.key, record.value, old)
        self._store.put(record.key, _row(new, newest), start)
        self._forward_update(record, start, new, old, newest)

    def _forward_update(
        self, record: _Arrival, start: int, new: Any, old: Any, timestamp: int
    ) -> None:
        if not self._is_silent:
            windowed = Windowed(record.key, Window(start, self._rule.end(start)))
            change = Change(new, old if self.node.sends_old else None)
            self.forward_at(windowed, change, timestamp, record.headers)

    def _close_idle(self, stream_time: int) -> None:
        self._emit_closed(self._rule.close_time(stream_time), ())

    def _emit_closed(self, close_time: int, headers: Headers) -> None:
        """Forward the windows that have closed since the last time and are still in the store."""
        task = self.task
        now, interval_ms = task.system_time(), task.emit_interval_ms
        starts = self.clock.newly_closed(self._rule, close_time, now, interval_ms)
        if starts:
            with self._store.fetch_all(starts[0], starts[-1]) as closed:
                for windowed, (value, timestamp) in closed:
                    self.forward_at(windowed, Change(value, None), timestamp, headers)


def _row(value: Any, timestamp: int) -> ValueAndTimestamp | None:
    return None if value is None else ValueAndTimestamp(value, timestamp)
