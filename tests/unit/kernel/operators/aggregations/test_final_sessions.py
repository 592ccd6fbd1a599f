"""Final results of sessions over columns: those of single records."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import penstock as ps
from penstock.testing import TopologyTestDriver


def run(
    engine: Any, batches: list[list[tuple[str, int, int]]], strategy: str, **stored: Any
) -> tuple[list[Any], Any, list[Any]]:
    """Return what comes out, what is dropped, and what the store has in the end."""
    builder = ps.StreamsBuilder()
    windows = ps.SessionWindows.of_inactivity_gap_and_grace("10ms", "5ms")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.windowed_by(windows).emit_strategy(strategy).aggregate(
        ps.sum_(ps.value), materialized=ps.Materialized(name="sums", value="json", **stored)
    )  # fmt: skip
    table.to_stream().to("out", key=ps.WindowedSerdes.session_windowed("string"), value="json")
    config = {"penstock.vectorize": "strict"}
    with TopologyTestDriver(builder.build(), config, engine=engine) as driver:
        for batch in batches:
            driver.pipe_batch({"in": batch})
        if engine == "columns":
            assert all(batch.ran_over_columns for batch in driver.batches)
        rows = [*driver.get_session_store("sums").fetch_range(None, None)]
        return driver.read_records("out"), driver.dropped_records, rows


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("strategy", ["on_window_close", "after_expiry"])
@pytest.mark.parametrize(
    "stored",
    [{}, {"store_type": "in_memory", "retention": "20ms"}, {"retention": "1s"}],
    ids=["on disk", "in memory", "on disk for longer"],
)
def test_columns_change_nothing(stored: dict[str, Any], strategy: str, seed: int) -> None:
    """Late records merge closed sessions with open ones; stores let go of some after a jump."""
    random, now = Random(seed), 0
    batches: list[list[tuple[str, int, int]]] = []
    for _ in range(5):
        batch = []
        for _ in range(random.choice((1, 7, 60))):
            now += random.choice((0, 0, 1, 4, 11, 200 * random.randrange(2)))
            late = random.choice((0, 0, 3, 9, 14, 20))
            batch.append((random.choice("ab"), random.randrange(9), max(0, now - late)))
        batches.append(batch)
    by_record = run("records", batches, strategy, **stored)
    assert run("columns", batches, strategy, **stored) == by_record


def test_session_that_has_left_leaves_again_as_part_of_another_one() -> None:
    """A late record connects it with a session that is still open."""
    first = [("a", 1, 100), ("a", 2, 116), ("b", 4, 116), ("a", 8, 108), ("b", 1, 150)]
    records, _, rows = run("columns", [first], "on_window_close", retention="1s")
    assert [(each.key.key, each.key.start, each.value) for each in records] == [
        ("a", 100, 1), ("a", 100, 11), ("b", 116, 4),
    ]  # fmt: skip
    assert [session.start for session, _ in rows] == [100, 116, 150]
