"""Timestamp extractors that are asked about whole batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.testing import TestRecord, TopologyTestDriver

Extract = Callable[[Any, int], Any]


def written(extract: Extract, values: list[Any], engine: Any = "columns") -> tuple[Any, list[str]]:
    """Run values through one batch; return the times of the results, and how the batch ran."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in", key="string", value="json", timestamp_extractor=extract)
    stream.to("out", key="string", value="json")
    with TopologyTestDriver(builder.build(), engine=engine) as driver:
        driver.pipe_batch({"in": [TestRecord("k", value, 7) for value in values]})
        times = [record.timestamp for record in driver.read_records("out")]
        return times, [str(each) for each in driver.batches]


def test_extractor_sees_the_partition_time_of_the_records_before() -> None:
    """The highest time of the records that were taken before it, in this batch or earlier."""
    times, batches = written(
        lambda record, now: now + record.value if record.value else record.timestamp, [3, 5, 0, 1]
    )
    assert times == [2, 7, 7, 8]
    assert batches == ["sub-topology 0: 4 records over columns"]


@pytest.mark.parametrize("given", [-1, True])
def test_batch_with_a_time_that_is_none_runs_by_record(given: Any) -> None:
    """A record whose time is negative is dropped; a truth value is a number in Python."""
    times, batches = written(lambda record, _: record.value, [5, given, 6])
    assert times == written(lambda record, _: record.value, [5, given, 6], "records")[0]
    assert batches == ["sub-topology 0: 3 records record by record (a record gets no timestamp)"]


def test_extractor_that_raises_names_its_record() -> None:
    """The batch is given up, and the reference finds the record."""
    with pytest.raises(StreamsError, match="raised ZeroDivisionError"):
        written(lambda record, _: 5 // record.value, [1, 0])


def test_extractor_with_side_effects_keeps_the_task_from_columns() -> None:
    """It would be called for all records before the first of them is processed."""
    seen: list[Any] = []
    times, batches = written(lambda record, _: seen.append(record) or 4, [1])
    assert times == [4]
    assert "its timestamp extractor is a Python function that uses 'append'" in batches[0]


def test_wall_clock_tells_the_time_over_columns() -> None:
    """When a record is asked about is no part of any result."""
    times, batches = written(ps.WallclockTimestampExtractor(), [1, 2])
    assert times[0] > 1_600_000_000_000
    assert "over columns" in batches[0]
