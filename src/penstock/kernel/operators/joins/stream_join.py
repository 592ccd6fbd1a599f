"""Joins two streams within a window of time. Node: ``topology.nodes.joins.stream_join``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.operators.joins.joiner import join_of
from penstock.model.record import Headers
from penstock.model.rules.stream_join_rule import StreamJoinRule
from penstock.model.time.duration import MAX_LONG
from penstock.state.buffer.outer_join import OuterJoinKey, OuterJoinStore
from penstock.topology.nodes.joins.stream_join import StreamJoin, StreamJoinWindow, StreamSelfJoin


@executes(StreamJoinWindow)
class StreamJoinWindowExecutor(Executor[StreamJoinWindow]):
    """Stores a record for the other side after it was joined, so that it never finds itself.

    Null values are written, too, as in Kafka Streams. In a store that keeps duplicates, a null
    value changes nothing.
    """

    def init(self) -> None:
        self._put = self.task.store(self.node.store).put

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        self.forward(key, value, timestamp, headers)
        if key is not None:
            self._put(key, value, timestamp)


@executes(StreamJoin)
class StreamJoinExecutor(Executor[StreamJoin]):
    """Finds the partners of this side's records in the other side's window store.

    In a left or outer join, a record without a partner waits in the outer store until its window
    has closed. If a partner comes in time, the record is deleted there. Before a side joins a
    record that moves stream time, it emits the waiting records of both sides whose windows have
    closed.
    """

    def init(self) -> None:
        node = self.node
        self._fetch = self.task.store(node.other_store).fetch
        self._outer_store: OuterJoinStore | None = (
            None if node.outer_store is None else self.task.store(node.outer_store)
        )
        self._clock = self.task.join_clock(node.clock)
        self._join = join_of(node.joiner, with_key=node.with_key, is_left=node.is_left)
        self._is_left = node.is_left
        self._rule = StreamJoinRule.of(node.windows, is_left=node.is_left, is_outer=node.outer)
        self._nulls = self._rule.nulls

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        clock = self._clock
        clock.stream_time = max(clock.stream_time, timestamp)
        if key is None or value is None:
            if self._nulls.takes(key is not None, value is not None):
                # Without a key there will never be a partner, so there is nothing to wait for.
                self.forward(key, self._join(key, value, None), timestamp, headers)
            else:
                self.task.dropped(self.node.name, self._nulls.drop_reason)
            return
        if self._outer_store is not None and timestamp == clock.stream_time:
            self._emit_closed(self._outer_store, headers)
        start, end = self._rule.partners(timestamp)
        with self._fetch(key, start, end) as others:
            is_unmatched = True
            for time, other in others:
                is_unmatched = False
                self._matched(key, value, timestamp, time, other, headers)
        if is_unmatched and self._rule.is_outer:
            self._unmatched(key, value, timestamp, end, headers)

    def _matched(
        self, key: Any, value: Any, timestamp: int, time: int, other: Any, headers: Headers
    ) -> None:
        if self._outer_store is not None:
            self._outer_store.delete_if_present((time, not self._is_left, key))
        joined = self._join(key, value, other)
        self.forward_at(key, joined, self._rule.result_time(timestamp, time), headers)

    def _unmatched(self, key: Any, value: Any, timestamp: int, end: int, headers: Headers) -> None:
        clock = self._clock
        if self._outer_store is None or not self._rule.waits(end, clock.stream_time):
            # Its window has closed already, so no partner can come.
            self.forward(key, self._join(key, value, None), timestamp, headers)
        else:
            clock.min_time = min(clock.min_time, timestamp)
            self._outer_store.put((timestamp, self._is_left, key), (self._is_left, value))

    def _emit_closed(self, store: OuterJoinStore, headers: Headers) -> None:
        """Emit the waiting records whose windows have closed, under their own key and timestamp.

        They are sorted by timestamp, so a side is done at its first open window. Each call scans
        the store, so it runs not more often than the emit interval says.
        """
        clock, now, rule = self._clock, self.task.system_time(), self._rule
        if rule.is_open(clock.min_time, clock.stream_time, of_left=self._is_left):
            return
        if now < clock.next_time_to_emit:
            return
        clock.next_time_to_emit = now + self.task.emit_interval_ms
        clock.min_time = MAX_LONG
        open_sides: set[bool] = set()
        emitted: OuterJoinKey | None = None
        with store.all() as waiting:
            for entry, (is_left, value) in waiting:
                clock.min_time = entry[0]
                if len(open_sides) == 2:
                    break
                if rule.is_open(entry[0], clock.stream_time, of_left=is_left):
                    open_sides.add(is_left)
                    continue
                self._emit(entry, is_left, value, headers)
                # Deleting a key deletes all of its values, so all are emitted first. What was
                # emitted before a record that the joiner fails on must not be emitted again.
                if emitted is not None and emitted != entry:
                    store.put(emitted, None)
                emitted = entry
        if emitted is not None:
            store.put(emitted, None)

    def _emit(self, entry: OuterJoinKey, is_left: bool, value: Any, headers: Headers) -> None:
        timestamp, _, key = entry
        is_own = is_left is self._is_left
        joined = self._join(key, value, None) if is_own else self._join(key, None, value)
        self.forward_at(key, joined, timestamp, headers)


@executes(StreamSelfJoin)
class StreamSelfJoinExecutor(Executor[StreamSelfJoin]):
    """Finds the partners of a record in both directions, as the two sides of a join would.

    The record is not in the store yet, so its pair with itself is made here. It comes before the
    first partner that is later, which is the order of a join with two stores. A record that is too
    old for the store is not joined with itself.
    """

    def init(self) -> None:
        node = self.node
        self._fetch = self.task.store(node.store).fetch
        self._join = join_of(node.joiner, with_key=node.with_key)
        self._left = StreamJoinRule.of(node.windows)
        self._right = StreamJoinRule.of(node.windows, is_left=False)
        self._nulls = self._left.nulls
        self.clock = OperatorClock()

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if not self._nulls.takes(key is not None, value is not None):
            self.task.dropped(self.node.name, self._nulls.drop_reason)
            return
        join, forward_at = self._join, self.forward_at
        itself = join(key, value, value)
        is_pending = self._left.is_kept(timestamp, self.clock.advance(timestamp))
        result_time = self._left.result_time
        with self._fetch(key, *self._left.partners(timestamp)) as others:
            for time, other in others:
                forward_at(key, join(key, value, other), result_time(timestamp, time), headers)
        with self._fetch(key, *self._right.partners(timestamp)) as others:
            for time, other in others:
                if is_pending and time > timestamp:
                    is_pending = False
                    self.forward(key, itself, timestamp, headers)
                forward_at(key, join(key, other, value), result_time(timestamp, time), headers)
        if is_pending:
            self.forward(key, itself, timestamp, headers)
