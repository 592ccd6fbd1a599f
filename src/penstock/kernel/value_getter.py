"""Reads a table for another operator: from its store, or computed from its parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import UnsupportedOperationError
from penstock.kernel.operators.joins.joiner import join_of
from penstock.kernel.operators.tables.table_store import Rows, rows_of
from penstock.kernel.operators.tables.table_transform_values import TransformedRow
from penstock.model.rules.table_join_rule import TableJoinRule
from penstock.model.versioned import ValueAndTimestamp
from penstock.state.buffer.buffered import TimeOrderedBuffer
from penstock.state.spec import StoreKind
from penstock.topology.nodes import (
    Node,
    Suppress,
    TableFilter,
    TableGroupBy,
    TableJoin,
    TableJoinMerge,
    TableMapValues,
    TableNode,
    TablePassThrough,
    TableTransformValues,
)

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

Row = ValueAndTimestamp | None
RowFunction = Callable[[Any, Row], Row]


class ValueGetter(Protocol):
    """Reads the current row of a table, with the timestamp of its last update."""

    #: Whether ``get_as_of`` can return earlier rows.
    is_versioned: bool

    def get(self, key: Any) -> Row: ...

    def get_as_of(self, key: Any, timestamp: int) -> Row: ...

    def close(self) -> None: ...


def value_getter_for(task: TaskServices, table: str, reader: Node | None = None) -> ValueGetter:
    """Return a getter for one reader of the table node; the reader closes it.

    User code that a read calls may use the stores that the reader is connected to.
    """
    node = task.node(table)
    match node:
        case TableNode(store=str(store)):
            return _stored(task.store(store))
        case TableFilter():
            return MappedRows(_parent(task, node, reader), _filtered(node))
        case TableMapValues():
            return MappedRows(_parent(task, node, reader), _mapped(node))
        case TableGroupBy():
            return MappedRows(_parent(task, node, reader), _regrouped(node))
        case TableTransformValues():
            row = TransformedRow(node, task, reader or node)
            return MappedRows(_parent(task, node, reader), row, on_close=row.close)
        case TableJoin():
            return JoinedRows(node, task, reader)
        case TableJoinMerge():
            return value_getter_for(task, node.left_arm, reader)
        case Suppress():
            return SuppressedRows(task.store(node.buffer), _parent(task, node, reader))
        case TablePassThrough():
            return _parent(task, node, reader)
        case _:
            raise UnsupportedOperationError(
                "table-not-readable",
                f"node {table!r} is a {type(node).__name__} without a store: its rows cannot be"
                " looked up",
                fix="materialize the table",
                at=node.site,
            )


def _parent(task: TaskServices, node: Node, reader: Node | None) -> ValueGetter:
    return value_getter_for(task, node.parents[0], reader)


def _stored(store: Any) -> ValueGetter:
    if store.kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW):
        return WindowedRows(store)
    if store.kind is StoreKind.SESSION:
        return SessionRows(store)
    return StoredRows(rows_of(store))


class StoredRows:
    """The rows of a materialized table."""

    def __init__(self, rows: Rows) -> None:
        self.is_versioned = rows.is_versioned
        self.get = rows.get
        self.get_as_of = rows.get_as_of

    def close(self) -> None:
        """Do nothing: the task closes the store."""


class _LatestRows:
    """What getters without earlier rows have in common."""

    is_versioned = False

    def get_as_of(self, key: Any, timestamp: int) -> Row:
        raise UnsupportedOperationError(
            "table-not-versioned", f"{type(self).__name__} has no row as of {timestamp}"
        )

    def close(self) -> None:
        """Do nothing: the task closes the store."""


class WindowedRows(_LatestRows):
    """The rows of a windowed aggregation, by windowed key."""

    def __init__(self, store: Any) -> None:
        self._fetch = store.fetch

    def get(self, key: Any) -> Row:
        row: Row = self._fetch(key.key, key.window.start)
        return row


class SessionRows(_LatestRows):
    """The rows of a session aggregation, by windowed key. Their timestamp is the session's end."""

    def __init__(self, store: Any) -> None:
        self._fetch = store.fetch_session

    def get(self, key: Any) -> Row:
        start, end = key.window.start, key.window.end
        return _row(self._fetch(key.key, start, end), end)


class MappedRows:
    """The rows of a table that is computed row by row from its parent."""

    def __init__(
        self, parent: ValueGetter, row: RowFunction, on_close: Callable[[], None] | None = None
    ) -> None:
        self.is_versioned = parent.is_versioned
        self._parent = parent
        self._row = row
        self._on_close = on_close

    def get(self, key: Any) -> Row:
        return self._row(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Row:
        return self._row(key, self._parent.get_as_of(key, timestamp))

    def close(self) -> None:
        self._parent.close()
        if self._on_close is not None:
            self._on_close()


class JoinedRows(_LatestRows):
    """The rows of a table-table join, computed from both sides.

    They are not versioned even if both sides are. In Kafka Streams, the result of a join never is.
    """

    def __init__(self, node: TableJoin, task: TaskServices, reader: Node | None) -> None:
        self._this = value_getter_for(task, node.this, reader)
        self._other = value_getter_for(task, node.other, reader)
        self._join = join_of(node.joiner, with_key=node.with_key, is_left=node.is_left)
        self._rule = TableJoinRule(node.needs_other, node.joins_missing)

    def get(self, key: Any) -> Row:
        this, other = self._this.get(key), self._other.get(key)
        if not self._rule.has_result(this is not None, other is not None):
            return None
        sides = [None if row is None else row.value for row in (this, other)]
        times = [row.timestamp for row in (this, other) if row is not None]
        return _row(self._join(key, *sides), max(times))

    def close(self) -> None:
        self._this.close()
        self._other.close()


class SuppressedRows(_LatestRows):
    """The rows as nodes after a ``suppress`` know them: without changes that are held back."""

    def __init__(self, buffer: TimeOrderedBuffer, parent: ValueGetter) -> None:
        self._prior_value = buffer.prior_value_for_buffered
        self._parent = parent

    def get(self, key: Any) -> Row:
        is_buffered, prior = self._prior_value(key)
        return prior if is_buffered else self._parent.get(key)

    def close(self) -> None:
        self._parent.close()


def _row(value: Any, timestamp: int) -> Row:
    return None if value is None else ValueAndTimestamp(value, timestamp)


def _filtered(node: TableFilter) -> RowFunction:
    predicate, negate = node.predicate, node.negate

    def filtered(key: Any, row: Row) -> Row:
        if row is None or bool(predicate(key, row.value)) is negate:
            return None
        return row

    return filtered


def _mapped(node: TableMapValues) -> RowFunction:
    fn, with_key = node.fn, node.with_key

    def mapped(key: Any, row: Row) -> Row:
        if row is None:
            return None
        return _row(fn(key, row.value) if with_key else fn(row.value), row.timestamp)

    return mapped


def _regrouped(node: TableGroupBy) -> RowFunction:
    def regrouped(key: Any, row: Row) -> Row:
        return None if row is None else _row(node.fn(key, row.value), row.timestamp)

    return regrouped
