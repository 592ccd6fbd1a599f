"""Rows of ``to_spark`` and ``to_lake`` are taken in ranges that no crash changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from penstock import StreamsBuilder
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.row_ranges import RowRange, RowRanges
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.plan import Plan, driver_sinks, make_plan
from penstock.topology.nodes.topics.to_lake import DriverSink

NAME = "rows"
TOPIC = "app-rows-to-lake"
A, B = (TOPIC, 0), (TOPIC, 1)


class Log:
    """A batch log that a driver which dies leaves to the next one."""

    def __init__(self) -> None:
        self.state = LogState()
        self.notes: list[dict[str, Any]] = []

    def note_sink(self, name: str, told: Mapping[str, Any]) -> None:
        self.notes.append(dict(told))
        self.state.sinks[name] = dict(told)


class Kafka:
    """How many rows are in each partition."""

    def __init__(self) -> None:
        self.ends = {A: 0, B: 0}
        self.purged: dict[TopicPartition, int] = {}

    def end_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {part: self.ends[part] for part in parts}

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        self.purged |= before


class Application:
    id = "app"
    config: Mapping[str, Any] = {"repartition.purge.interval.ms": 0}

    def __init__(self, plan: Plan) -> None:
        self.plan = plan


class World:
    def __init__(self) -> None:
        self.log, self.kafka = Log(), Kafka()
        builder = StreamsBuilder()
        builder.stream("in").to_lake("delta:/lake/rows", name=NAME)
        self.plan = make_plan(builder.build().graph, {"in": 2})
        self.sink: DriverSink = driver_sinks(self.plan.graph)[0]
        self.begin()

    def begin(self) -> None:
        """A driver begins to lead."""
        given = cast("Any", Application(self.plan)), cast("Any", self.log), cast("Any", self.kafka)
        self.rows = RowRanges(*given, [self.sink])

    def take(self, cut: int, written: Mapping[TopicPartition, int] | None) -> list[RowRange]:
        found = []
        for rows in self.rows.due(self.sink, cut, written):
            found.append(rows)
            self.rows.done(self.sink, rows)
        return found


@pytest.fixture
def world() -> World:
    return World()


def spans(rows: RowRange) -> dict[int, tuple[int, int]]:
    return {number: span for (_, number), span in rows.ranges.items()}


def test_each_range_begins_where_the_last_one_ended(world: World) -> None:
    (first,) = world.take(4, {A: 10})
    (second,) = world.take(9, {A: 15, B: 3})
    assert (spans(first), first.batch, first.version) == ({0: (0, 10)}, 4, 1)
    assert (spans(second), second.batch, second.version) == ({0: (10, 15), 1: (0, 3)}, 9, 2)
    assert first.series == second.series != ""
    assert world.take(10, {A: 15, B: 3}) == []


def test_a_range_is_in_the_log_before_it_is_taken(world: World) -> None:
    for _ in world.rows.due(world.sink, 1, {A: 5}):
        assert [note["done"] for note in world.log.notes] == [False]


@pytest.mark.parametrize("cut", [1, 2, 7])
def test_a_range_that_was_not_taken_comes_again_as_it_was(world: World, cut: int) -> None:
    """More rows have come meanwhile, and cuts may count from an older number again."""
    begun = next(world.rows.due(world.sink, 2, {A: 5}))
    world.kafka.ends = {A: 8, B: 2}
    world.begin()
    again, rest = world.take(cut, {})
    assert again == begun
    assert (spans(rest), rest.version) == ({0: (5, 8), 1: (0, 2)}, 2)


def test_rows_that_an_earlier_driver_has_left_are_taken_with_the_first_cut(world: World) -> None:
    world.take(1, {A: 5})
    world.kafka.ends = {A: 7, B: 4}
    world.begin()
    (found,) = world.take(2, {A: 9})
    assert spans(found) == {0: (5, 9), 1: (0, 4)}
    assert found.is_exact


def test_a_reset_begins_another_series(world: World) -> None:
    """Its versions count from one again, and a table must not take them for known ones."""
    (before,) = world.take(1, {A: 5})
    world.log, world.kafka = Log(), Kafka()
    world.begin()
    (after,) = world.take(1, {A: 5})
    assert (after.version, before.version) == (1, 1)
    assert after.series != before.series


def test_what_only_kafka_knows_may_be_more_than_the_cut_has(world: World) -> None:
    """So it does not say that it is as of that cut; the next one does, if it has caught up."""
    world.kafka.ends = {A: 8, B: 0}
    (asked,) = world.take(1, None)
    assert (spans(asked), asked.is_exact) == ({0: (0, 8)}, False)
    (behind,) = world.take(2, {A: 7, B: 1})
    assert (spans(behind), behind.is_exact) == ({1: (0, 1)}, False)
    (level,) = world.take(3, {A: 8, B: 2})
    assert (spans(level), level.is_exact) == ({1: (1, 2)}, True)


def test_rows_that_were_taken_are_deleted(world: World) -> None:
    world.take(1, {A: 5})
    world.take(2, {A: 6})
    assert world.kafka.purged == {A: 6, B: 0}


def test_notes_of_an_older_release_are_understood(world: World) -> None:
    """They have no version: the first that is written now begins a series."""
    world.log.state.sinks[NAME] = {"batch": 3, "start": [], "end": [[TOPIC, 0, 4]], "done": True}
    (found,) = world.take(4, {A: 6})
    assert (spans(found), found.version) == ({0: (4, 6)}, 2)
    assert found.series
