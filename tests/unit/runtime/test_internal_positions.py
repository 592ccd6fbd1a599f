"""The ranges that a stage reads of repartition topics: from committed to written offsets."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, cast

import penstock as ps
from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.spark.exchange.stage_request import Report

TOPIC = "words-repartition"
ONE, TWO = (TOPIC, 0), (TOPIC, 1)
BOTH = (0, 1)


class Cluster:
    """Ends and beginnings of the topics in Kafka."""

    def __init__(
        self, ends: Mapping[TopicPartition, int], begins: Mapping[TopicPartition, int] | None = None
    ) -> None:
        self.ends = {(f"app-{topic}", n): at for (topic, n), at in ends.items()}
        self.begins = {(f"app-{topic}", n): at for (topic, n), at in (begins or {}).items()}
        self.deleted: dict[TopicPartition, int] = {}
        self.is_asked = threading.Event()

    def end_offsets(
        self, parts: Iterable[TopicPartition], *, committed: bool
    ) -> dict[TopicPartition, int]:
        self.asked_committed = committed
        return {part: self.ends[part] for part in parts}

    def begin_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {part: self.begins.get(part, 0) for part in parts}

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        self.deleted.update(before)
        self.is_asked.set()


def two_stages() -> Plan:
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in").group_by(lambda key, value: value, ps.Grouped(name="words"))
    grouped.count("counts")
    return make_plan(builder.build().graph, {"in": 2})


def positions(
    cluster: Cluster | None = None,
    known: Mapping[TopicPartition, int] | None = None,
    skips: Mapping[TopicPartition, Mapping[int, int]] | None = None,
    purge_interval_s: float = 1e9,
) -> InternalPositions:
    admin = cast("Admin", cluster or Cluster({}))
    return InternalPositions(
        two_stages(), admin, lambda topic: f"app-{topic}", known or {}, skips or {},
        purge_interval_s,
    )  # fmt: skip


def report(**given: Any) -> Report:
    return Report(task=TaskId(0, 0), stage=0, slot=0, **given)


def test_a_stage_reads_what_the_stage_before_has_written() -> None:
    """Ends come from delivery reports: nobody has to ask Kafka in between."""
    found = positions(known={ONE: 4})
    assert found.ranges(0, BOTH) == {}
    assert found.ranges(1, BOTH) == {ONE: (4, 4), TWO: (0, 0)}
    found.advance([report(written={ONE: 9, ("in", 0): 3}), report(written={ONE: 7, TWO: 2})])
    assert found.ranges(1, BOTH) == {ONE: (4, 9), TWO: (0, 2)}


def test_a_lane_reads_only_the_partitions_of_its_tasks() -> None:
    """What waits for others neither concerns it nor makes it begin a batch."""
    found = positions(skips={ONE: {3: 1}, TWO: {5: 2}})
    found.advance([report(written={TWO: 9}, skips={ONE: {3: 1}})])
    assert found.ranges(1, [1]) == {TWO: (0, 9)}
    assert (found.has_leftover([0]), found.has_leftover([1])) == (False, True)
    assert found.skips_of(found.ranges(1, [0])) == {ONE: {3: 1}}
    assert (found.is_internal(TWO), found.is_internal(("in", 0))) == (True, False)


def test_ends_that_kafka_told_late_do_not_take_back_newer_ones() -> None:
    """Another lane has reported more since the question was asked."""
    found = positions(Cluster({ONE: 8, TWO: 3}))
    asked = found.written()
    found.advance([report(written={ONE: 12})])
    found.refresh(asked)
    assert found.ranges(1, BOTH) == {ONE: (0, 12), TWO: (0, 3)}


def test_the_next_batch_goes_on_where_tasks_stand() -> None:
    """Source topics are the planner's business, not this one's."""
    found = positions()
    found.advance([report(written={ONE: 9, TWO: 5})])
    assert found.has_leftover()
    found.advance([report(positions={ONE: 9, ("in", 0): 77}), report(positions={TWO: 5})])
    assert not found.has_leftover()
    assert found.ranges(1, BOTH) == {ONE: (9, 9), TWO: (5, 5)}
    assert found.committed() == {(f"app-{TOPIC}", 0): 9, (f"app-{TOPIC}", 1): 5}


def test_skips_are_replaced_by_those_of_the_newest_report() -> None:
    """A task that has processed the rest of its bundles has none any more."""
    found = positions(skips={ONE: {3: 1}, TWO: {5: 2}, ("other", 0): {1: 1}})
    assert found.skips == {ONE: {3: 1}, TWO: {5: 2}}
    found.advance([report(positions={ONE: 9}), report(positions={TWO: 5}, skips={TWO: {5: 4}})])
    assert found.skips == {TWO: {5: 4}}


def test_what_an_earlier_attempt_has_written_is_asked_for() -> None:
    """Its reports were lost with the process that held them."""
    cluster = Cluster({ONE: 8, TWO: 3})
    found = positions(cluster, known={ONE: 4})
    found.refresh(found.written())
    assert found.ranges(1, BOTH) == {ONE: (4, 8), TWO: (0, 3)}
    # Records of open transactions may be aborted yet.
    assert cluster.asked_committed


def test_positions_before_the_beginning_of_a_topic_move_to_it() -> None:
    """Everything that was deleted had been processed."""
    found = positions(Cluster({ONE: 8, TWO: 3}, {ONE: 6}), known={ONE: 4})
    found.begin()
    assert found.ranges(1, BOTH)[ONE] == (6, 8)


def test_positions_beyond_the_end_of_a_topic_made_anew_move_back_to_it() -> None:
    """There is nothing to read, and what comes later must not be passed over."""
    found = positions(Cluster({ONE: 2, TWO: 0}), known={ONE: 40})
    found.begin()
    assert found.ranges(1, BOTH)[ONE] == (2, 2)


def test_processed_records_are_deleted_every_now_and_then() -> None:
    """A repartition topic keeps everything otherwise."""
    cluster = Cluster({ONE: 8, TWO: 3})
    found = positions(cluster, known={ONE: 4}, purge_interval_s=0.0)
    found.purge()
    assert cluster.is_asked.wait(60)
    assert cluster.deleted == {(f"app-{TOPIC}", 0): 4}


def test_nothing_is_deleted_before_its_time() -> None:
    """Asking after every batch would cost more than it saves."""
    cluster = Cluster({ONE: 8})
    positions(cluster, known={ONE: 4}).purge()
    assert not cluster.is_asked.wait(0.1)


def test_a_broker_that_does_not_delete_is_not_a_failure() -> None:
    """The right to delete may be missing; records stay longer, that is all."""

    class Refusing(Cluster):
        def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
            raise StreamsError("not-allowed", "no right to delete")

    found = positions(Refusing({ONE: 8}), known={ONE: 4})
    found._purge._delete({ONE: 4})
    assert found.ranges(1, BOTH)[ONE] == (4, 4)
