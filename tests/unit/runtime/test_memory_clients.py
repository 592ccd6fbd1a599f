"""Clients over topics in memory: transactions, refusals and exact ranges."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.runtime.local.memory_clients import (
    InjectedFaultError,
    MemoryAdmin,
    MemoryClients,
    MemoryReader,
    MemoryWriter,
)
from penstock.runtime.local.memory_kafka import MemoryKafka

KEY, VALUE = b"k", b"v"
PART = ("t", 0)


def sent(kafka: MemoryKafka, count: int) -> MemoryWriter:
    """Return a writer with an open transaction of so many records."""
    writer = MemoryWriter(kafka, 0)
    writer.begin()
    writer.send_all("t", [KEY] * count, [VALUE] * count, list(range(count)))
    return writer


def read(kafka: MemoryKafka) -> list[int]:
    records = MemoryReader(kafka).read({PART: (0, len(kafka.logs["t"][0]))})[PART]
    return [record.offset for record in records]


def test_records_appear_at_the_commit_and_its_marker_takes_an_offset() -> None:
    kafka = MemoryKafka()
    kafka.create("t")
    writer = sent(kafka, 2)
    assert read(kafka) == []
    writer.commit({("in", 0): 4}, None)
    writer.begin()
    writer.send("t", KEY, VALUE, 9, (), None)
    writer.commit({("in", 0): 5}, None)
    assert read(kafka) == [0, 1, 3]
    assert kafka.group == {("in", 0): 5}
    assert MemoryAdmin(kafka).end_offsets([PART]) == {PART: 5}


def test_aborted_records_keep_their_offsets_and_are_never_read() -> None:
    kafka = MemoryKafka()
    sent(kafka, 2).abort()
    sent(kafka, 1).commit({}, None)
    assert read(kafka) == [2]


def test_delivery_reports_name_partition_and_offset() -> None:
    kafka = MemoryKafka(partitions=2)
    reports: list[Any] = []
    writer = MemoryWriter(kafka, 0)
    writer.begin()
    writer.send("t", KEY, VALUE, 0, (), 1, lambda error, report: reports.append((error, report)))
    writer.commit({}, None)
    ((error, report),) = reports
    assert (error, report.partition(), report.offset()) == (None, 1, 0)


@pytest.mark.parametrize(("fault", "kept"), [("before", []), ("after", [0])])
def test_a_commit_can_fail_before_or_after_its_effect(fault: str, kept: list[int]) -> None:
    kafka = MemoryKafka()
    kafka.create("t")
    kafka.fault = lambda number: fault if number == 0 else None
    with pytest.raises(InjectedFaultError):
        sent(kafka, 1).commit({}, None)
    assert read(kafka) == kept
    sent(kafka, 1).commit({}, None)


def test_a_refused_record_fails_the_whole_commit() -> None:
    kafka = MemoryKafka()
    kafka.create("t")
    error = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    kafka.refusal = lambda topic, key, value, timestamp: error if timestamp == 1 else None
    with pytest.raises(KafkaException):
        sent(kafka, 3).commit({}, None)
    assert read(kafka) == []


def test_a_fenced_writer_cannot_commit() -> None:
    kafka = MemoryKafka()
    old = sent(kafka, 1)
    sent(kafka, 1).commit({}, None)
    with pytest.raises(AssertionError, match="fenced"):
        old.commit({}, None)


def test_columns_are_read_up_to_so_many_bytes() -> None:
    """Where reading stopped is the offset of the first record that is left."""
    kafka = MemoryKafka()
    sent(kafka, 3).commit({}, None)
    reader = MemoryClients(kafka, "batches").reader()
    whole = reader.read_columns({PART: (0, 4)})
    assert (len(whole.columns[PART]), whole.reached) == (3, {PART: 4})
    cut = reader.read_columns({PART: (0, 4)}, most_bytes=2)
    assert (len(cut.columns[PART]), cut.reached) == (2, {PART: 2})
