"""A new driver takes over from earlier ones: totals, positions, clocks of tasks."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import penstock as ps
from penstock.config import StreamsConfig
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.changes.renumbering import renumbered
from penstock.runtime.spark.driver.life.leading import Leading
from penstock.runtime.spark.driver.observing.metadata import ApplicationMetrics
from penstock.runtime.spark.driver.observing.progress import Progress
from penstock.runtime.spark.exchange.batch_log import Marker
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.states import State

CLOCKS = cast("Clocks", {"stream": 5})


def plan_of(*topics: str) -> Plan:
    builder = ps.StreamsBuilder()
    for topic in topics:
        builder.stream(topic).group_by_key().count(f"counts-{topic}")
    return make_plan(builder.build().graph, dict.fromkeys(topics, 1))


def marker(topic: str) -> Marker:
    return Marker(7, CLOCKS, {(topic, 0): 3})


def test_tasks_keep_their_clocks_when_another_query_comes_before_them() -> None:
    """A sub-topology is known by what it reads, not by its number."""
    found = renumbered({(TaskId(0, 0), 0): marker("old")}, plan_of("new", "old"))
    assert [(str(task), stage) for task, stage in found] == [("1_0", 0)]
    assert found[TaskId(1, 0), 0].clocks == CLOCKS


def test_number_of_a_query_that_is_gone_is_no_clock_for_its_successor() -> None:
    """Its clocks would close windows of the other one."""
    assert renumbered({(TaskId(0, 0), 0): marker("old")}, plan_of("new")) == {}


def test_totals_go_on_when_the_application_begins_anew() -> None:
    """What happened in this batch or that is not a total."""
    earlier = Progress(batches=3, records=50, restored=7, last_batch_records=9)
    earlier.dropped["node", "late"] = 2
    now = Progress()
    now.continue_from(earlier)
    now.dropped["node", "late"] += 1
    assert (now.batches, now.records, now.restored, now.last_batch_records) == (3, 50, 7, 0)
    assert (now.dropped, earlier.dropped) == (
        Counter({("node", "late"): 3}), Counter({("node", "late"): 2}),
    )  # fmt: skip


def test_metrics_show_the_last_lag_while_kafka_is_away() -> None:
    """Asking would take as long as Kafka is away."""

    def ask() -> Any:
        raise AssertionError("Kafka is asked")

    progress = Progress(waiting_for="a broker")
    leading = SimpleNamespace(
        runner=SimpleNamespace(progress=progress), lag=ask, last_lag={("t", 0): 4}
    )
    found = ApplicationMetrics.of(cast("Leading", leading), StreamsConfig({}), State.RUNNING, 1)
    assert found.lag == {("t", 0): 4}


def test_metrics_ask_for_the_lag_while_only_a_part_waits() -> None:
    """The lag of a partition that stands still is how users see that it does."""
    progress = Progress(waiting_for="one partition", others_go_on=True)
    leading = SimpleNamespace(
        runner=SimpleNamespace(progress=progress), lag=lambda: {("t", 0): 9}, last_lag={}
    )
    found = ApplicationMetrics.of(cast("Leading", leading), StreamsConfig({}), State.RUNNING, 1)
    assert found.lag == {("t", 0): 9}


def test_the_lag_of_a_partition_without_a_leader_is_the_last_known_one() -> None:
    """The others are asked for."""
    builder = ps.StreamsBuilder()
    builder.stream("t").to("out")
    progress = Progress(position={("t", 0): 3, ("t", 1): 3})
    leading = Leading(
        application=cast("Any", SimpleNamespace(plan=make_plan(builder.build().graph, {"t": 2}))),
        runner=cast("Any", SimpleNamespace(progress=progress, away=frozenset({("t", 1)}))),
        admin=cast("Any", SimpleNamespace(end_offsets=lambda parts: dict.fromkeys(parts, 10))),
        begins_at={},
        last_lag={("t", 1): 4},
    )
    assert leading.lag() == {("t", 0): 7, ("t", 1): 4}
