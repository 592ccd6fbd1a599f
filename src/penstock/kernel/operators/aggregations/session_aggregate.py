"""Folds a grouped stream per session. Node: ``nodes.aggregations.session_aggregate``."""

from __future__ import annotations

from typing import Any

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operator_clock import OperatorClock
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.windows.windowed import Window, Windowed
from penstock.topology.nodes.aggregations.session_aggregate import SessionAggregate


@executes(SessionAggregate)
class SessionAggregateExecutor(Executor[SessionAggregate]):
    """Merges a record with every session within the gap of it, earliest end first.

    A session includes its end and is closed once ``end < stream time - grace - gap``. A late
    record that bridges to an open session is accepted. Results carry the session's end as their
    timestamp, and no headers: a session belongs to many records.
    """

    def init(self) -> None:
        node = self.node
        self.clock = OperatorClock()
        self._gap_ms = node.windows.gap_ms
        self._wait_ms = node.windows.gap_ms + node.windows.grace_ms
        self._store = self.task.store(node.store or "")
        self._is_silent = node.emit_final or self._store.set_flush_listener(
            self._flushed, send_old=node.sends_old
        )

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if key is None:
            self.task.dropped(self.node.name, "null-key")
            return
        close_time = self.clock.advance(timestamp) - self._wait_ms
        self._fold(key, value, timestamp, close_time)
        if self.node.emit_final:
            self._emit_closed(close_time, headers)

    def _fold(self, key: Any, value: Any, timestamp: int, close_time: int) -> None:
        node, store, gap_ms = self.node, self._store, self._gap_ms
        start = end = timestamp
        # Merging starts from the initializer, and comes before the record's own value.
        aggregate = node.initializer()
        with store.find_sessions(key, max(0, timestamp - gap_ms), timestamp + gap_ms) as found:
            sessions = list(found)
        for session, merged in sessions:
            aggregate = node.merger(key, aggregate, merged)
            start, end = min(start, session.window.start), max(end, session.window.end)
        if end < close_time:
            self.task.dropped(node.name, "expired-window")
            return
        # A session of this very record's timestamp alone is overwritten, not replaced.
        if start != end:
            for session, merged in sessions:
                store.remove(session)
                self._forward_update(session, None, merged)
        aggregate = node.fn(key, value, aggregate)
        session = Windowed(key, Window(start, end))
        store.put(session, aggregate)
        self._forward_update(session, aggregate, None)

    def _forward_update(self, session: Windowed[Any], new: Any, old: Any) -> None:
        if not self._is_silent:
            change = Change(new, old if self.node.sends_old else None)
            self.forward_at(session, change, session.window.end, ())

    def _flushed(
        self, session: Windowed[Any], new: Any, old: Any, timestamp: int, headers: Headers
    ) -> None:
        self.forward_at(session, Change(new, old), session.window.end, headers)

    def _emit_closed(self, close_time: int, headers: Headers) -> None:
        """Forwards the sessions that closed since the last time, as far as the store has them."""
        clock, task = self.clock, self.task
        if not clock.is_time_to_emit(close_time, task.system_time(), task.emit_interval_ms):
            return
        first_end, last_end = max(0, clock.last_close_time), close_time - 1
        if last_end < first_end:
            return
        with self._store.find_sessions_ending(first_end, last_end) as closed:
            for session, value in closed:
                self.forward_at(session, Change(value, None), session.window.end, headers)
        clock.last_close_time = close_time
