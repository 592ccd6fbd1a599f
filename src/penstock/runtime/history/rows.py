"""What goes into a task over history and what comes out of it, as Arrow columns.

Records come in the order of the columns in ``ORDER``. It is the order in which they would have been
processed if each had been processed completely before the next. ``at`` is the time of the record
from outside that a record comes from, and ``tie`` numbers the records from outside within one
millisecond if that matters. ``source`` is the partition that a record from outside was read from,
or the task that sent the record. ``seq`` is its offset, or its number among those that the task
sent. Headers are JSON, as Spark's ``to_json`` writes an array of structs: Spark takes 3 µs to hand
an array that is missing over to Python, and hardly any time for a text that is.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from penstock.model.record import Headers

Longs: TypeAlias = NDArray[np.int64]

#: The order of the records of a task.
ORDER = ("at", "tie", "source", "seq", "key", "value")
#: Bits of ``source`` for the number of a partition or a task. Above are the number of the topic
#: or, from here on, that of the pass.
PARTITION_BITS, PASSES = 16, 1 << 12

#: Records for the tasks of one pass. ``task`` is the number of the task, ``input`` that of the
#: topic among those of the pass.
INPUT_SCHEMA = pa.schema(
    [
        ("task", pa.int32()),
        ("input", pa.int32()),
        ("at", pa.int64()),
        ("tie", pa.int64()),
        ("source", pa.int32()),
        ("seq", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.string()),
    ]
)

#: What tasks return. ``target`` says what a row is: a number of the pass's targets, or one of the
#: negative numbers below. ``name`` is only there for those.
OUTPUT_SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("name", pa.string()),
        ("task", pa.int32()),
        ("at", pa.int64()),
        ("tie", pa.int64()),
        ("source", pa.int32()),
        ("seq", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.string()),
    ]
)

#: A record for a topic whose name a function chose; ``name`` is the topic.
OTHER_TOPIC = -1
#: A row of the store ``name``: ``at`` and ``tie`` are the bounds of its window or its validity.
STORE_ROW = -2
#: A record for the changelog of the store ``name``; ``seq`` orders those of one task.
CHANGELOG = -3
#: How many records were dropped: ``name`` is the node, ``key`` the reason, ``seq`` the number.
DROPPED = -4
#: The clocks of a task at the end of its history, as JSON in ``value``; ``name`` is its id.
CLOCKS = -5
#: The last offset of a partition that was read: ``name`` is the topic, ``seq`` the next offset.
POSITION = -6


@dataclass(frozen=True, slots=True)
class Rows:
    """Some records of one task in their order, as columns."""

    inputs: NDArray[np.int32]
    at: Longs
    tie: Longs
    source: NDArray[np.int32]
    seq: Longs
    timestamps: Longs
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers] | None

    def __len__(self) -> int:
        return len(self.keys)


def rows_of(table: pa.Table) -> Rows:
    """Return the columns of input records."""

    def numbers(name: str) -> Any:
        return table.column(name).to_numpy()

    headers = table.column("headers")
    has_headers = headers.null_count < len(headers)
    return Rows(
        numbers("input"), numbers("at"), numbers("tie"), numbers("source"), numbers("seq"),
        numbers("timestamp"), table.column("key").to_pylist(), table.column("value").to_pylist(),
        [headers_of(each) for each in headers.to_pylist()] if has_headers else None,
    )  # fmt: skip


def headers_of(text: str | None) -> Headers:
    """Return the headers of a record from their JSON; there are none without it."""
    if text is None:
        return ()
    return tuple(
        (each["key"], None if (value := each.get("value")) is None else b64decode(value))
        for each in orjson.loads(text)
    )


def header_texts(headers: Sequence[Headers]) -> list[str | None]:
    """Return the headers of each record as JSON; None for a record without headers."""
    return [_text(each) if each else None for each in headers]


def _text(headers: Headers) -> str:
    rows = [
        {"key": name, "value": None if value is None else b64encode(value).decode()}
        for name, value in headers
    ]
    return orjson.dumps(rows).decode()


def output_batch(**columns: Any) -> pa.RecordBatch:
    """Return a batch of rows; a column that is left out has no values."""
    size = len(next(each for each in columns.values() if each is not None))
    arrays = [
        pa.nulls(size, field.type)
        if columns.get(field.name) is None
        else pa.array(columns[field.name], field.type)
        for field in OUTPUT_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=OUTPUT_SCHEMA)
