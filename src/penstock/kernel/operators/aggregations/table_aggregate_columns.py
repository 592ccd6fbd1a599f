"""Folds a grouped table over columns. Record executor: ``table_aggregate.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Places
from penstock.kernel.columns.cache_handoff import CachedTable, contexts_at
from penstock.kernel.columns.column_executor import vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.folds.column_folds import Through
from penstock.kernel.columns.folds.known_folds import check_has_no_store
from penstock.kernel.columns.folds.store_fidelity import store_read
from penstock.kernel.columns.functions import called, checked_by, pure
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups, grouped_in_order
from penstock.kernel.columns.store_rows import (
    bare,
    bulk_of,
    changed_rows,
    encoded_values,
    read_rows,
    settled,
    stored_keys,
)
from penstock.model.columns.row_columns import taken
from penstock.model.rules.fold_rule import FOLD
from penstock.model.rules.regroup_rule import Step, aggregate_step, reduce_step
from penstock.model.rules.table_rule import is_change
from penstock.model.user_code import user_code
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes import TableAggregate, TableReduce
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class _Folded(NamedTuple):
    """The state of a group before and after each change, and the timestamp of its row then."""

    before: list[Any]
    after: list[Any]
    times: list[int]


class TableFoldColumns(CachedTable):
    """Reads and writes the row of each group once, however many of its rows have changed.

    Behind a cache, each group is sent once, as it is after the batch.

    Args:
        step: makes the next state of a group.
        functions: what ``step`` calls.
        looks_at_values: whether one of them looks at the values of rows.
    """

    _rows: BulkRows

    def __init__(
        self,
        node: TableNode,
        task: TaskServices,
        step: Step,
        functions: Sequence[Callable[..., Any]],
        *,
        looks_at_values: bool,
    ) -> None:
        super().__init__(node, task, bulk_of(node, task))
        self._step = step
        self._looks_at_values = looks_at_values
        self._checked = checked_by(*functions)
        self._through = store_read(self._rows.values.serde)
        self.runs_once = self._rows.is_cached
        self.keeps_values = looks_at_values
        self.reset()

    def reset(self) -> None:
        self._gathered = Gathered()

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.keys.has_nulls():
            raise NotProvenError("a row has no key")
        keys = stored_keys(batch.keys, self._rows.keys.serde)
        self._gathered.add(
            keys, [self._items(batch.values, len(batch)), self._items(batch.old, len(batch))],
            batch.timestamps, batch.headers,
            key_values=self._checked(batch.keys.values()), origins=batch.origins,
        )  # fmt: skip

    def _items(self, column: BatchColumn | None, count: int) -> Sequence[Any]:
        """Return values; if no function looks at them, only whether they are there."""
        if column is None:
            return [None] * count
        if self._looks_at_values:
            return self._checked(column.values())
        return [True if is_known else None for is_known in column.are_known()]

    def finish(self, effects: Effects) -> None:
        gathered = self._gathered
        self.reset()
        if len(gathered):
            self._fold_all(gathered, effects)
        super().finish(effects)

    def _fold_all(self, records: Gathered, effects: Effects) -> None:
        rows, store = self._rows, self.node.store or ""
        settled(rows)
        # A store reads and writes sorted keys in half the time.
        groups = grouped_in_order(records.keys)
        stored = effects.read(store, rows, groups.keys)
        folded = self._folded(records, groups, stored)
        last, in_turn = groups.last_places(), groups.in_turn()
        values = encoded_values(rows.values.serde, taken(folded.after, last))
        row_times = np.array(taken(folded.times, last), np.int64)
        written = changed_rows(row_times, values)
        if self.is_handed_off:
            entries = (contexts_at(records, last), groups.keys, written)
            contexts, *columns = (taken(column, in_turn) for column in entries)
            self.leave(contexts, effects, *columns)
            return
        is_gone = np.array([value is None for value in values])
        # A tombstone has the timestamp of its record, because there is no row.
        times = np.where(is_gone, records.timestamps[last], row_times)
        before = bare(stored)
        if rows.is_cached:
            pairs = zip(values, before, strict=True)
            mask = [is_change(one is not None, other is not None) for one, other in pairs]
            in_turn = in_turn[np.array(mask)[in_turn]]
            kept = np.flatnonzero(mask)
        else:
            kept = np.arange(len(groups))
        effects.write(
            store, rows, taken(groups.keys, kept), taken(written, kept), times[kept].tolist()
        )
        if not rows.is_cached:
            self.forward(self._running(records, folded), effects)
            return
        serde = rows.values.serde
        changes = Batch(
            BatchColumn(encoded=groups.keys, serde=rows.keys.serde, is_input=False),
            # A cache sends what it reads back.
            BatchColumn(encoded=values, serde=serde, is_input=False),
            times,
            _at(records.headers, last),
            None if records.origins is None else records.origins.at(last),
            old=BatchColumn(encoded=before, serde=serde) if self.node.sends_old else None,
        )
        self.forward(changes.take(in_turn), effects)

    def _running(self, records: Gathered, folded: _Folded) -> Batch:
        """Return the change after each record."""
        return Batch(
            BatchColumn(records.key_values),
            BatchColumn(folded.after),
            np.array(folded.times, np.int64),
            records.headers,
            records.origins,
            old=BatchColumn(folded.before) if self.node.sends_old else None,
        )

    def _folded(self, records: Gathered, groups: Groups, stored: Sequence[bytes | None]) -> _Folded:
        """Fold as if the store returned states as they are; if it does not, fold again."""
        states, times = read_rows(stored, self._rows.values.serde, _no_row)
        self._checked([state for state in states if state is not None])
        folded = self._called(records, groups, states, times.tolist(), None)
        known = [state for state in folded.after if state is not None]
        if self._through is None or not known or self._through.keeps_all(known):
            return folded
        return self._called(records, groups, states, times.tolist(), self._through)

    def _called(
        self,
        records: Gathered,
        groups: Groups,
        states: Iterable[Any],
        times: list[int],
        through: Through | None,
    ) -> _Folded:
        step, now, result_time = self._step, [*states], FOLD.result_time
        folded = _Folded([], [], [])
        rows = zip(
            groups.codes.tolist(), records.key_values, *records.items,
            records.timestamps.tolist(), strict=True,
        )  # fmt: skip
        with user_code("an aggregator"):
            for code, key, new, old, timestamp in rows:
                before = now[code]
                after = step(key, new, old, before)
                times[code] = timestamp if before is None else result_time(timestamp, times[code])
                now[code] = after if through is None or after is None else through(after)
                folded.before.append(before)
                folded.after.append(after)
                folded.times.append(times[code])
        return folded


def _no_row() -> None:
    return None


def _at(headers: Any, places: Places) -> Any:
    return None if headers is None else taken(headers, places)


@vectorises(TableAggregate)
class TableAggregateColumns(TableFoldColumns):
    """Subtracts the old row, then adds the new one."""

    def __init__(self, node: TableAggregate, task: TaskServices) -> None:
        check_has_no_store(node.adder)
        start = pure(node.initializer, "its initializer")
        adder, subtractor = pure(node.adder, "its adder"), pure(node.subtractor, "its subtractor")
        step = aggregate_step(called(start), called(adder), called(subtractor))
        functions = start, adder, subtractor
        looks = any(1 not in getattr(each, "unread", ()) for each in (adder, subtractor))
        super().__init__(node, task, step, functions, looks_at_values=looks)


@vectorises(TableReduce)
class TableReduceColumns(TableFoldColumns):
    """Subtracts the old row, then adds the new one; if nothing is left, the new one stays."""

    def __init__(self, node: TableReduce, task: TaskServices) -> None:
        adder, subtractor = pure(node.adder, "its adder"), pure(node.subtractor, "its subtractor")
        step = reduce_step(called(adder), called(subtractor))
        super().__init__(node, task, step, (adder, subtractor), looks_at_values=True)
