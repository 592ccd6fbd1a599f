"""Folds a grouped stream per sliding window over columns.

Record executor: ``sliding_aggregate.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.expr.absent import AbsentFields
from penstock.expr.aggregates import count_merge
from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Times, WindowedColumn
from penstock.kernel.columns.cache_handoff import CachedTable, contexts_at
from penstock.kernel.columns.column_executor import NotVectorisableError, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.folds.session_fold import SessionFold
from penstock.kernel.columns.folds.store_fidelity import store_read
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups, grouped
from penstock.kernel.columns.nulls import taken_by
from penstock.kernel.columns.store_rows import (
    bare,
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
from penstock.kernel.operators.aggregations.sliding_merging import Place, SlidingMerging, Update
from penstock.model.rules.drop_reasons import EXPIRED_WINDOW
from penstock.model.rules.table_rule import LastRows
from penstock.model.user_code import user_code
from penstock.model.windows.sliding_rule import SLIDING_NULLS, SlidingRule
from penstock.state.layers.bulk import BulkWindows
from penstock.topology.nodes import SlidingAggregate

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@vectorises(SlidingAggregate)
class SlidingAggregateColumns(CachedTable):
    """Reads the windows around the batch's records once, and writes each window once.

    Behind a cache, a window is sent once, as it is after the batch. Without one, every change is.
    """

    _rows: BulkWindows

    def __init__(self, node: SlidingAggregate, task: TaskServices) -> None:
        if node.idle_ms is not None:
            raise NotVectorisableError("the wall clock closes its windows")
        if node.windows.difference_ms == 0:
            raise NotVectorisableError("its windows hold nothing")
        self._absent = AbsentFields.of_aggregator(node.fn)
        self._fold = fold = SessionFold(node.initializer, node.fn, count_merge)
        super().__init__(node, task, bulk_of(node, task))
        self._rule = SlidingRule(node.windows.difference_ms, node.windows.grace_ms)
        self._read = store_read(self._rows.values.serde)
        self._clock: OperatorClock = task.operator_clock(node.name)
        self._final: FinalWindows | None = None
        if node.emit_final:
            if self._rows.is_cached:
                raise NotVectorisableError("final results are read from a cache")
            self._final = FinalWindows(self._rule, self._rows, emits_first=node.emits_first)
        self.runs_once = True
        self.keeps_values = fold.looks_at_values
        self.reset()

    def reset(self) -> None:
        self._gathered, self._seen = Gathered(), NO_TIME
        self._moments: list[Times] = []
        if self._final is not None:
            self._final.reset()

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = taken_by(SLIDING_NULLS, batch, effects, self.node.name)
        if not len(batch):
            return
        before = max(self._seen, self._clock.stream_time)
        seen = np.maximum.accumulate(np.maximum(batch.timestamps, before))
        self._seen = int(seen[-1])
        is_open = batch.timestamps + self._rule.difference_ms >= seen - self._rule.grace_ms
        if not is_open.all():
            effects.drop(self.node.name, EXPIRED_WINDOW, len(batch) - int(is_open.sum()))
            batch, seen = batch.keep(is_open.tolist()), seen[is_open]
        if not len(batch):
            return
        items = self._fold.items(batch)
        if may_lack(self._absent, items):
            count_absent(self._absent, self.node.name, batch.values.values(), effects)
        self._moments.append(seen)
        if self._final is not None:
            is_early = batch.timestamps < self._rule.difference_ms
            self._final.add(batch, seen, may_emit=~is_early)
        self._gathered.add(
            stored_keys(batch.keys, self._rows.keys.serde), items, batch.timestamps, batch.headers,
            key_values=() if self._rows.is_cached else batch.keys.values(), origins=batch.origins,
        )  # fmt: skip

    def finish(self, effects: Effects) -> None:
        gathered, seen, moments = self._gathered, self._seen, self._moments
        self._gathered, self._seen, self._moments = Gathered(), NO_TIME, []
        effects.add(lambda: self._advance(seen))
        if len(gathered):
            changed = self._fold_all(gathered, np.concatenate(moments), effects)
            if self._final is not None:
                self._emit_closed(self._final, changed, effects)
        super().finish(effects)

    def _emit_closed(
        self, final: FinalWindows, changed: Mapping[Placed, Any], effects: Effects
    ) -> None:
        """Send the windows that have closed, each at the record that has closed it."""
        clock, closed = final.leave(self._clock, self.task, changed, self._rule.difference_ms)
        effects.add(lambda: take_emission(self._clock, clock))
        if closed is not None:
            if self.node.sends_old:
                closed.old = BatchColumn([None] * len(closed))
            self.forward(closed, effects)

    def _advance(self, time: int) -> None:
        self._clock.advance(time)

    def _fold_all(self, records: Gathered, seen: Times, effects: Effects) -> Mapping[Placed, Any]:
        """Fold the records; return the rows of their windows if they may leave at once."""
        settled(self._rows)
        groups = grouped(records.keys)
        given = [
            *zip(groups.codes.tolist(), records.timestamps.tolist(), seen.tolist(), strict=True)
        ]
        stored = self._stored(records, groups)
        merging = self._merged(records, given, stored, None)
        states = [each.state for each in merging.updates]
        if self._read is not None and states and not self._read.keeps_all(states):
            with user_code("the store's serde"):
                merging = self._merged(records, given, stored, self._read)
        effects.drop(self.node.name, EXPIRED_WINDOW, merging.late)
        if self._final is not None:
            self._final.join()
            self._final.note_written(
                np.array([each.place for each in merging.updates], np.int64),
                np.array(_starts(merging.updates), np.int64),
            )
        if not merging.updates:
            return {}
        return self._send(merging.updates, records, groups, stored, effects)

    def _stored(self, records: Gathered, groups: Groups) -> dict[Place, bytes]:
        """Return the rows that records of the batch may find in the store."""
        rows = self._rows
        first, _ = self._rule.neighbours(int(records.timestamps.min()))
        _, last = self._rule.neighbours(int(records.timestamps.max()))
        if rows.is_cached and 0 < first < rows.oldest_shown(rows.stream_time):
            # A cache also shows what its store has let go.
            raise NotProvenError("the store may have let go of windows that its cache has")
        numbers = {key: number for number, key in enumerate(groups.keys)}
        return {(numbers[key], start): row for key, start, row in rows.of(numbers, first, last)}

    def _merged(
        self,
        records: Gathered,
        given: Sequence[tuple[int, int, int]],
        stored: dict[Place, bytes],
        through: Any,
    ) -> SlidingMerging:
        rows, fold = self._rows, self._fold
        states, times = read_rows([*stored.values()], rows.values.serde, fold.start)
        fold.check(states)
        step, _ = fold.over(records.items, ())
        merging = SlidingMerging(
            self._rule, fold.start, step, through=through, oldest=rows.oldest_shown,
            store_time=rows.stream_time, is_cached=rows.is_cached,
        )  # fmt: skip
        for window, state, time in zip(stored, states, times.tolist(), strict=True):
            merging.add(window, (state, time))
        merging.run(given)
        return merging

    def _send(
        self,
        updates: list[Update],
        records: Gathered,
        groups: Groups,
        stored: dict[Place, bytes],
        effects: Effects,
    ) -> Mapping[Placed, Any]:
        rows, serde = self._rows, self._rows.values.serde
        kept: LastRows[Place, Update] = LastRows()
        for each in updates:
            kept.put(each.window, each)
        last = [*kept.values()]
        keys, starts = [groups.keys[each.window[0]] for each in last], _starts(last)
        values = encoded_states(serde, [each.state for each in last])
        times = np.array([each.timestamp for each in last], np.int64)
        written = written_rows(times, values)
        if self.is_handed_off:
            places = np.array([each.place for each in last], np.int64)
            self.leave(contexts_at(records, places), effects, keys, written, starts)
            return {}
        window_keys = rows.window_keys(keys, starts)
        effects.add(lambda: rows.write(window_keys, starts, written, times.tolist(), values))
        if self._final is not None:
            return as_placed(keys, starts, written)
        if rows.is_cached:
            # A cache sends what it reads back.
            base = BatchColumn(encoded=keys, serde=rows.keys.serde, is_input=False)
            changed = BatchColumn(encoded=values, serde=serde, is_input=False)
            old = BatchColumn(encoded=bare([stored.get(e.window) for e in last]), serde=serde)
            self._forward(last, records, base, changed, old, effects)
            return {}
        names = BatchColumn([records.key_values[each.place] for each in updates])
        changed = BatchColumn([each.state for each in updates])
        old = BatchColumn([each.old for each in updates])
        self._forward(updates, records, names, changed, old, effects)
        return {}

    def _forward(
        self,
        updates: Sequence[Update],
        records: Gathered,
        keys: BatchColumn,
        values: BatchColumn,
        old: BatchColumn,
        effects: Effects,
    ) -> None:
        places = np.array([each.place for each in updates], np.int64)
        headers, origins = records.headers, records.origins
        if headers is not None:
            headers = [headers[place] for place in places.tolist()]
        batch = Batch(
            WindowedColumn(keys, _starts(updates), self._rule.difference_ms),
            values,
            np.array([each.timestamp for each in updates], np.int64),
            headers,
            None if origins is None else origins.at(places),
            old=old if self.node.sends_old else None,
        )
        self.forward(batch, effects)


def _starts(updates: Sequence[Update]) -> list[int]:
    return [each.window[1] for each in updates]
