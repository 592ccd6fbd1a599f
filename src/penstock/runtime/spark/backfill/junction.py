"""Where history ends and live begins: an offset for each partition, without a gap or an overlap."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kernel.raw_columns import RawColumns, listed
from penstock.model.partitioning import partition_for
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.history.inputs import BatchInput, millis
from penstock.runtime.spark.worker.reader import RangeReader

#: How many records before the junction are looked at in each partition.
_LOOKED_AT = 100
_AT_ONCE_BYTES = 16 << 20


@dataclass(frozen=True)
class Junction:
    """The junction of one topic: its history as far as it counts, and where live begins.

    Without a history, live begins with the first record that the topic has.
    """

    given: BatchInput | None
    offsets: Mapping[int, int]
    #: How many records the history has.
    records: int


@dataclass(frozen=True)
class Topic:
    """A source topic as the broker has it."""

    name: str
    begins: Mapping[int, int]
    ends: Mapping[int, int]

    @staticmethod
    def of(admin: Admin, name: str, *, committed: bool) -> Topic:
        parts = [(name, each.id) for each in admin.topic(name).partitions]
        begins = admin.begin_offsets(parts)
        ends = admin.end_offsets(parts, committed=committed)
        return Topic(
            name, {n: at for (_, n), at in begins.items()}, {n: at for (_, n), at in ends.items()}
        )


def at_offsets(topic: Topic, given: BatchInput) -> Junction:
    """Join history and live behind the last offset of each partition of the history.

    Raises:
        StreamsError: ``history-gap``, or ``history-ahead`` if the history has offsets that the
            topic does not have yet.
    """
    partition, offset = sf.col(given.partition or ""), sf.col(given.offset or "")
    rows = (
        given.frame.groupBy(partition.cast("int").alias("partition"))
        .agg(sf.max(offset).alias("last"), sf.count("*").alias("records"))
        .collect()
    )
    ends = {row["partition"]: row["last"] + 1 for row in rows}
    # Without a record in the history, everything has to be in the topic.
    offsets = {number: ends.get(number, 0) for number in topic.begins}
    unknown = sorted(ends.keys() - topic.begins.keys())
    if unknown:
        raise StreamsError(
            "history-ahead",
            f"the history of topic {topic.name!r} has partition {unknown[0]}, which the topic does"
            " not have",
            fix="give the history of this topic, or create the topic with as many partitions",
        )
    check_offsets(topic, offsets)
    return Junction(given, offsets, sum(row["records"] for row in rows))


def at_time(
    topic: Topic, given: BatchInput, until_ms: int, admin: Admin, consumer: Mapping[str, Any]
) -> Junction:
    """Join history and live at a time: earlier records are history, all others are live.

    Raises:
        StreamsError: ``history-gap``, ``history-overlap`` if the topic has earlier records behind
            the junction, or ``history-placement`` if keys are in other partitions than Kafka's
            hash of them says.
    """
    parts = [(topic.name, number) for number in topic.begins]
    found = admin.offsets_at(parts, until_ms)
    offsets = {number: at if at >= 0 else topic.ends[number] for (_, number), at in found.items()}
    time = millis(topic.name, given.frame, given.timestamp)
    earlier = replace(given, frame=given.frame.where(time < until_ms))
    newest, records = _newest(earlier, time)
    with closing(RangeReader(consumer)) as reader:
        before = _before(reader, topic, offsets)
        _check_reaches(topic, offsets, before, newest, until_ms)
        if given.partition is None:
            _check_placement(topic, before)
        _check_overlap(reader, topic, offsets, until_ms)
    return Junction(earlier, offsets, records)


def until(given: BatchInput, offsets: Mapping[int, int]) -> BatchInput:
    """Return the part of a history with offsets that comes before the junction."""
    pairs = [sf.lit(each) for pair in offsets.items() for each in pair]
    ends: Column = sf.create_map(*pairs)[sf.col(given.partition or "").cast("int")]
    return replace(given, frame=given.frame.where(sf.col(given.offset or "") < ends))


def check_offsets(topic: Topic, offsets: Mapping[int, int]) -> None:
    """Check that the topic still has the record at every offset, and does not end before it."""
    for number, at in offsets.items():
        if at > topic.ends[number]:
            raise StreamsError(
                "history-ahead",
                f"the history of topic {topic.name!r} partition {number} ends before offset {at},"
                f" but the topic ends at {topic.ends[number]}",
                fix="give the history of this topic; one that was created anew has other offsets",
            )
        if at < topic.begins[number]:
            raise _gap(
                topic.name, number,
                f"the history ends before offset {at}, but the first record of the topic is at"
                f" {topic.begins[number]}",
            )  # fmt: skip


def _newest(given: BatchInput, time: Column) -> tuple[int, int]:
    (row,) = given.frame.agg(sf.max(time).alias("newest"), sf.count("*").alias("n")).collect()
    return -1 if row["newest"] is None else row["newest"], row["n"]


def _before(
    reader: RangeReader, topic: Topic, offsets: Mapping[int, int]
) -> dict[TopicPartition, RawColumns]:
    """Return the last records before the junction that the topic still has."""
    ranges = {
        (topic.name, number): (max(topic.begins[number], at - _LOOKED_AT), at)
        for number, at in offsets.items()
        if at > topic.begins[number]
    }
    return reader.read_columns(ranges).columns if ranges else {}


def _check_reaches(
    topic: Topic,
    offsets: Mapping[int, int],
    before: Mapping[TopicPartition, RawColumns],
    newest: int,
    until_ms: int,
) -> None:
    for number, at in offsets.items():
        if at == topic.begins[number] > 0:
            raise _gap(
                topic.name, number,
                f"its first record, at offset {at}, is not before {until_ms} ms: earlier records"
                " may have been deleted",
            )  # fmt: skip
        records = before.get((topic.name, number))
        last = -1 if records is None or not len(records) else max(listed(records.timestamps))
        if last > newest:
            raise _gap(
                topic.name, number,
                f"it has a record of {last} ms, but the history ends at {newest} ms",
            )  # fmt: skip


def _check_placement(topic: Topic, before: Mapping[TopicPartition, RawColumns]) -> None:
    """Check where producers put keys: seeded stores are where Kafka's hash puts them."""
    count = len(topic.begins)
    for (_, number), records in before.items():
        for key in records.keys:
            if key is not None and partition_for(key, count) != number:
                raise StreamsError(
                    "history-placement",
                    f"topic {topic.name!r} has key {key!r} in partition {number}; Kafka's hash puts"
                    f" it into {partition_for(key, count)}",
                    fix="its producers place keys in another way: give the history a column with"
                    " the partition of each record",
                )


def _check_overlap(
    reader: RangeReader, topic: Topic, offsets: Mapping[int, int], until_ms: int
) -> None:
    """Check that no record behind the junction is earlier: it would count twice, or not at all."""
    for number, at in offsets.items():
        part, end = (topic.name, number), topic.ends[number]
        while at < end:
            found = reader.read_columns({part: (at, end)}, _AT_ONCE_BYTES)
            records = found.columns[part]
            late = [n for n, time in enumerate(listed(records.timestamps)) if time < until_ms]
            if late:
                raise StreamsError(
                    "history-overlap",
                    f"topic {topic.name!r} partition {number} has a record of"
                    f" {records.timestamps[late[0]]} ms at offset {records.offsets[late[0]]},"
                    f" behind the first one from {until_ms} ms on",
                    fix="choose an earlier time, or give the history columns with partition and"
                    " offset",
                )
            at = found.reached[part]


def _gap(topic: str, number: int, why: str) -> StreamsError:
    return StreamsError(
        "history-gap",
        f"records of topic {topic!r} partition {number} are missing between history and live:"
        f" {why}",
        fix="give a longer history, or choose an earlier time",
    )
