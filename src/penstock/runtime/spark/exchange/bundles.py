"""Bundles: many records of a repartition topic, packed as columns into one Kafka record.

A repartition topic is a real Kafka topic. Writing and reading cost per Kafka record, so one Kafka
record there holds the columns of very many records that one task sent to one partition. Its header
names that task. A partition keeps the order in which a task wrote. So the receiving task has one
queue per upstream task, and takes the smallest timestamp among them. A Kafka record without that
header is a single record: so other programs may write to the topic, and
``penstock.repartition.format=records`` works.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.kernel.raw_columns import RawColumns, Timestamps
from penstock.model.columns.dictionary_bytes import DictionaryBytes, joined_columns
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.stage_request import Skips

#: The header of every bundle; its value names the task that has sent the records in it.
BUNDLE_HEADER = "penstock.bundle"
#: The length in bytes of a header's name and of its value; -1 for a value that is None.
_SIZES = struct.Struct(">ii")
#: A larger bundle is split, because brokers and readers handle a few hundred kilobytes best.
_MOST_BYTES = 1_000_000


def encode_headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """Return headers as bytes: for each one two lengths, then its name and its value.

    The result is None if there are no headers. This is not a pickle: with pickles, every program
    that may write to the topic could run code in a worker.
    """
    parts: list[bytes] = []
    for name, value in headers:
        encoded = name.encode()
        size = -1 if value is None else len(value)
        parts += [_SIZES.pack(len(encoded), size), encoded, value or b""]
    return b"".join(parts) or None


def decode_headers(data: bytes | None) -> Headers:
    found: list[tuple[str, bytes | None]] = []
    at, data = 0, data or b""
    while at < len(data):
        named, size = _SIZES.unpack_from(data, at)
        at += _SIZES.size
        name, at = data[at : at + named].decode(), at + named
        value = None if size < 0 else data[at : at + size]
        at += max(size, 0)
        found.append((name, value))
    return tuple(found)


@dataclass(slots=True)
class Bundle:
    """Records for one partition, as columns. Headers are encoded already."""

    #: The number of the first record among all records that its task has sent in this run.
    sequence: int = 0
    timestamps: Timestamps = field(default_factory=list)
    keys: Sequence[bytes | None] = field(default_factory=list)
    values: Sequence[bytes | None] = field(default_factory=list)
    #: None if no record has headers.
    headers: list[bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.timestamps)

    def cut(self, first: int, after: int | None = None) -> Bundle:
        """Return the records from index ``first`` up to, but not including, index ``after``."""
        span = slice(first, after)
        keys = values = self.keys[span]
        if self.values is not self.keys:
            values = self.values[span]
        headers = None if self.headers is None else self.headers[span]
        return Bundle(self.sequence + first, self.timestamps[span], keys, values, headers)

    def packed(self) -> Iterator[tuple[int, bytes]]:
        """Return the records in Arrow's stream format, split into pieces of at most 1 MB or so."""
        data = self._packed()
        if len(data) <= _MOST_BYTES or len(self) == 1:
            yield self.sequence, data
            return
        middle = len(self) // 2
        yield from self.cut(0, middle).packed()
        yield from self.cut(middle).packed()

    def _packed(self) -> bytes:
        columns = {
            "timestamp": pa.array(self.timestamps, pa.int64()),
            "key": _array(self.keys),
        }
        if self.values is not self.keys:
            columns["value"] = _array(self.values)
        if self.headers is not None:
            columns["headers"] = pa.array(self.headers, pa.binary())
        batch = pa.RecordBatch.from_pydict(columns)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _array(column: Sequence[bytes | None]) -> pa.Array:
    if not isinstance(column, DictionaryBytes):
        return pa.array(column, pa.binary())
    # The smallest integer type that fits, since every byte goes through the broker.
    codes = column.codes.astype(np.min_scalar_type(-len(column.different) - 1))
    is_null = column.codes < 0
    indices = pa.array(codes, mask=is_null if is_null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(column.different, pa.binary()))


def _column(array: pa.Array) -> Sequence[bytes | None]:
    if not isinstance(array, pa.DictionaryArray):
        return array.to_pylist()  # type: ignore[no-any-return]
    codes = array.indices.fill_null(-1).to_numpy().astype(np.int64)
    return DictionaryBytes(codes, array.dictionary.to_pylist())


def unpacked(data: bytes) -> Bundle:
    """Return the records of a bundle."""
    batch = pa.ipc.open_stream(data).read_next_batch()
    headers = batch.column("headers").to_pylist() if "headers" in batch.schema.names else None
    keys = values = _column(batch.column("key"))
    if "value" in batch.schema.names:
        values = _column(batch.column("value"))
    return Bundle(0, batch.column("timestamp").to_numpy(), keys, values, headers)


def bundle_header(task: TaskId, sequence: int) -> Headers:
    return ((BUNDLE_HEADER, f"{task}/{sequence}".encode()),)


class Piece(NamedTuple):
    """The rows of one Kafka record that are in an input, without those processed before."""

    offset: int
    #: The number of rows that earlier batches processed, and of all rows.
    before: int
    rows: int


@dataclass(frozen=True, slots=True)
class Sent:
    """The records that one upstream task sent to one partition, in order.

    They make up one queue of the receiving task.
    """

    topic: str
    partition: int
    #: None for records that are not in a bundle.
    upstream: str | None
    records: RawColumns | Bundle
    pieces: tuple[Piece, ...]
    #: The number of the first record among all records that the upstream task has sent, to any
    #: topic.
    first_sequence: int = 0

    @property
    def order(self) -> tuple[int, int, int]:
        """Return the key by which records of equal timestamps are ordered.

        The order is by upstream task, then by the sequence in which that task sent them.
        """
        if self.upstream is None:
            return -1, 0, 0
        task = TaskId.parse(self.upstream)
        return task.subtopology, task.partition, self.first_sequence

    def __len__(self) -> int:
        return len(self.records)

    @property
    def queue(self) -> str:
        """Return the name of the queue for these records.

        Each upstream task has its own queue. Order is kept within a queue, and timestamps decide
        between queues.
        """
        return self.topic if self.upstream is None else f"{self.topic}|{self.upstream}"

    def columns(self, topic: str, offsets: range) -> RawColumns:
        """Return the records under the topic's real name.

        Args:
            offsets: the offsets that records of bundles get; single records keep their own.
        """
        records = self.records
        if isinstance(records, RawColumns):
            return records
        headers = None
        if records.headers is not None:
            headers = [decode_headers(data) for data in records.headers]
        return RawColumns(
            topic, self.partition, offsets, records.timestamps, records.keys, records.values,
            headers,
        )  # fmt: skip

    def progress(self, consumed: int) -> Iterator[tuple[int, int, int]]:
        """Yield the offset of each Kafka record, its processed rows and all its rows.

        Args:
            consumed: how many records of this queue the task has processed.
        """
        for offset, before, rows in self.pieces:
            taken = min(consumed, rows - before)
            consumed -= taken
            yield offset, before + taken, rows


def split_sent(topic: str, partition: int, read: RawColumns, skips: Skips) -> list[Sent]:
    """Group records of a repartition topic by upstream task, without those already processed."""
    bundles: dict[str, list[Bundle]] = {}
    pieces: dict[str, list[Piece]] = {}
    firsts: dict[str, int] = {}
    plain: list[int] = []
    single: list[Piece] = []
    for place, headers in enumerate(read.headers or [()] * len(read)):
        upstream, sequence = _upstream(headers)
        offset = read.offsets[place]
        if upstream is None:
            single.append(Piece(offset, skips.get(offset, 0), 1))
            if offset not in skips:
                plain.append(place)
            continue
        firsts.setdefault(upstream, sequence)
        bundle, before = unpacked(read.values[place] or b""), skips.get(offset, 0)
        pieces.setdefault(upstream, []).append(Piece(offset, before, len(bundle)))
        bundles.setdefault(upstream, []).append(bundle.cut(before) if before else bundle)
    found = [
        Sent(topic, partition, upstream, _joined(its), tuple(pieces[upstream]), firsts[upstream])
        for upstream, its in bundles.items()
    ]
    if single:
        records = read if len(plain) == len(read) else read.take(plain)
        found.append(Sent(topic, partition, None, records, tuple(single)))
    return found


def position_after(
    progress: Iterable[tuple[int, int, int]], end: int, skips: Skips
) -> tuple[int, Mapping[int, int]]:
    """Return the offset at which reading continues, and how much is processed beyond it.

    Args:
        progress: for each Kafka record its offset, its processed rows and all its rows.
        end: the offset at which reading continues if everything is processed.
        skips: how much earlier batches processed. Because of a limit, this batch may not have
            read all of those Kafka records again; their entries are kept.
    """
    rows = sorted(progress)
    position = next((offset for offset, done, of in rows if done < of), end)
    left = {offset: done for offset, done, of in rows if offset >= position and done}
    return position, left | {offset: done for offset, done in skips.items() if offset >= end}


def _upstream(headers: Headers) -> tuple[str | None, int]:
    """Return the upstream task and the number of the first record; None if not a bundle."""
    for name, value in headers:
        if name == BUNDLE_HEADER and value:
            task, _, sequence = value.decode("ascii").partition("/")
            return task, int(sequence)
    return None, 0


def _joined(bundles: list[Bundle]) -> Bundle:
    if len(bundles) == 1:
        return bundles[0]
    headers: list[bytes | None] | None = None
    if any(bundle.headers is not None for bundle in bundles):
        headers = []
        for bundle in bundles:
            headers += bundle.headers or [None] * len(bundle)
    keys = values = joined_columns([bundle.keys for bundle in bundles])
    if any(bundle.values is not bundle.keys for bundle in bundles):
        values = joined_columns([bundle.values for bundle in bundles])
    times = np.concatenate([np.asarray(each.timestamps, np.int64) for each in bundles])
    return Bundle(0, times, keys, values, headers)
