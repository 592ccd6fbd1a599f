"""Folds a grouped stream per session over columns. Record executor: ``session_aggregate.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock.expr.absent import AbsentFields
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.cache_handoff import CachedTable, contexts_at
from penstock.kernel.columns.column_executor import NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.folds.column_folds import NamedFold, check_known
from penstock.kernel.columns.folds.session_fold import SessionFold
from penstock.kernel.columns.folds.store_fidelity import state_check, store_read
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups, grouped
from penstock.kernel.columns.nulls import taken_by
from penstock.kernel.columns.session_column import SessionColumn
from penstock.kernel.columns.store_rows import bulk_of, encoded_values, settled, stored_keys
from penstock.kernel.operator_clock import NO_TIME, OperatorClock
from penstock.kernel.operators.absent_fields import count_absent, may_lack
from penstock.kernel.operators.aggregations.final_sessions import Emitting, FinalChanges
from penstock.kernel.operators.aggregations.final_windows import take_emission
from penstock.kernel.operators.aggregations.session_aggregate import forgets
from penstock.kernel.operators.aggregations.session_merging import (
    GONE,
    AllChanges,
    LastChanges,
    Session,
    SessionMerging,
    Stored,
    by_key,
)
from penstock.model.columns.row_columns import taken
from penstock.model.rules.drop_reasons import EXPIRED_WINDOW, NOT_EMITTED
from penstock.model.rules.table_rule import is_change
from penstock.model.user_code import user_code
from penstock.model.windows.session_rule import SESSION_NULLS, SessionRule
from penstock.serde.columns import decode_all
from penstock.serde.json import JsonSerde
from penstock.state.layers.bulk_sessions import BulkSessions
from penstock.state.window.window_keys import session_keys
from penstock.topology.nodes import SessionAggregate

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(SessionAggregate)
class SessionAggregateColumns(CachedTable):
    """Reads the sessions of each key of the batch once.

    Behind a cache, each session is written and sent once, as it is after the batch: in the order of
    last changes, and a session that was merged into another one as a tombstone, if the store had
    it. Without a cache, every change is written and sent.
    """

    _rows: BulkSessions

    def __init__(self, node: SessionAggregate, task: TaskServices) -> None:
        if node.idle_ms is not None:
            raise NotVectorisableError("the wall clock closes its sessions")
        self._absent = AbsentFields.of_aggregator(node.fn)
        self._fold = fold = SessionFold(node.initializer, node.fn, node.merger)
        super().__init__(node, task, bulk_of(node, task))
        self._rule = SessionRule(node.windows.gap_ms, node.windows.grace_ms)
        self._read = store_read(self._rows.values.serde)
        self._retention_ms = task.store_spec(node.store or "").retention_ms
        self._clock: OperatorClock = task.operator_clock(node.name)
        if node.emit_final and self._rows.is_cached:
            raise NotVectorisableError("final results are read from a cache")
        self._spec = task.store_spec(node.store or "")
        self.runs_once = True
        self.keeps_values = fold.looks_at_values
        self._needs_keys = fold.looks_at_keys or not (self._rows.is_cached or node.emit_final)
        self.reset()

    def reset(self) -> None:
        self._gathered = Gathered()
        self._seen = NO_TIME

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = taken_by(SESSION_NULLS, batch, effects, self.node.name)
        if not len(batch):
            return
        self._seen = max(self._seen, int(batch.timestamps.max()))
        items = self._fold.items(batch)
        if may_lack(self._absent, items):
            count_absent(self._absent, self.node.name, batch.values.values(), effects)
        self._gathered.add(
            stored_keys(batch.keys, self._rows.keys.serde), items, batch.timestamps, batch.headers,
            key_values=batch.keys.values() if self._needs_keys else (), origins=batch.origins,
        )  # fmt: skip

    def finish(self, effects: Effects) -> None:
        gathered, seen = self._gathered, self._seen
        self.reset()
        if len(gathered):
            self._merge_all(gathered, effects)
            effects.add(lambda: self._advance(seen))
        super().finish(effects)

    def _advance(self, time: int) -> None:
        self._clock.advance(time)

    def _merge_all(self, records: Gathered, effects: Effects) -> None:
        rows = self._rows
        settled(rows)
        groups = grouped(records.keys)
        numbers = {key: number for number, key in enumerate(groups.keys)}
        earliest_end, _ = self._rule.neighbours(int(records.timestamps.min()))
        stored: dict[Session, bytes] = {
            (numbers[key], start, end): data
            for key, start, end, data in rows.read(numbers, earliest_end)
        }
        hidden: dict[Session, bytes] = {
            (numbers[key], start, end): data
            for key, start, end, data in rows.read_hidden(numbers, earliest_end)
        }
        changes = self._merged(records, groups, {**hidden, **stored}, effects)
        if isinstance(changes, FinalChanges):
            self._send_final(changes, records, groups, effects)
        elif isinstance(changes, LastChanges):
            self._send_last(changes, records, groups, (stored, hidden), effects)
        else:
            self._send_all(changes, records, groups, effects)

    def _merged(
        self,
        records: Gathered,
        groups: Groups,
        before: Mapping[Session, bytes],
        effects: Effects,
    ) -> LastChanges | AllChanges:
        """Merge as if the store returned states as they are; if it does not, merge again."""
        fold = self._fold
        states = decode_all(self._rows.values.serde, [*before.values()])
        fold.check(states)
        if fold.looks_at_keys:
            fold.check(records.key_values)
        stored = [*map(Stored, before, states)]
        step, merge = fold.over(records.items, records.key_values if fold.looks_at_keys else ())
        merging = SessionMerging(self._rule, fold.start, step, merge, tells_old=self.node.tells_old)
        seen = np.maximum.accumulate(np.maximum(records.timestamps, self._clock.stream_time))
        times = records.timestamps.tolist()
        given = [*zip(groups.codes.tolist(), times, seen.tolist(), strict=True)]
        changes = self._changes(groups, int(seen[-1]))
        merged = merging.run(by_key(len(groups), stored), _watched(changes, given), changes)
        check_known(merged.states)
        if not self._keeps(records, states, merged.states):
            changes = self._changes(groups, int(seen[-1]))
            watched = _watched(changes, given)
            with user_code("the store's serde"):
                merging.run(by_key(len(groups), stored), watched, changes, self._read)
        effects.drop(self.node.name, EXPIRED_WINDOW, merged.late)
        return changes

    def _changes(self, groups: Groups, last_time: int) -> LastChanges | AllChanges:
        rows, node, task, spec = self._rows, self.node, self.task, self._spec
        if node.emit_final:
            emitting = Emitting(
                self._rule, node.emits_first, task.system_time(), task.emit_interval_ms,
                lambda before, now: forgets(spec, before, now),
            )  # fmt: skip
            return FinalChanges(
                rows, self._retention_ms, groups.keys, self._clock, emitting, last_time
            )
        if rows.is_cached:
            return LastChanges()
        return AllChanges(rows.stream_time, self._retention_ms)

    def _keeps(self, records: Gathered, before: Sequence[Any], states: Sequence[Any]) -> bool:
        """Tell whether the store returns all these states as they are."""
        serde, fold = self._rows.values.serde, self._fold.fold
        if self._read is None or not states:
            return True
        if isinstance(fold, NamedFold) and isinstance(serde, JsonSerde):
            # What they are made of tells it: states are objects, and to look at them takes longer.
            return state_check(serde, fold)(records.items, before) is None
        return self._read.keeps_all(states)

    def _send_last(
        self,
        last: LastChanges,
        records: Gathered,
        groups: Groups,
        before: tuple[Mapping[Session, bytes], Mapping[Session, bytes]],
        effects: Effects,
    ) -> None:
        """Write and send each session as it is after the batch."""
        rows, serde = self._rows, self._rows.values.serde
        stored, hidden = before
        changes = _Changed(
            [*last.rows],
            [place for place, _ in last.rows.values()],
            encoded_values(serde, [_known(state) for _, state in last.rows.values()]),
        )
        if self.is_handed_off:
            contexts = contexts_at(records, np.array(changes.places, np.int64))
            self.leave(contexts, effects, *changes.columns(groups), changes.values)
            return
        old = self._old_values(changes, stored)
        # A flush drops the tombstone of a session from the cache, also if the store has forgotten
        # it.
        self._forget([each for each in hidden if each in last.rows], groups, effects)
        changes, old = changes.without_unseen(old)
        keys, starts, ends = changes.columns(groups)
        self._write(changes, groups, records, effects)
        origins, headers = records.origins, records.headers
        if headers is not None:
            headers = [headers[place] for place in changes.places]
        if origins is not None:
            origins = origins.at(np.array(changes.places, np.int64))
        # A cache sends what it reads back.
        base = BatchColumn(encoded=keys, serde=rows.keys.serde, is_input=False)
        self.forward(
            Batch(
                SessionColumn(base, starts, ends),
                BatchColumn(encoded=changes.values, serde=serde, is_input=False),
                np.array(ends, np.int64),
                headers,
                origins,
                old=BatchColumn(encoded=old, serde=serde) if self.node.sends_old else None,
            ),
            effects,
        )

    def _old_values(self, changes: _Changed, stored: Mapping[Session, bytes]) -> list[bytes | None]:
        """Return what the store has of each session before it is written.

        The sessions that were written before have made stream time of the store later, and so may
        have hidden it.
        """
        rows, old = self._rows, list[bytes | None]()
        store_time = rows.stream_time
        oldest = rows.oldest_readable(store_time)
        for session, value in zip(changes.sessions, changes.values, strict=True):
            end = session[2]
            old.append(stored.get(session) if end >= oldest else None)
            if value is not None and end > store_time:
                store_time = end
                oldest = rows.oldest_readable(end)
        return old

    def _send_all(
        self, every: AllChanges, records: Gathered, groups: Groups, effects: Effects
    ) -> None:
        """Send every change; write the last one of each session."""
        updates, rows = every.updates, self._rows
        states = [_known(each.state) for each in updates]
        changes = _Changed(
            [each.session for each in updates],
            [each.place for each in updates],
            encoded_values(rows.values.serde, states),
        )
        self._write(changes.last(), groups, records, effects)
        _, starts, ends = changes.columns(groups)
        # A tombstone has the key that the store returns.
        read, given = decode_all(rows.keys.serde, groups.keys), records.key_values
        names = [
            read[each.session[0]] if each.state is GONE else given[each.place] for each in updates
        ]
        origins = records.origins
        if origins is not None:
            origins = origins.at(np.array(changes.places, np.int64))
        self.forward(
            Batch(
                SessionColumn(BatchColumn(names), starts, ends),
                BatchColumn(states),
                np.array(ends, np.int64),
                origins=origins,
                old=BatchColumn([each.old for each in updates]) if self.node.sends_old else None,
            ),
            effects,
        )

    def _send_final(
        self, every: FinalChanges, records: Gathered, groups: Groups, effects: Effects
    ) -> None:
        """Write the sessions of the batch; send those that have closed."""
        rows, serde, updates = self._rows, self._rows.values.serde, every.updates
        states = [_known(each.state) for each in updates]
        changes = _Changed(
            [each.session for each in updates],
            [each.place for each in updates],
            encoded_values(serde, states),
        )
        self._write(changes.last(), groups, records, effects)
        effects.drop(self.node.name, NOT_EMITTED, every.forgotten)
        effects.add(lambda: take_emission(self._clock, every.clock))
        left = every.left
        known = iter(encoded_values(serde, [each.state for each in left if each.stored is None]))
        values = [next(known) if each.stored is None else each.stored for each in left]
        headers, origins = records.headers, records.origins
        if headers is not None:
            headers = [headers[each.place] for each in left]
        if origins is not None:
            origins = origins.at(np.array([each.place for each in left], np.int64))
        base = BatchColumn(encoded=[each.key for each in left], serde=rows.keys.serde)
        ends = [each.end for each in left]
        self.forward(
            Batch(
                SessionColumn(base, [each.start for each in left], ends),
                BatchColumn(encoded=values, serde=serde),
                np.array(ends, np.int64),
                headers,
                origins,
                old=BatchColumn([None] * len(left)) if self.node.sends_old else None,
            ),
            effects,
        )

    def _forget(self, sessions: list[Session], groups: Groups, effects: Effects) -> None:
        if sessions:
            gone = _Changed(sessions, [], [])
            keys, starts, ends = gone.columns(groups)
            effects.add(lambda: self._rows.forget(session_keys(keys, starts, ends), ends))

    def _write(
        self, changes: _Changed, groups: Groups, records: Gathered, effects: Effects
    ) -> None:
        keys, starts, ends = changes.columns(groups)
        written, values = session_keys(keys, starts, ends), changes.values
        times = records.timestamps[np.array(changes.places, np.int64)].tolist()
        effects.add(lambda: self._rows.write(written, ends, values, times))


class _Changed(NamedTuple):
    """Changes of sessions, as columns: the place of the record, and the bytes of the state."""

    sessions: list[Session]
    places: list[int]
    values: Sequence[bytes | None]

    def columns(self, groups: Groups) -> tuple[list[bytes], list[int], list[int]]:
        """Return keys, starts and ends."""
        sessions = self.sessions
        keys = [groups.keys[code] for code, _, _ in sessions]
        return keys, [start for _, start, _ in sessions], [end for _, _, end in sessions]

    def without_unseen(self, old: list[bytes | None]) -> tuple[_Changed, list[bytes | None]]:
        """Leave out tombstones of sessions that the store does not have, and so nobody has seen."""
        mask = [
            is_change(new is not None, before is not None)
            for new, before in zip(self.values, old, strict=True)
        ]
        if all(mask):
            return self, old
        return self._at(np.flatnonzero(mask).tolist()), [*compress(old, mask)]

    def last(self) -> _Changed:
        """Return the last change of each session."""
        last = {session: number for number, session in enumerate(self.sessions)}
        return self if len(last) == len(self.sessions) else self._at([*last.values()])

    def _at(self, numbers: list[int]) -> _Changed:
        return _Changed(
            [self.sessions[number] for number in numbers],
            [self.places[number] for number in numbers],
            taken(self.values, numbers),
        )


def _watched(
    changes: LastChanges | AllChanges, records: list[tuple[int, int, int]]
) -> Iterable[tuple[int, int, int]]:
    """Return the records, so that final results see which one is next."""
    return changes.watched(records) if isinstance(changes, FinalChanges) else records


def _known(state: Any) -> Any:
    return None if state is GONE else state
