"""Folds a grouped stream per session. Node: ``topology.nodes.aggregations.session_aggregate``."""

from __future__ import annotations

from typing import Any

from penstock.expr.absent import AbsentFields
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operator_clock import NO_TIME, OperatorClock
from penstock.kernel.operators.absent_fields import noting
from penstock.kernel.operators.aggregations.idle_time import watch_idle
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.drop_reasons import EXPIRED_WINDOW, NOT_EMITTED
from penstock.model.windows.session_rule import SESSION_NULLS, SessionRule
from penstock.model.windows.windowed import Window, Windowed
from penstock.state.spec import StoreSpec
from penstock.topology.nodes.aggregations.session_aggregate import SessionAggregate


@executes(SessionAggregate)
class SessionAggregateExecutor(Executor[SessionAggregate]):
    """Merges a record with every session within the gap of it, earliest end first.

    ``SessionRule`` says which sessions those are and which of them are closed. A late record that
    is merged with an open session is accepted. Results have the session's end as timestamp and no
    headers, because a session belongs to many records.
    """

    def init(self) -> None:
        node = self.node
        self.clock = OperatorClock()
        self._rule = SessionRule(node.windows.gap_ms, node.windows.grace_ms)
        self._store = self.task.store(node.store or "")
        self._spec = self.task.store_spec(node.store or "")
        self._note = noting(AbsentFields.of_aggregator(node.fn), node.name, self.task.dropped)
        self._is_silent = node.emit_final or self._store.set_flush_listener(
            self._flushed, send_old=node.sends_old
        )
        if node.idle_ms is not None:
            watch_idle(self.task, node.name, self.clock, node.idle_ms, self._close_idle)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if not SESSION_NULLS.takes(key is not None, value is not None):
            self.task.dropped(self.node.name, SESSION_NULLS.drop_reason)
            return
        if self._note is not None:
            self._note(value)
        before = self.clock.stream_time
        close_time = self._rule.close_time(self.clock.advance(timestamp))
        if self.node.emits_first:
            self._emit_closed(close_time, headers)
        if self.node.emit_final and not self.node.emits_first:
            waiting = self._waiting(close_time) if forgets(self._spec, before, timestamp) else 0
            self._fold(key, value, timestamp, close_time)
            if waiting:
                self._count_forgotten(waiting - self._waiting(close_time))
            self._emit_closed(close_time, headers)
        else:
            self._fold(key, value, timestamp, close_time)

    def _fold(self, key: Any, value: Any, timestamp: int, close_time: int) -> None:
        node, store, rule = self.node, self._store, self._rule
        start = end = timestamp
        # Merging starts from the initializer. The record's own value is added at the end.
        aggregate = node.initializer()
        with store.find_sessions(key, *rule.neighbours(timestamp)) as found:
            sessions = list(found)
        for session, merged in sessions:
            aggregate = node.merger(key, aggregate, merged)
            start, end = rule.merged(start, end, session.start, session.end)
        if not rule.is_open(end, close_time):
            self.task.dropped(node.name, EXPIRED_WINDOW)
            return
        old = None
        for session, merged in sessions:
            if rule.replaces(start, end):
                store.remove(session)
                self._forward_update(session, None, merged)
            elif node.tells_old:
                old = merged
        aggregate = node.fn(key, value, aggregate)
        session = Windowed(key, Window(start, end))
        store.put(session, aggregate)
        self._forward_update(session, aggregate, old)

    def _waiting(self, close_time: int) -> int:
        """Return how many sessions have closed, are in the store, and have not been emitted."""
        ends = self._rule.closed_ends(close_time, self.clock.last_close_time)
        if not ends:
            return 0
        with self._store.find_sessions_ending(ends[0], ends[-1]) as found:
            return sum(1 for _ in found)

    def _count_forgotten(self, sessions: int) -> None:
        for _ in range(sessions):
            self.task.dropped(self.node.name, NOT_EMITTED)

    def _forward_update(self, session: Windowed[Any], new: Any, old: Any) -> None:
        if not self._is_silent:
            change = Change(new, old if self.node.sends_old else None)
            self.forward_at(session, change, session.window.end, ())

    def _flushed(
        self, session: Windowed[Any], new: Any, old: Any, timestamp: int, headers: Headers
    ) -> None:
        self.forward_at(session, Change(new, old), session.window.end, headers)

    def _close_idle(self, stream_time: int) -> None:
        self._emit_closed(self._rule.close_time(stream_time), ())

    def _emit_closed(self, close_time: int, headers: Headers) -> None:
        """Forward the sessions that have closed since the last time and are still in the store."""
        clock, task = self.clock, self.task
        if not clock.is_time_to_emit(close_time, task.system_time(), task.emit_interval_ms):
            return
        ends = self._rule.closed_ends(close_time, clock.last_close_time)
        if not ends:
            return
        with self._store.find_sessions_ending(ends[0], ends[-1]) as closed:
            for session, value in closed:
                self.forward_at(session, Change(value, None), session.window.end, headers)
        clock.last_close_time = close_time


def forgets(spec: StoreSpec, before: int, now: int) -> bool:
    """Return whether a store drops old sessions when stream time moves from before to now.

    Kafka Streams forwards sessions at their close after it has written the new record. If that
    record comes after a quiet period, the store has dropped them by then.
    """
    if before == NO_TIME or now <= before:
        return False
    retention, interval = spec.retention_ms, max(spec.segment_interval_ms, 1)
    return max(before - retention, 0) // interval < max(now - retention, 0) // interval
