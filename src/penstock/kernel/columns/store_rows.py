"""The rows of a timestamped store as columns: eight bytes of timestamp, then the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import BatchColumn, Times
from penstock.kernel.columns.column_executor import NotVectorisableError, require_known
from penstock.serde.base import Serde
from penstock.serde.columns import decode_all
from penstock.topology.nodes.node import TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

#: The timestamp of a row that does not exist: it is before all others.
NEVER = np.iinfo(np.int64).min


def read_rows(
    rows: Sequence[bytes | None], serde: Serde[Any], missing: Callable[[], Any]
) -> tuple[list[Any], Times]:
    """Return the values and timestamps of rows; ``missing`` makes the value of a missing row."""
    present = [row for row in rows if row is not None]
    values = decode_all(serde, [row[8:] for row in present])
    times = read_times([row[:8] for row in present])
    if len(present) == len(rows):
        return list(values), times
    all_times = np.full(len(rows), NEVER)
    all_times[[row is not None for row in rows]] = times
    found, first = iter(values), missing()
    if isinstance(first, list | dict):
        return [missing() if row is None else next(found) for row in rows], all_times
    if not present:
        return [first] * len(rows), all_times
    return [first if row is None else next(found) for row in rows], all_times


def read_times(heads: Sequence[bytes]) -> Times:
    """Return the timestamps of rows, given their first eight bytes."""
    return np.frombuffer(b"".join(heads), ">i8").astype(np.int64)


def bare(rows: Sequence[bytes | None]) -> list[bytes | None]:
    """Return the bytes of values: rows without their timestamps."""
    return [None if row is None else row[8:] for row in rows]


def written_rows(times: Times, values: Sequence[bytes]) -> list[bytes]:
    """Return the rows of values with their timestamps."""
    heads = times.astype(">i8").view("V8").tolist()
    return [head + value for head, value in zip(heads, values, strict=True)]


def changed_rows(times: Times, values: Sequence[bytes | None]) -> list[bytes | None]:
    """Return the rows of values with their timestamps; ``None`` for a row that is deleted."""
    heads = zip(times.astype(">i8").view("V8").tolist(), values, strict=True)
    return [None if value is None else head + value for head, value in heads]


def bulk_of(node: TableNode, task: TaskServices) -> Any:
    """Return the rows of the node's store; raise if they have to be read one by one."""
    if node.versioned:
        raise NotVectorisableError("its store is versioned")
    store = task.store(node.store or "")
    bulk = getattr(store, "bulk", None)
    if bulk is None:
        raise NotVectorisableError(f"store {store.name!r} of kind {store.kind} has no column form")
    require_known(bulk.keys.serde, f"key of store {store.name!r}:")
    require_known(bulk.values.serde, f"value of store {store.name!r}:")
    return bulk


def stored_keys(keys: BatchColumn, serde: Serde[Any]) -> Sequence[bytes | None]:
    """Return the bytes of keys; raise if the serde has no bytes for a key that is not null."""
    found = keys.encoded(serde)
    if None in found and any(
        data is None and is_known for data, is_known in zip(found, keys.are_known(), strict=True)
    ):
        raise NotProvenError("a key has no bytes")
    return found


def settled(rows: Any) -> None:
    if not rows.is_settled:
        raise NotProvenError("its cache holds changes that were not passed on yet")


def encoded_values(serde: Serde[Any], values: Sequence[Any]) -> Sequence[bytes | None]:
    """Return the bytes of values; raise if one that is not ``None`` has none."""
    found = BatchColumn(values).encoded(serde)
    if any(data is None and value is not None for data, value in zip(found, values, strict=True)):
        raise NotProvenError("a value has no bytes")
    return found


def encoded_states(serde: Serde[Any], states: Sequence[Any]) -> Sequence[bytes]:
    """Return the bytes of new states; raise if one is ``None``, which would delete its row."""
    values = BatchColumn(states).encoded(serde)
    if None in values:
        raise NotProvenError("an aggregate is None")
    return values  # type: ignore[return-value]
