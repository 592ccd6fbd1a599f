"""Windows that leave when they close, over columns: ``aggregations.final_windows``."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.testing import TestRecord, TopologyTestDriver

Row = tuple[str, int, int]
#: Keys, values and times: a late record, a jump over several windows, and one for a closed window.
FIRST: list[Row] = [
    ("b", 1, 0), ("a", 2, 9), ("a", 3, 10), ("a", 4, 9), ("b", 5, 16), ("a", 6, 3), ("a", 7, 70),
]  # fmt: skip
SECOND: list[Row] = [("c", 8, 70), ("c", 9, 71), ("b", 1, 200)]


def closed(
    engine: Any, strategy: str, interval_ms: int = 0, **stored: Any
) -> tuple[list[Any], dict[Any, int]]:
    """Sum numbers in windows of 10 ms with a grace of 5 ms, in two batches."""
    builder = ps.StreamsBuilder()
    windows = ps.TimeWindows.of_size_and_grace("10ms", "5ms")
    grouped = builder.stream("in", key="string", value="long").group_by_key()
    final = grouped.windowed_by(windows).emit_strategy(strategy)
    kept = ps.Materialized(name="sums", value="long", caching=False, **stored)
    sums = final.reduce(lambda one, other: one + other, kept)
    sums.to_stream().to("out", key=ps.WindowedSerdes.time_windowed("string", 10), value="long")
    config = {"__emit.interval.ms__": interval_ms}
    with TopologyTestDriver(builder.build(), config, engine=engine) as driver:
        for batch in (FIRST, SECOND):
            driver.pipe_batch({"in": [TestRecord(*row) for row in batch]})
        assert all(batch.ran_over_columns for batch in driver.batches)
        found = [(r.key.key, r.key.start, r.value, r.timestamp) for r in driver.read_records("out")]
        return found, driver.dropped_records


@pytest.mark.parametrize("interval_ms", [0, 1_000])
@pytest.mark.parametrize("strategy", ["on_window_close", "after_expiry"])
@pytest.mark.parametrize("stored", [{}, {"store_type": "in_memory"}], ids=["on disk", "in memory"])
def test_windows_leave_as_record_by_record(
    stored: dict[str, Any], strategy: str, interval_ms: int
) -> None:
    """In the order of time and key, once, and only as long as the store still has them."""
    assert closed("columns", strategy, interval_ms, **stored) == closed(
        "records", strategy, interval_ms, **stored
    )


def test_windows_leave_at_the_record_that_closes_them() -> None:
    found, _ = closed("columns", "on_window_close")
    assert found[:4] == [("a", 0, 6, 9), ("b", 0, 1, 0), ("a", 10, 3, 10), ("b", 10, 5, 16)]
