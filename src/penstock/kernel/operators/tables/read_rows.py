"""Reads the rows of a table for a column of keys, as ``kernel.value_getter`` does for one key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Places, Times
from penstock.kernel.columns.column_executor import NotVectorisableError, no_form
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.functions import OverSides, expression_of, joiner_of, mapper_of
from penstock.kernel.columns.store_rows import NEVER, bulk_of, read_rows, stored_keys
from penstock.model.rules.table_join_rule import TableJoinRule
from penstock.state.layers.bulk import BulkRows
from penstock.topology.nodes import (
    TableFilter,
    TableJoin,
    TableJoinMerge,
    TableMapValues,
    TableNode,
    TablePassThrough,
)

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

Mask = NDArray[np.bool_]


class Rows(NamedTuple):
    """The row of each key; where there is none, the value is ``None`` and the time ``NEVER``."""

    values: BatchColumn
    times: Times

    @property
    def are_known(self) -> Mask:
        return np.array(self.values.are_known(), bool)

    def keep(self, mask: Mask) -> Rows:
        return Rows(self.values.keep(mask.tolist()), self.times[mask])

    def at(self, mask: Mask) -> Rows:
        """Put the rows to the places where the mask is true; at the others, there is no row."""
        if mask.all():
            return self
        times = np.full(len(mask), NEVER)
        times[mask] = self.times
        return Rows(BatchColumn(spread(mask, self.values.values())), times)


class TableRows(Protocol):
    """Reads rows as they are at this point of the batch. ``stores`` are those that it reads."""

    stores: frozenset[str]

    def read(self, keys: BatchColumn, effects: Effects, order: Places | None = None) -> Rows:
        """Return the row of each key; none of the keys is ``None``.

        ``order`` has the places of the records that ask, if a table that is read may have taken
        changes of other records, and not have written them yet.
        """
        ...


def table_rows(task: TaskServices, table: str) -> TableRows:
    """Return what reads the rows of a table node.

    Raises:
        NotVectorisableError: if they have to be read one by one.
    """
    node = task.node(table)
    match node:
        case TableNode(store=str()):
            return _StoredRows(node, task)
        case TableFilter():
            return _FilteredRows(node, task)
        case TableMapValues():
            return _MappedRows(node, task)
        case TableJoin():
            return _JoinedRows(node, task)
        case TableJoinMerge():
            return table_rows(task, node.left_arm)
        case TablePassThrough():
            return table_rows(task, node.parents[0])
        case _:
            raise NotVectorisableError(no_form(node))


class _StoredRows:
    def __init__(self, node: TableNode, task: TaskServices) -> None:
        self._rows: BulkRows = bulk_of(node, task)
        self._store = node.store or ""
        self.stores = frozenset({self._store})

    def read(self, keys: BatchColumn, effects: Effects, order: Places | None = None) -> Rows:
        store, rows = self._store, self._rows
        names: Sequence[bytes] = stored_keys(keys, rows.keys.serde)  # type: ignore[assignment]
        if order is None:
            found = effects.read(store, rows, names)
        else:
            found = effects.read_at(store, rows, names, order)
        values, times = read_rows(found, self._rows.values.serde, _no_row)
        if None in values and values.count(None) != found.count(None):
            raise NotProvenError("a row has a value that is read as None")
        return Rows(BatchColumn(values), times)


def _no_row() -> None:
    return None


class _DerivedRows:
    """The rows of a table that is computed row by row from its parent."""

    def __init__(self, node: TableNode, task: TaskServices) -> None:
        self._parent = table_rows(task, node.parents[0])
        self.stores = self._parent.stores

    def read(self, keys: BatchColumn, effects: Effects, order: Places | None = None) -> Rows:
        rows = self._parent.read(keys, effects, order)
        known = rows.are_known
        if not known.any():
            return rows
        kept = known.tolist()
        # The functions look at keys and values only.
        some = Batch(keys.keep(kept), rows.values.keep(kept), rows.times[known])
        values = self._derived(some)
        there = [value is not None for value in values]
        times = np.where(there, some.timestamps, NEVER)
        return Rows(BatchColumn(values), times).at(known)

    def _derived(self, rows: Batch) -> Sequence[object]:
        """Return what becomes of the values; ``None`` is no row."""
        raise NotImplementedError


class _FilteredRows(_DerivedRows):
    def __init__(self, node: TableFilter, task: TaskServices) -> None:
        super().__init__(node, task)
        self._predicate = expression_of(node.predicate, "its predicate")
        self._negate = node.negate

    def _derived(self, rows: Batch) -> Sequence[object]:
        answers = zip(rows.values.values(), self._predicate(rows), strict=True)
        return [None if bool(passed) is self._negate else value for value, passed in answers]


class _MappedRows(_DerivedRows):
    def __init__(self, node: TableMapValues, task: TaskServices) -> None:
        super().__init__(node, task)
        self._mapper = mapper_of(node.fn, "its function", with_key=node.with_key)

    def _derived(self, rows: Batch) -> Sequence[object]:
        return self._mapper(rows)


class _JoinedRows:
    """The rows of a join of two tables, computed from both sides."""

    def __init__(self, node: TableJoin, task: TaskServices) -> None:
        self._this = table_rows(task, node.this)
        self._other = table_rows(task, node.other)
        self._join = SideJoin(node)
        self.stores = self._this.stores | self._other.stores

    def read(self, keys: BatchColumn, effects: Effects, order: Places | None = None) -> Rows:
        this, other = (each.read(keys, effects, order) for each in (self._this, self._other))
        values = self._join.joined(keys, this.values, other)
        known = np.array(values.are_known(), bool)
        times = np.maximum(this.times, other.times)
        return Rows(values, np.where(known, times, NEVER))


class SideJoin:
    """Joins values of one side of a table-table join with rows of the other side."""

    def __init__(self, node: TableJoin) -> None:
        self.rule = TableJoinRule(node.needs_other, node.joins_missing)
        self._join: OverSides = joiner_of(node.joiner, with_key=node.with_key)
        self._is_left = node.is_left

    def joined(self, keys: BatchColumn, this: BatchColumn, other: Rows) -> BatchColumn:
        """Return the result of each pair, ``None`` where the joiner is not called."""
        mask = self.rule.has_result(np.array(this.are_known(), bool), other.are_known)
        if not mask.any():
            return BatchColumn([None] * len(mask))
        values = other.values
        if not mask.all():
            kept = mask.tolist()
            keys, this, values = keys.keep(kept), this.keep(kept), values.keep(kept)
        sides = (this, values) if self._is_left else (values, this)
        found = self._join(keys, *sides)
        return BatchColumn(found if mask.all() else spread(mask, found))


def spread(mask: Mask, values: Sequence[Any]) -> list[Any]:
    """Put the values to the places where the mask is true; the others are ``None``."""
    each = iter(values)
    return [next(each) if is_there else None for is_there in mask.tolist()]
