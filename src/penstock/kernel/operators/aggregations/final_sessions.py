"""Tells which sessions close in a batch, and at which record, for sessions over columns.

Record executors ask their stores before or after each record. A session that has closed may still
be merged with an open one. So this follows the changes of a batch record by record.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from penstock.kernel.operator_clock import NO_TIME, OperatorClock
from penstock.kernel.operators.aggregations.session_merging import GONE, AllChanges, Session
from penstock.model.windows.session_rule import SessionRule
from penstock.state.layers.bulk_sessions import BulkSessions


class Left(NamedTuple):
    """A session that leaves at the record of a place: with its bytes in the store, or its state."""

    place: int
    key: bytes
    start: int
    end: int
    stored: bytes | None
    state: Any


class Emitting(NamedTuple):
    """When final results leave. ``forgets`` tells whether a store drops sessions between times."""

    rule: SessionRule
    emits_first: bool
    now: int
    interval_ms: int
    forgets: Callable[[int, int], bool]


class FinalChanges(AllChanges):
    """All changes of a batch, and what has closed meanwhile.

    Args:
        rows: the sessions of the store.
        retention_ms: how long it keeps them.
        keys: the bytes of the keys, by their numbers.
        clock: that of the node as it was before the batch. ``self.clock`` is a copy, which moves.
        last_time: stream time after the batch.
    """

    def __init__(
        self,
        rows: BulkSessions,
        retention_ms: int,
        keys: Sequence[bytes],
        clock: OperatorClock,
        emitting: Emitting,
        last_time: int,
    ) -> None:
        super().__init__(rows.stream_time, retention_ms)
        self.left: list[Left] = []
        #: How many sessions were dropped by the store before they could leave.
        self.forgotten = 0
        self.clock = OperatorClock()
        self.clock.last_close_time = clock.last_close_time
        self.clock.next_time_to_emit = clock.next_time_to_emit
        self._time_before = clock.stream_time
        self._emitting = emitting
        self._rows = rows
        self._keys = keys
        self._store_time = rows.stream_time
        self._states: dict[Session, Any] = {}
        #: End, number of the key and start of these sessions, in their order.
        self._changed: list[tuple[int, int, int]] = []
        ends = emitting.rule.closed_ends(emitting.rule.close_time(last_time), clock.last_close_time)
        #: What may leave of the sessions that were there before.
        self._stored = sorted(rows.ending(ends[0], ends[-1]), key=_end_of) if ends else []
        self._numbers = {key: number for number, key in enumerate(keys)}

    def put(self, place: int, session: Session, state: Any, old: Any) -> None:
        super().put(place, session, state, old)
        self._store_time = max(self._store_time, session[2])
        self._note(session, state)

    def remove(self, place: int, session: Session, state: Any) -> None:
        super().remove(place, session, state)
        self._note(session, GONE)

    def _note(self, session: Session, state: Any) -> None:
        if session not in self._states:
            code, start, end = session
            insort(self._changed, (end, code, start))
        self._states[session] = state

    def watched(self, records: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
        """Yield records, each a key, a timestamp and stream time; see what closes around each."""
        rule, emits_first, _, _, forgets = self._emitting
        before = self._time_before
        for place, record in enumerate(records):
            stream_time = record[2]
            close_time = rule.close_time(stream_time)
            if emits_first:
                self._emit(place, close_time)
                yield record
            else:
                is_moved = before != NO_TIME and record[1] > before
                waiting = 0
                if is_moved and forgets(before, record[1]):
                    waiting = self._waiting(close_time)
                yield record
                if waiting:
                    self.forgotten += max(0, waiting - self._waiting(close_time))
                self._emit(place, close_time)
            before = stream_time

    def _emit(self, place: int, close_time: int) -> None:
        _, _, now, interval_ms, _ = self._emitting
        if not self.clock.is_time_to_emit(close_time, now, interval_ms):
            return
        ends = self._emitting.rule.closed_ends(close_time, self.clock.last_close_time)
        if ends:
            self.left += self._rows.in_ending_order(self._ending(place, ends))
            self.clock.last_close_time = close_time

    def _waiting(self, close_time: int) -> int:
        ends = self._emitting.rule.closed_ends(close_time, self.clock.last_close_time)
        return sum(1 for _ in self._ending(0, ends))

    def _ending(self, place: int, ends: range) -> Iterator[Left]:
        """Yield the sessions that the store has now and that end in the span, in any order."""
        first, after = max(ends.start, self._rows.oldest_kept(self._store_time)), ends.stop
        stored, changed = self._stored, self._changed
        for key, start, end, data in stored[
            bisect_left(stored, first, key=_end_of) : bisect_left(stored, after, key=_end_of)
        ]:
            number = self._numbers.get(key)
            if number is None or (number, start, end) not in self._states:
                yield Left(place, key, start, end, data, None)
        for end, code, start in changed[
            bisect_left(changed, (first,)) : bisect_left(changed, (after,))
        ]:
            state = self._states[code, start, end]
            if state is not GONE:
                yield Left(place, self._keys[code], start, end, None, state)


def _end_of(entry: tuple[bytes, int, int, bytes]) -> int:
    return entry[2]
