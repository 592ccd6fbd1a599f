"""Sliding windows over columns: ``sliding_aggregate_columns`` and ``sliding_merging``."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import penstock as ps
from penstock.kernel.operators.aggregations.sliding_merging import SlidingMerging, Update
from penstock.model.windows.sliding_rule import SlidingRule
from penstock.testing import TestRecord, TopologyTestDriver
from tests.unit.kernel.columns.test_planner import numbers, planned


def merged(*times: int) -> list[Update]:
    """Collect the times of the records of one key in windows of 10 ms."""
    merging = SlidingMerging(
        SlidingRule(10, 100), tuple, lambda state, place: (*(state or ()), times[place]),
        through=None, oldest=lambda newest: newest - 1_000, store_time=-1, is_cached=False,
    )  # fmt: skip
    merging.run([(0, time, max(times)) for time in times])
    return merging.updates


@pytest.mark.parametrize(
    ("times", "windows"),
    [
        ((20, 25), {10: (20,), 15: (20, 25), 21: (25,)}),
        ((20, 30), {10: (20,), 20: (20, 30), 21: (30,)}),
        ((20, 31), {10: (20,), 21: (31,)}),
        ((25, 20), {15: (25, 20), 10: (20,), 21: (25,)}),
        ((5, 3), {0: (5, 3), 4: (5,)}),
        ((20, 20), {10: (20, 20)}),
    ],
)
def test_each_set_of_near_records_has_a_window(
    times: tuple[int, ...], windows: dict[int, tuple[int, ...]]
) -> None:
    """A window per record that ends with it, and one that begins behind it if others are near."""
    last = {each.window[1]: each.state for each in merged(*times)}
    assert last == windows


def run(engine: Any, seed: int, grace: str, **stored: Any) -> tuple[Any, ...]:
    """Run 60 records in three batches; some are early, some late, some have equal times."""
    random, builder = Random(seed), ps.StreamsBuilder()
    windows = ps.SlidingWindows.of_time_difference_and_grace("10ms", grace)
    grouped = builder.stream("in", key="string", value="long").group_by_key()
    kept = ps.Materialized(name="sums", value="long", **stored)
    sums = grouped.windowed_by(windows).reduce(lambda one, other: one + other, kept)
    sums.to_stream().to("out", key=ps.WindowedSerdes.time_windowed("string", 10), value="long")
    with TopologyTestDriver(builder.build(), engine=engine) as driver:
        for batch in range(3):
            driver.pipe_batch({
                "in": [
                    TestRecord(random.choice("ab"), n, 20 * batch + random.randrange(30))
                    for n in range(20)
                ]
            })  # fmt: skip
        assert all(batch.ran_over_columns for batch in driver.batches)
        rows = [*driver.get_timestamped_window_store("sums").all()]
        return driver.read_records("out"), driver.dropped_records, rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("grace", ["0ms", "5ms", "100ms"])
@pytest.mark.parametrize(
    "stored", [{"caching": False}, {"caching": False, "store_type": "in_memory"}],
    ids=["on disk", "in memory"],
)  # fmt: skip
def test_columns_change_nothing(stored: dict[str, Any], grace: str, seed: int) -> None:
    """Every change, in its order, and the rows that the store has in the end."""
    assert run("columns", seed, grace, **stored) == run("records", seed, grace, **stored)


def test_final_results_run_over_columns() -> None:
    near = ps.SlidingWindows.of_time_difference_and_grace("10ms", "5ms")
    plan = planned(
        lambda b: numbers(b).group_by_key().windowed_by(near)
        .emit_strategy(ps.EmitStrategy.ON_WINDOW_CLOSE).count()
    )  # fmt: skip
    assert plan.is_vectorised
