"""The rows of a store after history, with keys and values as the store's serdes write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.kernel.serdes import required_serde
from penstock.kernel.settings import TaskSettings
from penstock.runtime.history.rows import STORE_ROW, output_batch
from penstock.serde.base import Serde
from penstock.state.header_rows import face
from penstock.state.spec import StoreHeaders, StoreKind, StoreSpec

#: Rows in one batch.
_AT_ONCE = 10_000

#: The kinds of stores that have rows of the program; the others are buffers of operators.
READABLE = frozenset(
    {
        StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE, StoreKind.VERSIONED_KEY_VALUE,
        StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW, StoreKind.SESSION,
    }
)  # fmt: skip
#: Kinds whose keys have a window.
WINDOWED = frozenset({StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW, StoreKind.SESSION})


class StoreSerdes(NamedTuple):
    """How the keys and values of a store are written."""

    key: Serde[Any]
    value: Serde[Any]
    topic: str

    @staticmethod
    def of(spec: StoreSpec, settings: TaskSettings) -> StoreSerdes:
        what = f"store {spec.name!r}"
        return StoreSerdes(
            required_serde(spec.key_serde, settings.defaults, "key", what, spec.site),
            required_serde(spec.value_serde, settings.defaults, "value", what, spec.site),
            settings.changelog_topic(spec.name),
        )


class _Row(NamedTuple):
    """One entry. ``start`` and ``end`` bound its window, or the validity of a version."""

    key: Any
    value: Any
    timestamp: int | None = None
    start: int | None = None
    end: int | None = None


def store_batches(
    store: Any, spec: StoreSpec, settings: TaskSettings, task: int
) -> Iterator[pa.RecordBatch]:
    """Return all rows of one store of a task."""
    if spec.kind not in READABLE:
        return
    serdes = StoreSerdes.of(spec, settings)
    rows = _rows(face(store, StoreHeaders.KEPT) if hasattr(store, "headers") else store)
    while some := list(islice(rows, _AT_ONCE)):
        yield _batch(spec.name, serdes, some, task)


def _batch(name: str, serdes: StoreSerdes, rows: list[_Row], task: int) -> pa.RecordBatch:
    write_key, write_value, topic = serdes.key.serialize, serdes.value.serialize, serdes.topic
    return output_batch(
        target=np.full(len(rows), STORE_ROW, np.int32),
        name=[name] * len(rows),
        task=np.full(len(rows), task, np.int32),
        key=[write_key(topic, row.key) for row in rows],
        value=[write_value(topic, row.value) for row in rows],
        timestamp=[row.timestamp for row in rows],
        at=[row.start for row in rows],
        tie=[row.end for row in rows],
    )


def _rows(store: Any) -> Iterator[_Row]:
    match store.kind:
        case StoreKind.KEY_VALUE:
            return (_Row(key, value) for key, value in store.all())
        case StoreKind.TIMESTAMPED_KEY_VALUE:
            return (_Row(key, each.value, each.timestamp) for key, each in store.all())
        case StoreKind.WINDOW:
            return _windowed(store.all())
        case StoreKind.TIMESTAMPED_WINDOW:
            return (
                _Row(at.key, each.value, each.timestamp, at.start, at.end)
                for at, each in store.all()
            )
        case StoreKind.SESSION:
            return _windowed(store.fetch_range(None, None))
        case _:
            return (
                _Row(key, each.value, each.timestamp, each.timestamp, each.valid_to)
                for key, each in store.all_versions()
            )


def _windowed(entries: Iterable[tuple[Any, Any]]) -> Iterator[_Row]:
    return (_Row(at.key, value, None, at.start, at.end) for at, value in entries)
