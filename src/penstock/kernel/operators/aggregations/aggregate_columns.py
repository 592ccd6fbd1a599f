"""Folds a grouped stream over columns. Record executor: ``aggregate.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.expr.absent import AbsentFields
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.cache_handoff import CachedTable, last_contexts
from penstock.kernel.columns.column_executor import vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.folds.column_folds import ColumnFold, CountFold, ReduceFold
from penstock.kernel.columns.folds.fold_changes import (
    first_state,
    last_changes,
    result_times,
    running_changes,
)
from penstock.kernel.columns.folds.function_fold import reducing
from penstock.kernel.columns.folds.known_folds import fold_of
from penstock.kernel.columns.folds.store_fidelity import state_check
from penstock.kernel.columns.functions import PURE_REDUCERS, proven
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import grouped_in_order
from penstock.kernel.columns.nulls import taken_by
from penstock.kernel.columns.store_rows import (
    bulk_of,
    encoded_states,
    read_rows,
    settled,
    stored_keys,
    written_rows,
)
from penstock.kernel.operators.absent_fields import count_absent, may_lack
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.row_columns import taken
from penstock.model.rules.fold_rule import FOLD
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes import Aggregate, Reduce
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class FoldColumns(CachedTable):
    """Reads and writes each key of the batch once, however many records it has.

    Behind a cache, each key is sent once, as it is after the batch. The keys are in the order of
    their last changes, as in the cache's flush at the commit. Without a cache, every change is
    sent.
    """

    _rows: BulkRows

    def __init__(self, node: TableNode, task: TaskServices, fold: ColumnFold) -> None:
        self._fold = fold
        self._absent = AbsentFields.of_aggregator(getattr(node, "fn", None))
        super().__init__(node, task, bulk_of(node, task))
        self._check_states = state_check(self._rows.values.serde, fold)
        self._gathered = Gathered()
        self.runs_once = self._rows.is_cached
        self.keeps_values = not isinstance(fold, CountFold)
        self.hides_order = fold.is_order_free and self._rows.is_cached

    def process(self, batch: Batch, effects: Effects) -> None:
        batch = taken_by(FOLD.nulls, batch, effects, self.node.name)
        if len(batch):
            keys, items = stored_keys(batch.keys, self._rows.keys.serde), self._fold.items(batch)
            if may_lack(self._absent, items):
                count_absent(self._absent, self.node.name, batch.values.values(), effects)
            self._gathered.add(
                keys, items, batch.timestamps, batch.headers,
                key_values=() if self._rows.is_cached else batch.keys.values(),
                origins=batch.origins,
            )  # fmt: skip

    def finish(self, effects: Effects) -> None:
        gathered, self._gathered = self._gathered, Gathered()
        if len(gathered):
            self._fold_all(gathered, effects)
        super().finish(effects)

    def reset(self) -> None:
        self._gathered = Gathered()

    def _fold_all(self, records: Gathered, effects: Effects) -> None:
        rows, store = self._rows, self.node.store or ""
        settled(rows)
        key_serde, serde = rows.keys.serde, rows.values.serde
        # A store reads and writes sorted keys in half the time.
        groups, timestamps = grouped_in_order(records.keys), records.timestamps
        states: Sequence[Any]
        before = effects.read(store, rows, groups.keys)
        states, times = read_rows(before, serde, self._fold.start)
        through = self._check_states(records.items, states)
        changes = None
        if not rows.is_cached:
            keys = BatchColumn(records.key_values)
            changes = running_changes(
                self._fold,
                FOLD,
                records,
                keys,
                groups,
                states,
                times,
                through,
                first_state(self.node),
            )
        else:
            states = self._fold.finals(records.items, groups, states, through)
        newest = result_times(FOLD, groups.newest(timestamps), times)
        values = encoded_states(serde, states)
        written = written_rows(newest, values)
        # A cache gets its entries, and sends them, in the order of last changes.
        in_turn = groups.in_turn()
        if self.is_handed_off:
            entries = (last_contexts(records, groups), groups.keys, written)
            contexts, *columns = (taken(column, in_turn) for column in entries)
            self.leave(contexts, effects, *columns)
            return
        effects.write(store, rows, groups.keys, written, newest.tolist(), values)
        if changes is None:
            keys = BatchColumn(encoded=groups.keys, serde=key_serde, is_input=False)
            changes = last_changes(
                records, groups, keys, states, values, serde, newest,
                before if self.node.sends_old else None,
            )  # fmt: skip
            changes = changes.take(in_turn)
        self.forward(changes, effects)


@vectorises(Aggregate)
class AggregateColumns(FoldColumns):
    """``count``, and aggregates over expressions."""

    def __init__(self, node: Aggregate, task: TaskServices) -> None:
        super().__init__(node, task, fold_of(node.initializer, node.fn))


@vectorises(Reduce)
class ReduceColumns(FoldColumns):
    """Reductions by functions that depend on their arguments alone, such as ``max``."""

    def __init__(self, node: Reduce, task: TaskServices) -> None:
        is_known = isinstance(node.fn, ColumnFunction) or any(
            node.fn is reducer for reducer in PURE_REDUCERS
        )
        fold = ReduceFold(node.fn) if is_known else reducing(proven(node.fn, "its reducer"))
        super().__init__(node, task, fold)
