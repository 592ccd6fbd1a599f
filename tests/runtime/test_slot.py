"""A slot commits every stage once, also after failures and repeated requests.

Exercises ``task_output``, ``task_inputs`` and ``markers``.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StoreError, StreamsError, UnknownStoreError
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.column_executor import ColumnExecutor
from penstock.kernel.columns.effects import Effects
from penstock.runtime.local.memory_clients import InjectedFaultError, MemoryClients
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import MemoryDisk, StagedApplication
from penstock.runtime.spark.exchange.stage_request import (
    Release,
    Report,
    StageRequest,
)
from penstock.runtime.spark.worker.queries import answer_query
from penstock.runtime.spark.worker.slot import Slot
from penstock.state.engine.damaged import disk_full
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.rocks import open_rocks
from tests.runtime.slot_programs import (
    Staged,
    counting,
    counts,
    new_kafka,
    random_keys,
    send,
    words,
)


class Faulty(ColumnExecutor[Any]):
    """A column form with a fault in it."""

    def process(self, batch: Batch, effects: Effects) -> None:
        1 // (len(batch) - len(batch))


class Asked:
    """A slot that remembers what it was asked, so that it can be asked again."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.requests: list[StageRequest] = []
        self.reports: list[list[Report]] = []
        self._run = slot.run
        slot.run = self.run  # type: ignore[method-assign]

    def run(self, request: StageRequest) -> list[Report]:
        self.requests.append(request)
        self.reports.append(self._run(request))
        return self.reports[-1]


def slot_and_requests(application: StagedApplication) -> Asked:
    return Asked(application.slot_of(0))


# Asked again


def test_a_request_that_was_answered_is_answered_again(kafka: MemoryKafka, staged: Staged) -> None:
    """The first answer was lost on its way; nothing is committed a second time."""
    application = staged(words)
    asked = slot_and_requests(application)
    send(kafka, "a b", "a")
    application.run_batch(0)
    written = len(kafka.committed)
    commits, work = kafka.commits, asked.slot.work
    assert asked.slot.run(asked.requests[-1]) == asked.reports[1]
    assert (len(kafka.committed), kafka.commits) == (written, commits)
    assert asked.slot.work == work


def test_a_request_that_comes_after_the_end_of_a_slot_opens_nothing(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """It may have waited for the slot. The databases belong to another process by then."""
    application = staged(words)
    asked = slot_and_requests(application)
    send(kafka, "a")
    application.run_batch(0)
    asked.slot.close(Release())
    for work in (asked.slot.run, asked.slot.warm_up):
        with pytest.raises(StreamsError) as raised:
            work(replace(asked.requests[0], batch=7))
        assert raised.value.code == "slot-unreachable"
    assert asked.slot.tasks == {}


def test_a_request_of_an_older_batch_is_refused(kafka: MemoryKafka, staged: Staged) -> None:
    """An attempt of Spark's that was paused must not process old ranges again."""
    application = staged(words)
    asked = slot_and_requests(application)
    for line in ("a", "b"):
        send(kafka, line)
        application.run_batch(0)
    written = len(kafka.committed)
    with pytest.raises(StreamsError) as raised:
        asked.slot.run(asked.requests[0])
    assert raised.value.code == "stale-request"
    assert len(kafka.committed) == written
    assert counts(application) == {"a": 1, "b": 1}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_slot_that_had_committed_goes_through_all_stages_of_a_rerun(
    kafka: MemoryKafka, staged: Staged, when: str
) -> None:
    """Another slot failed in a later stage, so the batch runs again from its first one."""
    application = staged(words, slots=2)
    send(kafka, "a b c d", "a b c d", "e")
    # Two slots, two stages: the last of four commits.
    kafka.fault = lambda number: when if number == 3 else None
    with pytest.raises(InjectedFaultError):
        application.run_batch(0)
    reports = application.run_again()
    assert counts(application) == {"a": 2, "b": 2, "c": 2, "d": 2, "e": 1}
    assert {report.is_repeated for report in reports if report.slot == 0} == {False}


def test_a_rerun_over_another_number_of_slots_runs_every_task(staged: Staged) -> None:
    """A slot that had answered may have other tasks now."""
    application = staged(counting, partitions=4, slots=2)
    kafka = application.kafka
    for number in range(4):
        kafka.append("in", b"%d" % number, b"", 0, partition=number)
    kafka.fault = lambda number: "before" if number == 1 else None
    with pytest.raises(InjectedFaultError):
        application.run_batch(0)
    application.restart()
    application.slots = 3
    application.run_again()
    assert counts(application) == {"0": 1, "1": 1, "2": 1, "3": 1}


# Who may write


def test_a_slot_of_an_older_generation_is_fenced(kafka: MemoryKafka, staged: Staged) -> None:
    """The batch log names another driver: nothing is written for the old one."""
    application = staged(words)
    send(kafka, "a")
    application.run_batch(0)
    kafka.generation = 2, "another driver"
    application.crash()
    send(kafka, "b")
    written = len(kafka.committed)
    with pytest.raises(StreamsError, match="generation 2 of the batch log is newer") as raised:
        application.run_batch(0)
    assert raised.value.code == "fenced"
    assert len(kafka.committed) == written


def test_a_slot_of_another_run_of_the_same_generation_is_fenced(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """Topics that were made anew count generations from the beginning."""
    application = staged(words)
    kafka.generation = 1, "another driver"
    with pytest.raises(StreamsError, match="another driver leads"):
        application.run_batch(0)
    assert kafka.committed == []


def test_a_slot_that_another_server_ran_meanwhile_restores_its_state(
    kafka: MemoryKafka, staged: Staged, tmp_path: Path
) -> None:
    """What it holds in memory is older than the changelog."""
    application = staged(counting)
    own = application.slot_of(0)
    other = _elsewhere(application, tmp_path)
    for batch, slot in enumerate((own, other, own)):
        kafka.append("in", b"k", b"", batch, partition=0)
        ranges = {("in", 0): (batch, batch + 1), ("in", 1): (0, 0)}
        former = {} if batch == 0 else {0: ("staged", "other")[batch - 1]}
        reports = slot.run(
            StageRequest(batch=batch, stage=0, slots=1, clock_ms=0, ranges=ranges, owners=former)
        )
    restored = [restore.records for report in reports for restore in report.restores]
    # Its own folder has the first batch; the second one comes from the changelog.
    assert restored == [1]
    assert counts(application) == {"k": 3}


@pytest.mark.parametrize("is_rerun", [False, True])
def test_a_slot_that_was_overtaken_restores_its_state_without_being_told(
    kafka: MemoryKafka, staged: Staged, tmp_path: Path, *, is_rerun: bool
) -> None:
    """The other server is gone, and the driver has forgotten that it was there."""
    application = staged(counting)
    own = application.slot_of(0)
    other = _elsewhere(application, tmp_path)
    for batch, slot in enumerate((own, other, own)):
        kafka.append("in", b"k", b"", batch, partition=0)
        if batch == 2 and not is_rerun:
            # The producer has lost its brokers, so that the slot needs a new one.
            own._writer = None
        slot.run(_one_record(batch, is_rerun=is_rerun))
    assert counts(application) == {"k": 3}


def test_a_new_slot_refuses_a_request_of_an_older_batch(
    kafka: MemoryKafka, staged: Staged, tmp_path: Path
) -> None:
    """It has answered nothing yet, but the batch log says that the others have gone on."""
    application = staged(counting)
    own = application.slot_of(0)
    for batch in range(2):
        kafka.append("in", b"k", b"", batch, partition=0)
        own.run(_one_record(batch))
    other = _elsewhere(application, tmp_path)
    written = len(kafka.committed)
    with pytest.raises(StreamsError) as raised:
        other.run(_one_record(0))
    assert raised.value.code == "stale-request"
    assert len(kafka.committed) == written


def _elsewhere(application: StagedApplication, folder: Path) -> Slot:
    """Return the first slot once more, on a host of its own: here the other one has the folders."""
    clients = MemoryClients(application.kafka, application.application.batches_topic)
    there = replace(application.application, state_dir=str(folder))
    return Slot(there, 0, "other", clients, MemoryDisk().open)


def _one_record(batch: int, *, is_rerun: bool = False) -> StageRequest:
    """Return a request for one record of the first partition, from a driver without memory."""
    return StageRequest(
        batch=batch, stage=0, slots=1, clock_ms=0, is_rerun=is_rerun,
        ranges={("in", 0): (batch, batch + 1), ("in", 1): (0, 0)},
    )  # fmt: skip


# Faults


@pytest.mark.parametrize("slots", ["same", "new", "new without state"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("commit", range(4))
def test_random_keys_are_counted_once_whatever_commit_fails(
    kafka: MemoryKafka, staged: Staged, commit: int, when: str, slots: str
) -> None:
    """A stage that had committed is not repeated: a second run would choose other keys."""
    application = staged(random_keys, slots=2)
    send(kafka, *"abcdefgh")
    application.run_batch(0)
    send(kafka, *"ijklmnop")
    wanted = kafka.commits + commit
    kafka.fault = lambda number: when if number == wanted else None
    with pytest.raises(InjectedFaultError):
        application.run_batch(0)
    if slots != "same":
        application.crash(lose_state=slots == "new without state")
    application.run_again()
    # The ends of transactions may look like records until the next batch has looked at them.
    application.run_batch(0)
    assert counts(application).total() == 16 * 3
    assert not application.has_waiting()


class SmallDisk(MemoryDisk):
    """A disk without room: a store that has failed once takes nothing until it is opened again."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False

    def open(self, directory: Path, store: str, configs: Mapping[str, Any]) -> MemoryStore:
        opened = super().open(directory, store, configs)
        has_failed = False

        def checked(method: Callable[..., None]) -> Callable[..., None]:
            def call(*given: Any, **options: Any) -> None:
                nonlocal has_failed
                has_failed = has_failed or self.is_full
                if has_failed:
                    raise disk_full(directory, "No space left on device")
                method(opened, *given, **options)

            return call

        opened.write = checked(type(opened).write)  # type: ignore[method-assign]
        opened.put = checked(type(opened).put)  # type: ignore[method-assign]
        return opened


def test_a_full_disk_stops_a_slot_only_until_there_is_room(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """The batch is in Kafka already; its writes are read back from the changelog."""
    application = staged(counting)
    disk = application._disk = SmallDisk()
    send(kafka, "a", "b")
    application.run_batch(0)
    send(kafka, "c", "d")
    disk.is_full = True
    with pytest.raises(StoreError) as raised:
        application.run_batch(0)
    assert raised.value.code == "disk-full"
    for _ in range(2):
        with pytest.raises(StoreError):
            application.run_again()
    disk.is_full = False
    application.run_again()
    send(kafka, "e", "f")
    application.run_batch(0)
    assert counts(application) == {"0": 3, "1": 3}


def test_global_tables_go_on_when_there_is_room_on_the_disk(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """Their database takes nothing any more until it is opened again, so they are read again."""

    def joined(builder: ps.StreamsBuilder) -> None:
        table = builder.global_table("out", key="string", value="string")
        stream = builder.stream("in", key="string", value="string")
        stream.join(
            table, lambda left, right: right, key=lambda key, value: key
        ).group_by_key().count("counts")

    application = staged(joined)
    disk = application._disk = SmallDisk()
    kafka.append("out", b"0", b"row", 0)
    send(kafka, "a")
    application.run_batch(0)
    kafka.append("out", b"1", b"row", 0)
    send(kafka, "b", "c")
    disk.is_full = True
    with pytest.raises(StoreError):
        application.run_batch(0)
    disk.is_full = False
    application.run_again()
    assert counts(application) == {"0": 2, "1": 1}


class RealDisk(MemoryDisk):
    """Keep stores in RocksDB."""

    def open(self, directory: Path, store: str, configs: Mapping[str, Any]) -> Any:
        return open_rocks(directory, store, configs)


def test_a_store_with_a_damaged_checkpoint_is_restored(kafka: MemoryKafka, staged: Staged) -> None:
    """Its database opens without an error, and the first read fails."""
    application = staged(counting)
    application._disk = RealDisk()
    send(kafka, *"abcdefgh")
    application.run_batch(0)
    application.restart()
    files = list(Path(application.application.state_dir).glob("app/0_*/rocksdb/*/*.sst"))
    assert len(files) == 2
    for file in files:
        data = bytearray(file.read_bytes())
        # In the block with the rows: what is read when the database is opened comes behind it.
        data[data.index(b"checkpoint")] ^= 0xFF
        file.write_bytes(data)
    send(kafka, *"abcdefgh")
    application.run_batch(0)
    assert counts(application) == {str(number): 2 for number in range(8)}
    assert [file.exists() for file in files] == [False, False]


def test_faults_at_many_commits_in_a_row_leave_every_record_counted_once(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """Each attempt may fail at another place, also while it repeats what was done."""
    application = staged(random_keys, slots=2)
    chaos = random.Random(3)
    kafka.fault = lambda number: chaos.choice([None, None, "before", "after"])
    for _ in range(6):
        send(kafka, *"abcdefgh")
        attempt: Callable[[], Any] = lambda: application.run_batch(0)  # noqa: E731
        while True:
            try:
                attempt()
                break
            except InjectedFaultError:
                if chaos.random() < 0.5:
                    application.crash(lose_state=chaos.random() < 0.5)
                attempt = application.run_again
    kafka.fault = lambda number: None
    application.run_batch(0)
    assert counts(application).total() == 6 * 8 * 3


def test_slot_reports_faults_of_the_column_path(staged: Staged) -> None:
    """The records are processed all the same; the driver adds the counts up for the metrics."""
    application = staged(counting, partitions=1, **{"penstock.vectorize": "on"})
    application.run_batch(0)
    ((_, state),) = application.slot_of(0).tasks.items()
    assert state.kernel is not None
    assert state.kernel.columns is not None
    for source in state.kernel.columns.plan.sources.values():
        source.children += [Faulty(source.node, state.kernel)]
    for batch in (1, 2):
        application.kafka.append("in", b"a", b"1", 0)
        (report,) = application.run_batch(batch)
        ((fault, count),) = report.column_errors.items()
        assert (fault.split(":")[0], count) == ("ZeroDivisionError at test_slot.py", 1)
    assert [store.get("a") for store in application.stores()["counts"]] == [(2, 0)]


@pytest.mark.parametrize(("max_age_ms", "left"), [(60_000, ["0_1"]), (-1, ["0_0", "0_1"])])
def test_state_that_is_too_old_is_deleted_at_the_start(
    staged: Staged, tmp_path: Path, max_age_ms: int, left: list[str]
) -> None:
    """KIP-1259: what was not used for longer is restored from the changelog; -1 keeps all."""
    for task, age_s in (("0_0", 61), ("0_1", 30)):
        folder = tmp_path / "app" / task
        folder.mkdir(parents=True)
        for name in (".lock", "data"):
            (folder / name).touch()
            os.utime(folder / name, times=(time.time() - age_s,) * 2)
    made = staged(counting).application
    config = {**made.config, "state.cleanup.dir.max.age.ms": max_age_ms}
    application = replace(made, id="app", config=config, state_dir=str(tmp_path))
    Slot(application, 0, "one", MemoryClients(new_kafka(1), "batches"), MemoryDisk().open)
    assert sorted(path.name for path in (tmp_path / "app").iterdir()) == left


# Questions


def test_a_store_in_memory_is_not_read_in_the_middle_of_a_batch(
    kafka: MemoryKafka, staged: Staged
) -> None:
    """It has one set of rows only, with those of the batch that is not committed yet."""
    is_running, may_end = threading.Event(), threading.Event()
    may_end.set()

    def waiting(key: str, count: int) -> None:
        is_running.set()
        assert may_end.wait(30)

    def program(builder: ps.StreamsBuilder) -> None:
        kept = ps.Materialized.as_(ps.Stores.in_memory_key_value_store("counts"))
        counted = builder.stream("in", key="string", value="string").group_by_key().count(kept)
        counted.to_stream().peek(waiting)

    application = staged(program, partitions=1)
    slot = application.slot_of(0)
    answers: list[Any] = []

    def ask() -> None:
        answers.append(answer_query(slot, "counts", 0, "get", ("0",)))

    send(application.kafka, "a")
    application.run_batch(0)
    send(application.kafka, "b")
    may_end.clear()
    is_running.clear()
    batch = threading.Thread(target=application.run_batch, args=(0,), daemon=True)
    batch.start()
    assert is_running.wait(30)
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(0.3)
    assert answers == []
    may_end.set()
    batch.join(30)
    asking.join(30)
    assert [answer.value for answer in answers] == [2]


def test_a_store_in_memory_is_not_read_after_a_batch_that_failed(staged: Staged) -> None:
    """Its rows are those of the failed batch until the next one has restored it."""

    def program(builder: ps.StreamsBuilder) -> None:
        kept = ps.Materialized.as_(ps.Stores.in_memory_key_value_store("counts"))
        builder.stream("in", key="string", value="string").group_by_key().count(kept)

    application = staged(program, partitions=1)
    slot, kafka = application.slot_of(0), application.kafka
    send(kafka, "a")
    application.run_batch(0)
    send(kafka, "b")
    kafka.fault = lambda number: "before"
    with pytest.raises(InjectedFaultError):
        application.run_batch(0)
    with pytest.raises(UnknownStoreError) as raised:
        answer_query(slot, "counts", 0, "get", ("0",))
    assert raised.value.code == "store-not-ready"
    kafka.fault = lambda number: None
    application.run_again()
    assert answer_query(slot, "counts", 0, "get", ("0",)).value == 2
