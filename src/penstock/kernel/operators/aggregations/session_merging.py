"""The sessions of a batch, for ``session_aggregate_columns``.

Which sessions a record is merged with depends on all records before. So this goes through the
records of a batch one by one, as the record executor does, but over numbers and states.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.folds.column_folds import Through
from penstock.kernel.columns.folds.session_fold import Merge, Step
from penstock.model.rules.table_rule import LastRows
from penstock.model.windows.session_rule import SessionRule

#: Stands for the state of a session that another one has taken the place of.
GONE: Final = object()

#: The number of a key, start and end.
Session = tuple[int, int, int]


class Stored(NamedTuple):
    """A session that was there before the batch."""

    session: Session
    state: Any


class Update(NamedTuple):
    """What a record has done to a session. ``place`` is that of the record."""

    place: int
    session: Session
    state: Any
    old: Any


class _OfKey:
    """The sessions of one key. They do not overlap, so all three lists have the same order."""

    __slots__ = ("ends", "starts", "states")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.states: list[Any] = []

    def between(self, earliest_end: int, latest_start: int) -> tuple[int, int]:
        """Return the place of the first session of a span, and that behind its last one."""
        starts = self.starts
        first = after = bisect_left(self.ends, earliest_end)
        while after < len(starts) and starts[after] <= latest_start:
            after += 1
        return first, after

    def put(self, first: int, after: int, start: int, end: int, state: Any) -> None:
        """Put one session in the place of these, which may be none."""
        self.starts[first:after] = (start,)
        self.ends[first:after] = (end,)
        self.states[first:after] = (state,)


class LastChanges:
    """What a cache keeps of a batch: the last change of each session, in the order of changes."""

    def __init__(self) -> None:
        self.rows: LastRows[Session, tuple[int, Any]] = LastRows()

    def put(self, place: int, session: Session, state: Any, old: Any) -> None:
        self.rows.put(session, (place, state))

    def remove(self, place: int, session: Session, state: Any) -> None:
        self.rows.put(session, (place, GONE))

    def oldest_end(self) -> int:
        """Return 0: a cache hides nothing."""
        return 0


class AllChanges:
    """All changes of a batch, in a store without a cache. Every write may hide old sessions."""

    def __init__(self, stream_time: int, retention_ms: int) -> None:
        self.updates: list[Update] = []
        self._oldest_end = stream_time - retention_ms + 1
        self._retention_ms = retention_ms

    def put(self, place: int, session: Session, state: Any, old: Any) -> None:
        self.updates.append(Update(place, session, state, old))
        self._oldest_end = max(self._oldest_end, session[2] - self._retention_ms + 1)

    def remove(self, place: int, session: Session, state: Any) -> None:
        self.updates.append(Update(place, session, GONE, state))

    def oldest_end(self) -> int:
        return self._oldest_end


class Merged(NamedTuple):
    """All states that were stored, and the number of records that were too late."""

    states: list[Any]
    late: int


class SessionMerging:
    """Merges the records of a batch with the sessions of their keys, as ``SessionRule`` says.

    Args:
        start: makes the state that merging begins with.
        step: adds a record to a state.
        merge: makes one state of two.
        tells_old: whether an overwritten session of one timestamp is an old value.
    """

    def __init__(
        self, rule: SessionRule, start: Any, step: Step, merge: Merge, *, tells_old: bool
    ) -> None:
        self._rule = rule
        self._start = start
        self._step = step
        self._merge = merge
        self._tells_old = tells_old

    def run(
        self,
        sessions: list[_OfKey],
        records: Iterable[tuple[int, int, int]],
        changes: LastChanges | AllChanges,
        through: Through | None = None,
    ) -> Merged:
        """Merge records, each the number of its key, its timestamp and stream time."""
        rule, step, merge, begin = self._rule, self._step, self._merge, self._start
        neighbours, widened, is_open = rule.neighbours, rule.merged, rule.is_open
        close_time, oldest_end, put = rule.close_time, changes.oldest_end, changes.put
        states, late = list[Any](), 0
        for place, (code, timestamp, stream_time) in enumerate(records):
            of_key = sessions[code]
            earliest_end, latest_start = neighbours(timestamp)
            first, after = of_key.between(max(earliest_end, oldest_end()), latest_start)
            start = end = timestamp
            state = begin()
            for number in range(first, after):
                state = merge(place, state, of_key.states[number])
                start, end = widened(start, end, of_key.starts[number], of_key.ends[number])
            if not is_open(end, close_time(stream_time)):
                late += 1
                continue
            old = None
            if first < after:
                if rule.replaces(start, end):
                    for number in range(first, after):
                        gone = code, of_key.starts[number], of_key.ends[number]
                        changes.remove(place, gone, of_key.states[number])
                elif self._tells_old:
                    old = of_key.states[after - 1]
            state = step(state, place)
            states.append(state)
            put(place, (code, start, end), state, old)
            kept = state if through is None else through(state)
            of_key.put(first, after, start, end, kept)
        return Merged(states, late)


def by_key(keys: int, stored: Iterable[Stored]) -> list[_OfKey]:
    """Return the stored sessions of each key."""
    sessions = [_OfKey() for _ in range(keys)]
    for (code, start, end), state in sorted(stored, key=_end_of):
        of_key = sessions[code]
        if of_key.ends and of_key.ends[-1] >= start:
            raise NotProvenError("two sessions of a key overlap")
        of_key.starts.append(start)
        of_key.ends.append(end)
        of_key.states.append(state)
    return sessions


def _end_of(stored: Stored) -> int:
    return stored.session[2]
