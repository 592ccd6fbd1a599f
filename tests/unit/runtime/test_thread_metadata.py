"""What each thread and each task does: partitions, commits and ends."""

from __future__ import annotations

import penstock as ps
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.thread_metadata import task_metadata, threads_of
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.states import State


def plan() -> Plan:
    builder = ps.StreamsBuilder()
    builder.stream("in").group_by(lambda key, value: value).count("counts")
    return make_plan(builder.build().graph, {"in": 3})


def test_a_task_has_its_partitions_and_their_offsets() -> None:
    """What was committed, and up to where the topic goes."""
    positions, lag = {("in", 0): 5, ("in", 2): 7}, {("in", 0): 2, ("in", 1): 4, ("in", 2): 0}
    first, second, third, *others = task_metadata(plan(), positions, lag)
    assert [first.task_id, second.task_id, third.task_id] == [TaskId(0, n) for n in range(3)]
    assert first.topic_partitions == {("in", 0)}
    assert (first.committed_offsets, first.end_offsets) == ({("in", 0): 5}, {("in", 0): 7})
    assert (second.committed_offsets, second.end_offsets) == ({}, {("in", 1): 4})
    assert third.end_offsets == third.committed_offsets == {("in", 2): 7}
    assert [each.task_id.subtopology for each in others] == [1, 1, 1]


def test_internal_topics_are_read_too_but_their_offsets_are_the_applications_own() -> None:
    """A task behind a repartition reads nothing else."""
    behind = task_metadata(plan(), {("in", 0): 5}, {("in", 0): 0})[3]
    assert behind.topic_partitions == {("counts-repartition", 0)}
    assert behind.committed_offsets == behind.end_offsets == {}


def test_threads_share_the_tasks() -> None:
    """Every task is in one thread, and a thread without tasks is listed, too."""
    tasks = task_metadata(plan(), {}, {})
    two = threads_of("shop", tasks, 2, State.RUNNING)
    assert [each.thread_name for each in two] == ["shop-StreamThread-1", "shop-StreamThread-2"]
    assert [each.thread_state for each in two] == ["RUNNING", "RUNNING"]
    assert [len(each.active_tasks) for each in two] == [4, 2]
    assert frozenset().union(*(each.active_tasks for each in two)) == frozenset(tasks)
    assert [len(each.active_tasks) for each in threads_of("shop", tasks, 4, State.RUNNING)] == [
        2, 2, 2, 0,
    ]  # fmt: skip
    assert two[0].standby_tasks == frozenset()
