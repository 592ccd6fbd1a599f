"""A slot runs the tasks that can run, and says which it has left out, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import penstock as ps
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.local.memory_clients import MemoryReader
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.exchange.stage_request import Range, Report, StageRequest
from penstock.runtime.spark.worker.reader import ReadRanges
from tests.runtime.slot_programs import Staged, counting, counts, words

ZERO, ONE = ("in", 0), ("in", 1)


class StuckReader(MemoryReader):
    """Has no records of some partitions, although they are there."""

    def __init__(self, kafka: MemoryKafka, stuck: set[TopicPartition]) -> None:
        super().__init__(kafka)
        self._stuck = stuck

    def read_columns(self, ranges: Mapping[TopicPartition, Range], *given: Any) -> ReadRanges:
        there = {p: (at, at if p in self._stuck else end) for p, (at, end) in ranges.items()}
        found = super().read_columns(there, *given)
        stuck = {part for part in self._stuck & ranges.keys() if ranges[part][0] < ranges[part][1]}
        return found._replace(stuck=frozenset(stuck))


def stuck_in(application: StagedApplication, *parts: TopicPartition) -> set[TopicPartition]:
    """Let the slots of an application get no records of these partitions."""
    stuck = set(parts)
    reader = StuckReader(application.kafka, stuck)
    application._clients.reader = lambda: reader  # type: ignore[method-assign]
    return stuck


def feed(kafka: MemoryKafka, *numbers: int) -> None:
    for number in numbers:
        kafka.append("in", b"k%d" % number, b"a b", number, partition=number)


def of(reports: list[Report], part: TopicPartition) -> Report:
    (found,) = [report for report in reports if part in report.positions]
    return found


def request(batch: int, **given: Any) -> StageRequest:
    return StageRequest(batch=batch, stage=0, slots=1, clock_ms=0, **given)


def test_a_task_with_a_partition_that_is_stuck_is_left_out_and_the_others_commit(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """Its broker is away, while those of the others are there."""
    application = staged(counting)
    stuck = stuck_in(application, ONE)
    feed(kafka, 0, 1, 1)
    reports = application.run_batch(0)
    assert (of(reports, ONE).stuck, of(reports, ONE).positions) == ({ONE}, {ONE: 0})
    assert (of(reports, ZERO).stuck, of(reports, ZERO).positions) == (frozenset(), {ZERO: 1})
    assert (kafka.group[ZERO], kafka.group.get(ONE, 0)) == (1, 0)
    assert counts(application) == {"k0": 1}
    stuck.clear()
    application.run_batch(1)
    assert counts(application) == {"k0": 1, "k1": 2}


def test_a_repartition_topic_that_is_stuck_keeps_its_records(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """They come with a later batch, under the name that the driver knows."""
    application = staged(words)
    internal = [("app-counts-repartition", number) for number in range(2)]
    stuck = stuck_in(application, *internal)
    feed(kafka, 0, 1)
    reports = application.run_batch(0)
    found = frozenset().union(*(report.stuck for report in reports))
    assert found <= {("counts-repartition", number) for number in range(2)}
    assert len(found) > 0
    assert counts(application) == {}
    assert application.has_waiting()
    stuck.clear()
    application.run_batch(1)
    assert counts(application) == {"a": 2, "b": 2}


def test_a_task_that_joins_waits_for_all_of_its_inputs(kafka: MemoryKafka, staged: Staged) -> None:
    """Otherwise it would process events before the rows of the table that come before them."""

    def joining(builder: ps.StreamsBuilder) -> None:
        table = builder.table("out", key="string", value="string")
        stream = builder.stream("in", key="string", value="string")
        stream.join(table, lambda left, right: f"{left} {right}").group_by_key().count("counts")

    application = staged(joining, partitions=1)
    kafka = application.kafka
    stuck = stuck_in(application, ("out", 0))
    kafka.append("out", b"k0", b"row", 0, partition=0)
    feed(kafka, 0)
    (report,) = application.run_batch(0)
    assert report.stuck == {("out", 0)}
    assert report.positions == {("out", 0): 0, ZERO: 0}
    stuck.clear()
    application.run_batch(1)
    assert counts(application) == {"k0": 1}


def test_a_batch_in_which_every_task_is_stuck_commits_nothing(
    kafka: MemoryKafka, staged: Staged
) -> None:
    application = staged(counting)
    application.run_batch(0)
    commits = kafka.commits
    stuck_in(application, ZERO, ONE)
    application.slot_of(0)._reader = None
    feed(kafka, 0, 1)
    reports = application.run_batch(1)
    assert all(report.stuck for report in reports)
    assert (len(reports), kafka.commits) == (2, commits)


def test_only_tasks_that_are_asked_for_run(kafka: MemoryKafka, staged: Staged) -> None:
    """The driver has set the others aside, because their functions fail."""
    application = staged(counting)
    slot = application.slot_of(0)
    feed(kafka, 0, 1)
    (report,) = slot.run(request(0, ranges={ONE: (0, 1)}, is_first=True))
    assert report.positions == {ONE: 1}
    assert counts(application) == {"k1": 1}
    (report,) = slot.run(request(1, ranges={ZERO: (0, 1)}, is_first=True))
    assert report.positions == {ZERO: 1}
    assert counts(application) == {"k0": 1, "k1": 1}


def test_tasks_without_input_do_not_commit(kafka: MemoryKafka, staged: Staged) -> None:
    """The first commit of each says where it begins; later ones would only cost time."""
    application = staged(counting)
    assert len(application.run_batch(0)) == 2
    commits = kafka.commits
    assert application.run_batch(1) == []
    assert kafka.commits == commits
    feed(kafka, 1)
    (report,) = application.run_batch(2)
    assert report.positions == {ONE: 1}


def test_tasks_with_schedules_by_the_wall_clock_run_without_input(
    kafka: MemoryKafka, staged: Staged
) -> None:
    class Ticking(ps.Processor):
        def init(self, context: ps.ProcessorContext) -> None:
            context.schedule("1s", "wall_clock_time", lambda at: None)

        def process(self, record: Any) -> None: ...

    def program(builder: ps.StreamsBuilder) -> None:
        builder.stream("in").process(Ticking)

    application = staged(program)
    for batch in range(3):
        assert len(application.run_batch(batch * 1_000)) == 2


@pytest.mark.parametrize("is_rerun", [False, True])
def test_a_task_that_was_not_asked_for_is_not_touched_by_a_rerun(
    kafka: MemoryKafka, staged: Staged, *, is_rerun: bool
) -> None:
    """It may be set aside between the two attempts; what has committed is told by its marker."""
    application = staged(counting)
    slot = application.slot_of(0)
    feed(kafka, 0, 1)
    both = request(0, ranges={ZERO: (0, 1), ONE: (0, 1)}, is_first=True)
    slot.run(both)
    application.crash()
    reports = application.slot_of(0).run(replace(both, ranges={ZERO: (0, 1)}, is_rerun=is_rerun))
    assert {report.is_repeated for report in reports} == {True}
    assert {part for report in reports for part in report.positions} == {ZERO, ONE}
    assert counts(application) == {"k0": 1, "k1": 1}
