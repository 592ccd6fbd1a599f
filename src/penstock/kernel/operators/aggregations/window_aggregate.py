"""Folds a grouped stream per window. Node: ``topology.nodes.aggregations.window_aggregate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.expr.absent import AbsentFields
from penstock.kernel.executor import Executor, Forward, executes
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.operators.absent_fields import noting
from penstock.kernel.operators.aggregations.aggregate import make
from penstock.kernel.operators.aggregations.idle_time import watch_idle
from penstock.kernel.operators.tables.table_forwarder import TableForwarder
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.drop_reasons import EXPIRED_WINDOW
from penstock.model.rules.fold_rule import WINDOW_FOLD
from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.definitions import rule_of
from penstock.model.windows.windowed import Windowed
from penstock.processor.store_fold import StoreFold
from penstock.state.window.window_keys import shared_windows
from penstock.topology.nodes.aggregations.window_aggregate import WindowAggregate


@executes(WindowAggregate)
class WindowAggregateExecutor(Executor[WindowAggregate]):
    """Folds a record into every open window that contains it, earliest window first.

    ``WindowRule`` says which windows those are and which of them are closed. ``FoldRule`` says
    which records are dropped and which timestamp a row gets. Each closed window that a record
    misses counts as one drop.
    """

    def init(self) -> None:
        self.clock = OperatorClock()
        self._rule = rule_of(self.node.windows)
        self._store = self.task.store(self.node.store or "")
        if self.node.idle_ms is not None:
            watch_idle(self.task, self.node.name, self.clock, self.node.idle_ms, self._close_idle)
        self.process = self._process()  # type: ignore[assignment, method-assign]

    def _process(self) -> Forward:
        node, clock, rule = self.node, self.clock, self._rule
        starts, is_open = rule.starts, rule.is_open
        takes, drop_reason = WINDOW_FOLD.nulls.takes, WINDOW_FOLD.nulls.drop_reason
        emits_first, emits_last = node.emits_first, node.emit_final and not node.emits_first
        dropped, fold = self.task.dropped, self._fold()
        note = noting(AbsentFields.of_aggregator(node.fn), node.name, dropped)

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            if (key is None or value is None) and not takes(key is not None, value is not None):
                dropped(node.name, drop_reason)
                return
            if timestamp > clock.stream_time:
                clock.stream_time = timestamp
            if emits_first:
                # None of the windows that the record closes can take it.
                self._emit_closed(rule.close_time(clock.stream_time), headers)
            is_folded = False
            for start in starts(timestamp):
                if is_open(start, clock.stream_time):
                    fold(key, value, timestamp, headers, start)
                    is_folded = True
                else:
                    dropped(node.name, EXPIRED_WINDOW)
            if is_folded and note is not None:
                note(value)
            if emits_last:
                self._emit_closed(rule.close_time(clock.stream_time), headers)

        return process

    def _fold(self) -> Callable[[Any, Any, int, Headers, int], None]:
        node, forward, forward_at = self.node, self.forward, self.forward_at
        initializer, fn, sends_old = node.initializer, node.fn, node.sends_old
        in_window = None
        if isinstance(fn, StoreFold):
            in_window = fn.over_windows(self.task.store(fn.spec.name))
        read, write, is_newer = self._store.read, self._store.write, WINDOW_FOLD.is_newer
        window_from = shared_windows(node.windows.size_ms)
        # With final results, the cache has no listener: results are read when a window closes.
        is_silent = (
            node.emit_final or TableForwarder(self._store, self, sends_old=sends_old).is_cached
        )

        def fold(key: Any, value: Any, timestamp: int, headers: Headers, start: int) -> None:
            place, row = read(key, start)
            if row is None:
                old, newest = initializer(), timestamp
            else:
                old, newest = row
                if is_newer(timestamp, newest):
                    newest = timestamp
            new = fn(key, value, old) if in_window is None else in_window(key, value, old, start)
            row = None if new is None else make(ValueAndTimestamp, (new, newest))
            write(place, row, start)
            if is_silent:
                return
            windowed = Windowed(key, window_from(start))
            change = make(Change, (new, old if sends_old else None, True))
            if newest == timestamp:
                forward(windowed, change, timestamp, headers)
            else:
                forward_at(windowed, change, newest, headers)

        return fold

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
