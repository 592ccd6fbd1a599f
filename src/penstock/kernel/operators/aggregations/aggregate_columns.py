"""Folds a grouped stream over columns. Record at a time: ``aggregate.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import Batch, Column, NotProvenError, Times
from penstock.kernel.columns.cache_handoff import CachedFold, last_contexts
from penstock.kernel.columns.column_executor import NotVectorisableError, require_known, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.folds import ColumnFold, ReduceFold, Through, check_known
from penstock.kernel.columns.functions import PURE_REDUCERS
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups, grouped_in_order
from penstock.kernel.columns.known_folds import fold_of
from penstock.kernel.columns.store_fidelity import state_check
from penstock.kernel.columns.store_rows import read_rows, written_rows
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.row_columns import taken
from penstock.serde.base import Serde
from penstock.serde.columns import known
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes import Aggregate, Reduce
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class FoldColumns(CachedFold):
    """One read and one write per key of the batch, however many records it has.

    Behind a cache each key is sent once, as it is after the batch, in the order in which the keys
    changed last: what the cache's flush at the commit would send. Without one, every change is.
    """

    _rows: BulkRows

    def __init__(self, node: TableNode, task: TaskServices, fold: ColumnFold | None) -> None:
        if fold is None:
            raise NotVectorisableError("its function is not known: count and expressions are")
        self._fold = fold
        super().__init__(node, task, bulk_of(node, task, may_send_old=True))
        self._check_states = state_check(self._rows.values.serde, fold)
        self._gathered = Gathered()
        self.runs_once = self._rows.is_cached
        self.hides_order = fold.is_order_free and self._rows.is_cached

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.keys.has_nulls() or batch.values.has_nulls():
            known = zip(batch.keys.are_known(), batch.values.are_known(), strict=True)
            mask = [has_key and has_value for has_key, has_value in known]
            effects.drop(self.node.name, "null-key-or-value", mask.count(False))
            batch = batch.keep(mask)
        if len(batch):
            keys = stored_keys(batch.keys, self._rows.keys.serde)
            self._gathered.add(
                keys, self._fold.items(batch), batch.timestamps, batch.headers,
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
        # The store finds and keeps neighbours in half the time.
        groups, timestamps = grouped_in_order(records.keys), records.timestamps
        states: Sequence[Any]
        states, times = read_rows(effects.read(store, rows, groups.keys), serde, self._fold.start)
        through = self._check_states(records.items, states)
        changes = None
        if not rows.is_cached:
            keys = Column(records.key_values)
            changes = running_changes(self._fold, records, keys, groups, states, times, through)
        else:
            states = self._fold.finals(records.items, groups, states, through)
        newest = np.maximum(times, groups.newest(timestamps))
        values = encoded_states(serde, states)
        written = written_rows(newest, values)
        # In this order a cache gets and sends them.
        in_turn = np.argsort(groups.last_places())
        if self.is_handed_off:
            entries = (last_contexts(records, groups), groups.keys, written)
            contexts, *columns = (taken(column, in_turn) for column in entries)
            self.leave(contexts, effects, *columns)
            return
        effects.write(store, rows, groups.keys, written, newest.tolist(), values)
        if changes is None:
            keys = Column(encoded=groups.keys, serde=key_serde, is_input=False)
            changes = last_changes(records, groups, keys, states, values, serde, newest)
            changes = changes.take(in_turn)
        self.forward(changes, effects)


@vectorises(Aggregate)
class AggregateColumns(FoldColumns):
    """``count``, and aggregates over expressions."""

    def __init__(self, node: Aggregate, task: TaskServices) -> None:
        super().__init__(node, task, fold_of(node.initializer, node.fn))


@vectorises(Reduce)
class ReduceColumns(FoldColumns):
    """Reductions by functions that are known to be pure, such as ``max`` and ``operator.add``."""

    def __init__(self, node: Reduce, task: TaskServices) -> None:
        is_known = isinstance(node.fn, ColumnFunction) or any(
            node.fn is reducer for reducer in PURE_REDUCERS
        )
        super().__init__(node, task, ReduceFold(node.fn) if is_known else None)


def bulk_of(node: TableNode, task: TaskServices, *, may_send_old: bool = False) -> Any:
    """The rows of the node's store; raises where they have to be seen one by one.

    Old values are sent only by a cache, and only for whoever leaves that to it.
    """
    if node.versioned:
        raise NotVectorisableError("its store is versioned")
    store = task.store(node.store or "")
    bulk = getattr(store, "bulk", None)
    if bulk is None:
        raise NotVectorisableError(f"store {store.name!r} of kind {store.kind} has no column form")
    if node.sends_old and not (may_send_old and bulk.is_cached):
        raise NotVectorisableError("its old values are needed, and no cache knows them")
    require_known(bulk.keys.serde, f"key of store {store.name!r}:")
    require_known(bulk.values.serde, f"value of store {store.name!r}:")
    return bulk


def stored_keys(keys: Column, serde: Serde[Any]) -> Sequence[bytes | None]:
    """The bytes of keys. A key that is there and has none is left to the store itself."""
    found = keys.encoded(serde)
    if None in found and any(
        data is None and is_known for data, is_known in zip(found, keys.are_known(), strict=True)
    ):
        raise NotProvenError("a key has no bytes")
    return found


def settled(rows: Any) -> None:
    if not rows.is_settled:
        raise NotProvenError("its cache holds changes that were not passed on yet")


def encoded_states(serde: Serde[Any], states: Sequence[Any]) -> Sequence[bytes]:
    """The bytes of new states. A state of None would delete its row."""
    values = Column(states).encoded(serde)
    if None in values:
        raise NotProvenError("an aggregate is None")
    return values  # type: ignore[return-value]


def last_changes(
    records: Gathered,
    groups: Groups,
    keys: Column,
    states: Sequence[Any],
    values: Sequence[bytes],
    serde: Serde[Any],
    newest: Times,
) -> Batch:
    """What a cache sends at the commit: each group as it is in the store, with its last headers."""
    headers = records.headers
    places = groups.last_places()
    if headers is not None:
        headers = [headers[place] for place in places.tolist()]
    origins = None if records.origins is None else records.origins.at(places)
    # A cache reads back what it wrote, and so turns an int in a store of doubles into a float.
    changed = Column(states if known(serde).keeps_values else None, values, serde, is_input=False)
    return Batch(keys, changed, newest, headers, origins)


def running_changes(
    fold: ColumnFold,
    records: Gathered,
    keys: Column,
    groups: Groups,
    states: list[Any],
    times: Times,
    through: Through | None,
) -> Batch:
    """Every change on its own, each with the highest time of its group so far."""
    values = fold.running(records.items, groups, states, through)
    check_known(values)
    newest = times.tolist()
    at = []
    for code, timestamp in zip(groups.codes.tolist(), records.timestamps.tolist(), strict=True):
        if timestamp > newest[code]:
            newest[code] = timestamp
        at.append(newest[code])
    times_so_far = np.array(at, np.int64)
    return Batch(keys, Column(values), times_so_far, records.headers, records.origins)
