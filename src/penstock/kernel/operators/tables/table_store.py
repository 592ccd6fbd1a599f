"""The store of a materialized table. A timestamped and a versioned store have one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import StoreError
from penstock.kernel.operators.tables.table_forwarder import TableForwarder
from penstock.model.record import Headers
from penstock.model.versioned import (
    PUT_RETURN_CODE_NOT_PUT,
    PUT_RETURN_CODE_VALID_TO_UNDEFINED,
    ValueAndTimestamp,
)
from penstock.state.spec import StoreKind

if TYPE_CHECKING:
    from penstock.kernel.executor import Executor


class Rows(Protocol):
    """The rows of a table. ``put`` returns what ``put`` of a versioned store returns."""

    is_versioned: bool

    def get(self, key: Any) -> ValueAndTimestamp | None: ...
    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None: ...
    def put(self, key: Any, value: Any, timestamp: int) -> int: ...


class TimestampedRows:
    """Rows in a timestamped store: every ``put`` makes the latest row, whatever its time."""

    is_versioned = False

    def __init__(self, store: Any) -> None:
        self.get = store.get
        self._name = store.name
        self._put = store.put

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        raise StoreError(
            "store-not-versioned",
            f"store {self._name!r} keeps only the latest value of a key, none as of {timestamp}",
            fix="materialize the table in a versioned key-value store",
        )

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        self._put(key, None if value is None else ValueAndTimestamp(value, timestamp))
        return PUT_RETURN_CODE_VALID_TO_UNDEFINED


class VersionedRows:
    """Rows in a versioned store: a ``put`` may be older than the latest row, or too old."""

    is_versioned = True

    def __init__(self, store: Any) -> None:
        self._get = store.get
        self.put = store.put

    def get(self, key: Any) -> ValueAndTimestamp | None:
        record = self._get(key)
        return None if record is None else ValueAndTimestamp(record.value, record.timestamp)

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        record = self._get(key, timestamp)
        return None if record is None else ValueAndTimestamp(record.value, record.timestamp)


def rows_of(store: Any) -> Rows:
    """Return the rows of a store that can hold a table with plain keys."""
    if store.kind is StoreKind.TIMESTAMPED_KEY_VALUE:
        return TimestampedRows(store)
    if store.kind is StoreKind.VERSIONED_KEY_VALUE:
        return VersionedRows(store)
    raise StoreError(
        "store-cannot-hold-table",
        f"store {store.name!r} is of kind {store.kind.value!r} and cannot hold a table",
        fix="give the table a timestamped or a versioned key-value store",
    )


class MaterializedTable:
    """Writes a table's rows to its store and forwards each change, at once or from its cache."""

    def __init__(self, executor: Executor[Any]) -> None:
        node = executor.node
        store = executor.task.store(node.store)
        rows = rows_of(store)
        self._forwarder = TableForwarder(store, executor, sends_old=node.sends_old)
        self.is_cached = self._forwarder.is_cached
        self.get = rows.get
        self._put = rows.put

    def value(self, key: Any) -> Any:
        """Return the value that the key has now, without its timestamp."""
        row = self.get(key)
        return None if row is None else row.value

    def update(self, key: Any, new: Any, old: Any, timestamp: int, headers: Headers) -> None:
        """Store the new value; if the store refuses it as too old, forward nothing."""
        code = self._put(key, new, timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            latest = code == PUT_RETURN_CODE_VALID_TO_UNDEFINED
            self._forwarder.forward(key, new, old, timestamp, headers, latest)


def materialized(executor: Executor[Any]) -> MaterializedTable | None:
    """Return the table in the store of the executor's node, or ``None`` if the node has none."""
    return None if executor.node.store is None else MaterializedTable(executor)
