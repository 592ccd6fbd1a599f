"""The test driver over columns: what it takes together, what it reports, what it refuses.

Exercises ``batch_run``, ``kernel.settings``, ``column_batches``, ``local.application``,
``testing.driver`` and ``topology.subtopology``.
"""

from __future__ import annotations

from typing import Any

import penstock as ps
from penstock.testing import BatchReport, TopologyTestDriver

amount = ps.col("n")


def sums(builder: ps.StreamsBuilder) -> None:
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.aggregate(ps.sum_(amount), materialized="sums", value="json")
    table.to_stream().to("out", key="string", value="json")


def regrouped(builder: ps.StreamsBuilder) -> None:
    """Two sub-topologies: a serde without a column form in the first, none in the second."""
    stream = builder.stream("in", key="string", value="json")
    stream.to("pickled", value="pickle")
    grouped = stream.group_by(ps.col("s"), key="string", value="json")
    grouped.count("counts").to_stream().to("out", key="string", value="long")


def joined_behind_a_repartition(builder: ps.StreamsBuilder) -> None:
    """The second sub-topology reads a topic of its own and what the first one sends."""
    rows = builder.table("rows", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json").select_key(ps.col("s"))
    moved = stream.repartition(ps.Repartitioned(key="string", value="json"))
    both = ps.struct(one=ps.left["n"], other=ps.right["n"])
    moved.left_join(rows, both).to("out", key="string", value="json")


def driver_of(build: Any, engine: Any = "columns", **config: Any) -> TopologyTestDriver:
    builder = ps.StreamsBuilder()
    build(builder)
    return TopologyTestDriver(builder.build(), config, engine=engine)


def test_a_batch_runs_over_columns_at_once() -> None:
    """However few records it has; caches let out one result per key."""
    with driver_of(sums) as driver:
        driver.pipe_batch({"in": [("a", {"n": 1}), ("b", {"n": 2}), ("a", {"n": 3})]})
        assert driver.batches == [BatchReport(0, 3)]
        assert driver.read_key_values("out") == [("b", 2), ("a", 4)]


def test_records_are_batches_of_their_own() -> None:
    """Each is committed before the next one, as by record."""
    with driver_of(sums) as driver:
        driver.pipe("in", ("a", {"n": 1}), ("a", {"n": 3}))
        assert driver.batches == [BatchReport(0, 1)] * 2
        assert driver.read_key_values("out") == [("a", 1), ("a", 4)]


def test_each_sub_topology_runs_its_own_way() -> None:
    """A serde keeps its own sub-topology from columns; the others have none."""
    with driver_of(regrouped) as driver:
        driver.pipe_batch({"in": [("a", {"s": "x"}), ("b", {"s": "x"})]})
        first, second = driver.batches
        assert (first.subtopology, first.records, first.ran_over_columns) == (0, 2, False)
        assert "serde PickleSerde has no column form" in str(first)
        assert str(second) == "sub-topology 1: 2 records over columns"
        assert driver.read_map("out") == {"x": 2}


def test_a_sub_topology_waits_for_those_that_feed_it() -> None:
    """As stages on Spark do: else it would take its own records without those of the others."""
    table = {"rows": [("x", {"n": 5}, 1)], "in": [("a", {"s": "x", "n": 1}, 2)]}
    for inputs in (table, dict(reversed(table.items()))):
        with driver_of(joined_behind_a_repartition) as driver:
            driver.pipe_batch(inputs)
            assert [batch.records for batch in driver.batches] == [1, 2]
            assert driver.read_values("out") == [{"one": 1, "other": 5}]


def test_a_batch_that_cannot_be_proven_says_why() -> None:
    """It runs record by record, with the handlers."""
    handler = {"processing.exception.handler": "continue"}
    with driver_of(sums, **handler) as driver:
        driver.pipe_batch({"in": [("a", {"n": 1}), ("a", {"n": "x"})]})
        (batch,) = driver.batches
        assert batch.why_not == "sum raised TypeError"
        assert driver.read_values("out") == [1]
        assert sum(driver.dropped_records.values()) == 1


def test_records_have_no_batches_to_report() -> None:
    """The driver's own way stays what it was."""
    with driver_of(sums, "records") as driver:
        driver.pipe_batch({"in": [("a", {"n": 1})]})
        assert driver.batches == []
        assert driver.read_values("out") == [1]


class Ticker(ps.Processor[Any, Any, Any, Any]):
    """Forwards the stream time every ten seconds of it."""

    def init(self, context: Any) -> None:
        context.schedule("10s", ps.PunctuationType.STREAM_TIME, self._tick)
        self._context = context

    def process(self, record: ps.Record[Any, Any]) -> None:
        return None

    def _tick(self, now: int) -> None:
        self._context.forward(ps.Record("tick", str(now), now))


def ticking(builder: ps.StreamsBuilder) -> None:
    """Two sub-topologies, of which only the second runs over columns."""
    ticks = builder.stream("ticked", key="string", value="string").process(Ticker)
    ticks.to("out", key="string", value="string")
    stream = builder.stream("in", key="string", value="json").filter(amount > 0)
    stream.to("other", key="string", value="json")


def test_time_over_columns_is_the_time_of_all_sub_topologies() -> None:
    """The driver has one task: a batch of one sub-topology makes punctuations of others due."""
    ticks = []
    for engine in ("records", "columns"):
        with driver_of(ticking, engine) as driver:
            driver.pipe("ticked", ("a", "x", 1))
            driver.pipe("in", ("a", {"n": 1}, 25_000))
            ticks.append(driver.read_values("out"))
            assert driver.read_values("other") == [{"n": 1}]
    assert ticks[0] == ticks[1] == ["1", "25000"]
