"""Batches in an order that the caller decides: ``penstock.kernel.batch_run``."""

from typing import Any

import pytest

from penstock import StreamsBuilder, StreamsConfig
from penstock.kernel.columns.column_task import column_task
from penstock.kernel.columns.merge_order import runs_among
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.task import StreamTask
from penstock.runtime.local.application import LocalApplication


def columns(topic: str, *times: int) -> RawColumns:
    values = [f"{topic}{time}".encode() for time in times]
    return RawColumns(topic, 0, range(len(times)), [*times], [b"k"] * len(times), values)


def task_of(application: LocalApplication) -> StreamTask:
    task: Any = application.task
    task.columns = column_task(task, application.graph.nodes)
    return task  # type: ignore[no-any-return]


@pytest.mark.parametrize("over_columns", [False, True])
def test_records_are_taken_in_the_order_of_the_caller(*, over_columns: bool) -> None:
    """Whatever their timestamps say, record by record and over columns."""
    builder = StreamsBuilder()
    builder.stream(["one", "two"], key=str, value=str).to("out")
    config = StreamsConfig({"application.id": "app"})
    application = LocalApplication(
        builder.build(), config, 0, on_disk=False, over_columns=over_columns
    )
    task = task_of(application)
    inputs = [("one", columns("one", 1, 4)), ("two", columns("two", 2, 3))]
    task.run_in_order(inputs, [(1, 0, 1), (0, 0, 2), (1, 1, 2)])
    sent = application._outbox.take()
    assert [each.value for each in sent] == [b"two2", b"one1", b"one4", b"two3"]
    assert (task.columns is not None and task.columns.batches > 0) == over_columns


def test_runs_of_some_queues_get_new_numbers() -> None:
    """They are numbered by their places among those that are chosen."""
    assert runs_among([(2, 0, 3), (0, 0, 1), (1, 0, 2)], [1, 2]) == [(1, 0, 3), (0, 0, 2)]


def test_last_record_of_a_batch_keeps_the_time_that_it_has_in_kafka() -> None:
    """Its extractor decides on that of the context; two queues may be of one partition."""
    builder = StreamsBuilder()
    both = builder.stream(
        ["one", "two"], key=str, value=str, timestamp_extractor=lambda record, _: 9 - record.offset
    )
    both.group_by_key().count("counts").to_stream().peek(print)
    config = StreamsConfig({"application.id": "app", "penstock.vectorize": "strict"})
    application = LocalApplication(builder.build(), config, 0, on_disk=False, over_columns=True)
    task = task_of(application)
    task.run_batch([("one", columns("t", 1, 2, 3)), ("two", columns("t", 4, 5))])
    assert task.columns is not None
    assert task.columns.batches == 1
    assert task.current is not None
    assert (task.current.value, task.current.timestamp) == (b"t5", 5)
    assert task.context.timestamp == 8
