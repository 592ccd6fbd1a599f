"""Folds a grouped stream per time window. Record executor: ``window_aggregate.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.expr.absent import AbsentFields
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Places, Times, WindowedColumn
from penstock.kernel.columns.cache_handoff import CachedTable, last_contexts
from penstock.kernel.columns.column_executor import NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.folds.column_folds import CountFold
from penstock.kernel.columns.folds.fold_changes import (
    first_state,
    last_changes,
    result_times,
    running_changes,
)
from penstock.kernel.columns.folds.known_folds import fold_of
from penstock.kernel.columns.folds.store_fidelity import state_check
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped, grouped_windows
from penstock.kernel.columns.nulls import taken_by
from penstock.kernel.columns.store_rows import (
    bulk_of,
    encoded_states,
    read_rows,
    settled,
    stored_keys,
    written_rows,
)
from penstock.kernel.operator_clock import NO_TIME, OperatorClock
from penstock.kernel.operators.absent_fields import count_absent, may_lack
from penstock.kernel.operators.aggregations.final_windows import (
    FinalWindows,
    Placed,
    as_placed,
    take_emission,
)
from penstock.model.rules.drop_reasons import EXPIRED_WINDOW
from penstock.model.rules.fold_rule import WINDOW_FOLD
from penstock.model.windows.definitions import TimeWindows, rule_of
from penstock.model.windows.rule import WindowRule
from penstock.state.layers.bulk import BulkWindows
from penstock.topology.nodes import WindowAggregate

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(WindowAggregate)
class WindowAggregateColumns(CachedTable):
    """Reads and writes each key and window of the batch once.

    Which records are late depends on the records before them. So stream time is a running maximum,
    never the maximum of the batch.
    """

    _rows: BulkWindows

    def __init__(self, node: WindowAggregate, task: TaskServices) -> None:
        if not isinstance(node.windows, TimeWindows):
            raise NotVectorisableError("its windows are unlimited")
        if node.idle_ms is not None:
            raise NotVectorisableError("the wall clock closes its windows")
        self._fold = fold = fold_of(node.initializer, node.fn)
        self._absent = AbsentFields.of_aggregator(node.fn)
        super().__init__(node, task, bulk_of(node, task))
        self._check_states = state_check(self._rows.values.serde, fold)
        self._rule = rule_of(node.windows)
        self._clock: OperatorClock = task.operator_clock(node.name)
        self._final: FinalWindows | None = None
        if node.emit_final:
            if self._rows.is_cached:
                # Reading a window that has closed is a use of the cache: it says which rows leave.
                raise NotVectorisableError("final results are read from a cache")
            self._final = FinalWindows(self._rule, self._rows, emits_first=node.emits_first)
        #: Stream time after the pieces so far. The clock itself moves when the effects are applied.
        self._seen = NO_TIME
        #: Stream time after the runs of the batch so far.
        self._moved = NO_TIME
        self._gathered = Gathered()
        # Without a cache, a batch may run the node several times, if inputs take turns.
        self.runs_once = self._rows.is_cached or node.emit_final
        self.keeps_values = not isinstance(fold, CountFold)

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = taken_by(WINDOW_FOLD.nulls, batch, effects, self.node.name)
        if not len(batch):
            return
        before = max(self._seen, self._moved, self._clock.stream_time)
        seen = np.maximum.accumulate(np.maximum(batch.timestamps, before))
        self._seen = int(seen[-1])
        records, starts = _windows_of(batch.timestamps, self._rule)
        is_open = self._rule.is_open(starts, seen[records])
        late = len(starts) - int(is_open.sum())
        if late:
            effects.drop(self.node.name, EXPIRED_WINDOW, late)
            records, starts = records[is_open], starts[is_open]
        if self._final is not None:
            self._final.add(batch, seen)
            self._final.note_written(records, starts)
        if len(starts):
            whole = batch
            if late or len(records) != len(batch):
                batch = batch.take(records)
            keys = stored_keys(batch.keys, self._rows.keys.serde)
            items = self._fold.items(batch)
            if may_lack(self._absent, items):
                # A record counts once, in however many windows it is.
                folded = whole.take(np.unique(records)).values.values()
                count_absent(self._absent, self.node.name, folded, effects)
            self._gathered.add(
                keys, items, batch.timestamps, batch.headers, starts,
                key_values=() if self._rows.is_cached else batch.keys.values(),
                origins=batch.origins,
            )  # fmt: skip

    def finish(self, effects: Effects) -> None:
        gathered, seen = self._gathered, self._seen
        self._gathered, self._seen = Gathered(), NO_TIME
        effects.add(lambda: self._advance(seen))
        changed = self._fold_all(gathered, effects) if len(gathered) else {}
        self._moved = max(self._moved, seen)
        if self._final is not None and seen > NO_TIME:
            self._emit_closed(self._final, changed, effects)
        super().finish(effects)

    def reset(self) -> None:
        self._gathered, self._seen, self._moved = Gathered(), NO_TIME, NO_TIME
        if self._final is not None:
            self._final.reset()

    def _emit_closed(
        self, final: FinalWindows, changed: Mapping[Placed, Any], effects: Effects
    ) -> None:
        """Send the windows that have closed, each after the record that has closed it."""
        clock, closed = final.leave(self._clock, self.task, changed, self._rule.size_ms)
        effects.add(lambda: take_emission(self._clock, clock))
        if closed is not None:
            if self.node.sends_old:
                closed.old = BatchColumn([None] * len(closed))
            self.forward(closed, effects)

    def _advance(self, time: int) -> None:
        self._clock.advance(time)

    def _keeps(self, starts: Times, effects: Effects) -> bool:
        """Tell whether windows of the batch can be read and written in any order."""
        rows, first, last = self._rows, int(starts.min()), int(starts.max())
        if rows.is_cached:
            return True
        # Other runs of the batch, also of other nodes with this store, have written to it.
        newest = effects.shared(self.node.store, lambda: [rows.stream_time])
        is_behind = newest[0] <= max(self._clock.stream_time, self._moved)
        newest[0] = max(newest[0], last)
        # A store keeps each window for as long as it takes records of the same clock.
        needed_ms = self._rule.size_ms + self._rule.grace_ms
        return (is_behind and rows.retention_ms >= needed_ms) or rows.keeps(first, newest[0])

    def _fold_all(self, gathered: Gathered, effects: Effects) -> Mapping[Placed, Any]:
        """Fold the records; return the rows of their windows if they may leave at once."""
        rows, starts = self._rows, gathered.starts
        settled(rows)
        if not self._keeps(starts, effects):
            # Without a cache, each write follows its read, and a write may expire windows that are
            # read later. Over columns, all reads come first.
            raise NotProvenError("windows of the batch expire while others are written")
        key_serde, serde = rows.keys.serde, rows.values.serde
        # In the order in which a cache would write and send them.
        groups, group_starts = grouped_windows(grouped(gathered.keys), starts)
        at = group_starts.tolist()
        window_keys = rows.window_keys(groups.keys, at)
        states: Sequence[Any]
        before = rows.read(window_keys, at)
        if earlier := effects.written(self.node.store):
            before = [earlier.get(*pair) for pair in zip(window_keys, before, strict=True)]
        states, times = read_rows(before, serde, self._fold.start)
        through = self._check_states(gathered.items, states)
        changes = None
        if not rows.is_cached and self._final is None:
            keys = WindowedColumn(
                BatchColumn(gathered.key_values), starts.tolist(), self._rule.size_ms
            )
            changes = running_changes(
                self._fold,
                WINDOW_FOLD,
                gathered,
                keys,
                groups,
                states,
                times,
                through,
                first_state(self.node),
            )
        else:
            states = self._fold.finals(gathered.items, groups, states, through)
        newest = result_times(WINDOW_FOLD, groups.newest(gathered.timestamps), times)
        values = encoded_states(serde, states)
        written = written_rows(newest, values)
        if self.is_handed_off or (self._final is not None and rows.is_cached):
            self.leave(last_contexts(gathered, groups), effects, groups.keys, written, at)
            return as_placed(groups.keys, at, written)
        effects.add_rows(
            self.node.store, window_keys, written,
            lambda: rows.write(window_keys, at, written, newest.tolist(), values),
        )  # fmt: skip
        if self._final is not None:
            return as_placed(groups.keys, at, written)
        if changes is None:
            base = BatchColumn(encoded=groups.keys, serde=key_serde, is_input=False)
            keys = WindowedColumn(base, at, self._rule.size_ms)
            changes = last_changes(
                gathered, groups, keys, states, values, serde, newest,
                before if self.node.sends_old else None,
            )  # fmt: skip
        self.forward(changes, effects)
        return {}


def _windows_of(timestamps: Times, rule: WindowRule) -> tuple[Places, Times]:
    """Return each record's place with the start of each of its windows, earliest first."""
    places = np.arange(len(timestamps))
    first = rule.first_start(timestamps)
    if rule.size_ms == rule.advance_ms:
        return places, first
    counts = rule.count(timestamps, first)
    records = np.repeat(places, counts)
    ordinal = np.arange(len(records)) - np.repeat(np.cumsum(counts) - counts, counts)
    return records, first[records] + ordinal * rule.advance_ms
