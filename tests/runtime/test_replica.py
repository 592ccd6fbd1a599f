"""Copies of stores: ``replica``, ``task_copy`` and ``task_databases`` over topics in memory.

Exercises ``worker.queries``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PenstockError, StoreError, StreamsError
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import SuspendReason
from penstock.runtime.local.memory_clients import InjectedFaultError, MemoryClients
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import MemoryDisk, StagedApplication
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.exchange.stage_request import Report
from penstock.runtime.spark.replica import replica as module
from penstock.runtime.spark.replica.replica import Replica
from penstock.runtime.spark.worker import task_databases
from penstock.state.engine.damaged import disk_full
from penstock.state.engine.memory import MemoryStore

SETTINGS = {"application.id": "copied", "processing.guarantee": "exactly_once_v2"}


class World:
    """An application in memory, and what a driver would tell copies after each batch."""

    def __init__(self, topology: ps.Topology, partitions: int = 2) -> None:
        self.kafka = MemoryKafka(partitions)
        for topic in ("in", "rows"):
            self.kafka.create(topic)
        self.application = StagedApplication(topology.graph, SETTINGS, self.kafka, slots=2)
        self.ends: dict[TopicPartition, int] = {}
        self.batch = -1
        self.disk = MemoryDisk()

    def send(self, topic: str, *pairs: tuple[str, str | None], at: int = 0) -> None:
        for key, value in pairs:
            data = None if value is None else value.encode()
            self.kafka.append(topic, key.encode(), data, at)

    def run(self) -> Cut:
        return self.noted(self.application.run_batch(0))

    def noted(self, reports: list[Report]) -> Cut:
        self.batch += 1
        for report in reports:
            self.ends |= report.changelog_ends
        sources = set(self.application.plan.graph.source_changelogs.values())
        position = self.application.position()
        tables = {part: at for part, at in position.items() if part[0] in sources}
        global_ends = self.application._global_ends()
        return Cut(1, self.batch, self.ends | tables, global_ends, position)

    def replica(self, listener: Any = None) -> Replica:
        clients = MemoryClients(self.kafka, self.application.application.batches_topic)
        application = self.application.application
        if self.disk is not self.application._disk:
            # Another host: there the folders of the tasks are free.
            application = replace(application, state_dir=f"{application.state_dir}/other")
        return Replica(application, clients, listener=listener, open_engine=self.disk.open)


def counting() -> ps.Topology:
    builder = ps.StreamsBuilder()
    counts = builder.stream("in", key=str, value=str).group_by_key()
    counts.count(ps.Materialized(name="counts"))
    return builder.build()


@pytest.fixture
def world() -> Iterator[World]:
    made = World(counting())
    yield made
    made.application.close()


def counts_of(replica: Replica) -> dict[str, int]:
    found = [replica.query("counts", number, "all", ()) for number in range(2)]
    return {key: row[0] for rows in found for key, row in rows}


def test_a_copy_shows_the_stores_as_of_a_cut(world: World) -> None:
    """And nothing of what was committed after it."""
    world.send("in", ("a", "x"), ("b", "x"), ("a", "x"))
    first = world.run()
    replica = world.replica()
    replica.follow(first)
    assert counts_of(replica) == {"a": 2, "b": 1}
    world.send("in", ("a", "x"), ("c", "x"))
    second = world.run()
    replica.follow(first)
    assert counts_of(replica) == {"a": 2, "b": 1}
    replica.follow(second)
    assert counts_of(replica) == {"a": 3, "b": 1, "c": 1}
    assert replica.cut == second


def test_a_batch_that_is_committed_in_part_is_not_shown(world: World) -> None:
    """One slot has committed, the other has not: the cut before is what there is."""
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    cut = world.run()
    replica = world.replica()
    replica.follow(cut)
    before = counts_of(replica)
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    commits = world.kafka.commits
    world.kafka.fault = lambda number: "before" if number == commits + 1 else None
    with pytest.raises(InjectedFaultError):
        world.application.run_batch(0)
    replica.follow(cut)
    assert counts_of(replica) == before
    world.kafka.fault = lambda number: None
    world.application.crash()
    replica.follow(world.noted(world.application.run_again()))
    assert counts_of(replica) == {key: 2 * count for key, count in before.items()}


def test_a_copy_that_is_opened_again_reads_only_what_is_new(world: World) -> None:
    """Its databases remember how far they are."""
    world.send("in", *[(f"k{number}", "x") for number in range(50)])
    replica = world.replica()
    replica.follow(world.run())
    assert replica.applied == 50
    replica.close()
    world.send("in", ("k1", "x"), ("k2", "x"))
    again = world.replica()
    again.follow(world.run())
    assert again.applied == 2
    assert counts_of(again)["k1"] == 2


def test_the_task_itself_continues_from_the_copy(world: World) -> None:
    """What a standby has applied is not restored again: only the rest of the changelog is."""
    world.disk = world.application._disk
    world.send("in", *[(f"k{number}", "x") for number in range(40)])
    cut = world.run()
    world.application.restart(lose_state=True)
    replica = world.replica()
    replica.follow(cut)
    replica.close(is_promoted=True)
    world.send("in", ("k1", "x"))
    reports = world.application.run_batch(0)
    assert sum(each.records for report in reports for each in report.restores) == 0
    assert sum(report.records for report in reports) == 1


def test_a_backlog_too_large_for_one_read_is_not_shown_half(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that is catching up answers nothing, and says why."""
    world.send("in", ("a", "x"))
    replica = world.replica()
    replica.follow(world.run())
    world.send("in", *[(f"k{number}", "x") for number in range(100)])
    cut = world.run()
    read = type(replica._reader).read_columns

    def little(self: Any, ranges: Any, most_bytes: int = 0) -> Any:
        short = {part: (start, min(end, start + 10)) for part, (start, end) in ranges.items()}
        return read(self, short, most_bytes)

    monkeypatch.setattr(type(replica._reader), "read_columns", little)
    replica.follow(cut, iter([False, True]).__next__)
    with pytest.raises(PenstockError, match="copy-catching-up"):
        counts_of(replica)
    assert sum(each.lag for each in replica.lags()) > 0
    assert replica.restoring()
    replica.follow(cut)
    assert len(counts_of(replica)) == 101
    assert not any(each.lag for each in replica.lags())
    assert replica.restoring() == []


def test_a_source_topic_that_serves_as_changelog_is_followed() -> None:
    """With ``topology.optimization`` a table has no changelog of its own."""
    builder = ps.StreamsBuilder()
    builder.table("rows", key=str, value=str, materialized=ps.Materialized(name="table"))
    world = World(builder.build(ps.StreamsConfig({"topology.optimization": "all"})))
    world.send("rows", ("a", "1"), ("b", "2"), ("a", "3"))
    cut = world.run()
    world.send("rows", ("b", None))
    replica = world.replica()
    replica.follow(cut)
    rows = [replica.query("table", number, "all", ()) for number in range(2)]
    assert {key: row[0] for part in rows for key, row in part} == {"a": "3", "b": "2"}
    world.application.close()


def test_windows_and_sessions_are_copied() -> None:
    """Stores of every kind are restored by their own rules."""
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", key=str, value=str).group_by_key()
    windows = ps.TimeWindows.of_size_and_grace("10s", "1m")
    grouped.windowed_by(windows).count(ps.Materialized(name="windows"))
    sessions = ps.SessionWindows.of_inactivity_gap_and_grace("5s", "1m")
    grouped.windowed_by(sessions).count(ps.Materialized(name="sessions"))
    world = World(builder.build(), partitions=1)
    world.send("in", ("a", "x"), ("a", "x"), at=1_000)
    world.send("in", ("a", "x"), at=12_000)
    replica = world.replica()
    replica.follow(world.run())
    rows = replica.query("windows", 0, "fetch", ("a", 0, 20_000))
    assert [(start, value[0]) for start, value in rows] == [(0, 2), (10_000, 1)]
    found = replica.query("sessions", 0, "fetch", ("a",))
    assert sorted(value for _, value in found) == [1, 2]
    world.application.close()


def test_global_tables_are_copied() -> None:
    """Up to the offsets that the batch of the cut has seen."""
    builder = ps.StreamsBuilder()
    table = builder.global_table(
        "rows", key=str, value=str, materialized=ps.Materialized(name="everywhere")
    )
    stream = builder.stream("in", key=str, value=str)
    stream.join(table, lambda left, right: right, key=lambda key, value: key).to("out")
    world = World(builder.build())
    world.send("rows", ("a", "1"))
    world.send("in", ("a", "x"))
    cut = world.run()
    world.send("rows", ("a", "2"))
    replica = world.replica()
    replica.follow(cut)
    assert replica.query("everywhere", 0, "get", ("a",))[0] == "1"
    world.application.close()


def test_a_store_without_a_changelog_is_not_copied() -> None:
    """The error says where it can be asked."""
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", key=str, value=str).group_by_key()
    grouped.count(ps.Materialized(name="counts").with_logging_disabled())
    world = World(builder.build())
    world.send("in", ("a", "x"))
    replica = world.replica()
    replica.follow(world.run())
    with pytest.raises(PenstockError, match="store-not-copied"):
        replica.query("counts", 0, "get", ("a",))
    world.application.close()


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_update_start(self, partition: Any, store: str, starting_offset: int) -> None:
        self.told.append(("start", partition[1], store, starting_offset))

    def on_batch_loaded(
        self, partition: Any, store: str, task: TaskId, batch_end_offset: int, batch_size: int,
        current_end_offset: int,
    ) -> None:  # fmt: skip
        self.told.append(("loaded", partition[1], str(task), batch_size))

    def on_update_suspended(
        self, partition: Any, store: str, store_offset: int, current_end_offset: int,
        reason: SuspendReason,
    ) -> None:  # fmt: skip
        self.told.append(("suspended", partition[1], store_offset == current_end_offset, reason))
        raise RuntimeError("a listener of a user")


def test_the_listener_hears_how_copies_follow(world: World) -> None:
    """Its own errors do no harm."""
    world.kafka.partitions = 2
    world.send("in", ("a", "x"), ("a", "x"))
    listener = Listener()
    replica = world.replica(listener)
    replica.follow(world.run())
    replica.close(is_promoted=True)
    partition = next(each[1] for each in listener.told if each[0] == "loaded")
    assert ("start", partition, "counts", 0) in listener.told
    assert ("loaded", partition, f"0_{partition}", 1) in listener.told
    assert ("suspended", partition, True, SuspendReason.PROMOTED) in listener.told


def test_records_that_kafka_has_deleted_are_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changelog with a retention loses its oldest records; what follows them still counts."""
    world.send("in", *[(f"k{number}", "x") for number in range(10)])
    cut = world.run()
    replica = world.replica()
    replica._open(cut)
    marks = {each.part: cut.ends[each.part] for each in replica._followed if each.part in cut.ends}
    monkeypatch.setattr(
        replica._clients, "watermarks",
        lambda topic, number, *, is_own: (marks[topic, number], marks[topic, number]),
    )  # fmt: skip
    replica._skip_deleted()
    replica.follow(cut)
    assert replica.applied == 0
    assert replica.cut == cut


class Failing:
    """Raises an error at every call from one number on, until it is mended."""

    def __init__(self, call: Callable[..., Any], first: int, error: Exception) -> None:
        self._call = call
        self._left = first
        self._error: Exception | None = error

    def __call__(self, *given: Any, **named: Any) -> Any:
        self._left -= 1
        if self._left < 0 and self._error is not None:
            raise self._error
        return self._call(*given, **named)

    def mend(self) -> None:
        self._error = None


def test_a_copy_that_could_not_be_opened_is_opened_whole_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it would show stores without rows."""
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    cut = world.run()
    opening = Failing(world.disk.open, 1, StoreError("store-locked", "in use"))
    monkeypatch.setattr(task_databases, "_LOCK_PATIENCE_S", 0.0)
    monkeypatch.setattr(world.disk, "open", opening)
    replica = world.replica()
    asking = Failing(replica._clients.watermarks, 1, StreamsError("broker-away", "no answer"))
    monkeypatch.setattr(replica._clients, "watermarks", asking)
    for failing, code in ((opening, "store-locked"), (asking, "broker-away")):
        with pytest.raises(PenstockError, match=code):
            replica.follow(cut)
        with pytest.raises(PenstockError, match="copy-catching-up"):
            counts_of(replica)
        failing.mend()
    replica.follow(cut)
    assert counts_of(replica) == dict.fromkeys("abcdefgh", 1)
    replica.close()


def test_a_copy_on_a_full_disk_goes_on_when_there_is_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile it shows nothing: one of its stores may be further than the other."""
    world.disk = disk = SmallDisk()
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    replica = world.replica()
    replica.follow(world.run())
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    cut = world.run()
    disk.room = 1
    with pytest.raises(PenstockError, match="disk-full"):
        replica.follow(cut)
    with pytest.raises(PenstockError, match="copy-catching-up"):
        counts_of(replica)
    disk.room = 100
    replica.follow(cut)
    assert counts_of(replica) == dict.fromkeys("abcdefgh", 2)
    replica.close()


class SmallDisk(MemoryDisk):
    """A disk with room for some writes. A store that has failed must be opened again."""

    room = 100

    def open(self, directory: Path, store: str, configs: Mapping[str, Any]) -> MemoryStore:
        opened = super().open(directory, store, configs)
        write, has_failed = type(opened).write, False

        def checked(writes: Any, **options: Any) -> None:
            nonlocal has_failed
            self.room -= 1
            has_failed = has_failed or self.room < 0
            if has_failed:
                raise disk_full(directory, "No space left on device")
            write(opened, writes, **options)

        opened.write = checked  # type: ignore[method-assign]
        return opened


def test_a_copy_that_is_further_than_the_newest_cut_waits_for_the_next(world: World) -> None:
    """The instance led before it was killed, and its last cut was lost. It keeps its state."""
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    older = world.run()
    world.send("in", *[(key, "x") for key in "abcdefgh"])
    newer = world.run()
    replica = world.replica()
    replica.follow(newer)
    replica.close()
    again = world.replica()
    again.follow(older)
    with pytest.raises(PenstockError, match="copy-catching-up"):
        counts_of(again)
    again.follow(newer)
    assert counts_of(again) == dict.fromkeys("abcdefgh", 2)
    assert again.applied == 0


def test_a_chunk_has_a_limit() -> None:
    """A copy of a large store must not take all the memory of its instance."""
    assert module._CHUNK_BYTES <= 256 * 1024 * 1024
