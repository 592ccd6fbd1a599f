"""Long restores run beside processing: tasks that are ready run, the others catch up.

Exercises ``slot_restore``, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StreamsError, UnknownStoreError
from penstock.model.task_id import TaskId
from penstock.runtime.local import memory_clients
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.worker import restoration, task_state
from penstock.runtime.spark.worker.queries import answer_query
from tests.runtime.slot_processes import happens

_RECORDS = 40


class _Gate:
    """Holds the readers of restores of one partition back until it is opened."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.is_open = threading.Event()
        self.error: Exception | None = None


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Gate]:
    """Restore every store in the background, and partition 0 only when the gate is open."""
    gate = _Gate(0)
    read = memory_clients.MemoryReader.read_columns

    def held(self: Any, ranges: Mapping[Any, Any], *more: Any) -> Any:
        is_restore = threading.current_thread().name == "penstock-restore"
        if is_restore and any(number == gate.partition for _, number in ranges):
            assert gate.is_open.wait(30)
            if gate.error is not None:
                raise gate.error
        return read(self, ranges, *more)

    monkeypatch.setattr(memory_clients.MemoryReader, "read_columns", held)
    monkeypatch.setattr(task_state, "AT_ONCE", 0)
    yield gate
    gate.is_open.set()


def _counting(kafka: MemoryKafka, **given: Any) -> StagedApplication:
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="string").group_by_key().count("counts")
    config = {"application.id": "beside", "statestore.cache.max.bytes": 0}
    return StagedApplication(builder.build().graph, config, kafka, **given)


def _kafka() -> MemoryKafka:
    kafka = MemoryKafka()
    kafka.create("in", 2)
    return kafka


def _send(kafka: MemoryKafka, first: int = 0) -> None:
    for number in range(first, first + _RECORDS):
        for partition in (0, 1):
            key = f"{partition}-{number % 4}".encode()
            kafka.append("in", key, b"", number, partition=partition)


def _restarted() -> tuple[MemoryKafka, StagedApplication]:
    """Return an application whose state is lost, with new input."""
    kafka = _kafka()
    application = _counting(kafka)
    _send(kafka)
    application.run_batch(0)
    application.restart(lose_state=True)
    _send(kafka, _RECORDS)
    return kafka, application


def _finish(application: StagedApplication) -> None:
    def is_done() -> bool:
        application.run_batch(0)
        return not application.has_waiting()

    assert happens(is_done, 30)


def test_a_task_that_is_ready_does_not_wait_for_one_that_is_restored(gate: _Gate) -> None:
    _, application = _restarted()
    assert happens(lambda: _records(application.run_batch(0)) == {1: _RECORDS}, 30)
    # Partition 0 stays where it was, batch after batch.
    assert _records(application.run_batch(0)) == {}
    assert application.has_waiting()
    gate.is_open.set()
    _finish(application)
    rows = {key: row.value for store in application.stores()["counts"] for key, row in store.all()}
    assert rows == {f"{p}-{n}": _RECORDS // 2 for p in (0, 1) for n in range(4)}
    application.close()


def _records(reports: list[Any]) -> dict[int, int]:
    return {report.task.partition: report.records for report in reports if report.records}


def test_a_store_that_is_being_restored_says_how_far_it_is(gate: _Gate) -> None:
    _, application = _restarted()
    application.run_batch(0)
    slot = application.slot_of(0)
    with pytest.raises(UnknownStoreError) as caught:
        answer_query(slot, "counts", 0, "get", ("0-1",))
    assert caught.value.code == "store-not-ready"
    assert "being restored" in caught.value.message
    # The other partition may need a moment, too.
    assert happens(lambda: [each.partition for each in slot.restoring()] == [0], 30)
    assert [each.records for each in slot.restoring()] == [0]
    gate.is_open.set()
    _finish(application)
    assert answer_query(slot, "counts", 0, "get", ("0-1",)).value == _RECORDS // 2
    application.close()


@pytest.mark.parametrize("how", ["restart", "crash"])
def test_an_application_that_ends_during_a_restore_goes_on_later(gate: _Gate, how: str) -> None:
    _, application = _restarted()
    application.run_batch(0)
    threading.Timer(0.2, gate.is_open.set).start()
    if how == "crash":
        gate.is_open.set()
        assert happens(lambda: not application.slot_of(0).restoring(), 30)
    getattr(application, how)()
    _finish(application)
    rows = {key: row.value for store in application.stores()["counts"] for key, row in store.all()}
    assert set(rows.values()) == {_RECORDS // 2}
    application.close()


def test_a_restore_that_fails_is_an_error_of_the_next_batch(gate: _Gate) -> None:
    _, application = _restarted()
    gate.error = StreamsError("broker-unreachable", "no broker answers")
    gate.is_open.set()

    def fails() -> bool:
        try:
            application.run_batch(0)
        except StreamsError as error:
            return error.code == "broker-unreachable"
        return False

    assert happens(fails, 30)
    gate.error = None
    application.run_again()
    _finish(application)
    rows = {key: row.value for store in application.stores()["counts"] for key, row in store.all()}
    assert set(rows.values()) == {_RECORDS // 2}
    application.close()


@pytest.mark.parametrize("is_done", [False, True])
def test_a_task_that_is_being_restored_reports_where_its_changelog_ends(
    gate: _Gate, *, is_done: bool
) -> None:
    """A cut is made of that. What the restore has read so far is part of no batch."""
    kafka, application = _restarted()
    if is_done:
        gate.is_open.set()
        _finish(application)
        application.restart(lose_state=True)
        gate.is_open.clear()
        reports = application.run_again()
    else:
        reports = application.run_batch(0)
    topic = "beside-counts-changelog"
    (report,) = [each for each in reports if each.task.partition == 0]
    assert (report.is_waiting, report.is_repeated) == (True, is_done)
    assert report.changelog_ends == {(topic, 0): len(kafka.logs[topic][0])}
    gate.is_open.set()
    _finish(application)
    application.close()


def test_a_restore_that_was_given_up_changes_nothing_any_more(
    gate: _Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for a broker that is away, and gets its records after a later batch has run."""
    monkeypatch.setattr(restoration, "_STOP_S", 0.05)
    kafka, application = _restarted()
    application.run_batch(0)
    (late,) = [t for t in threading.enumerate() if t.name == "penstock-restore" and _waits(t)]
    _send(kafka, 2 * _RECORDS)
    kafka.fault = lambda number: "before" if number == kafka.commits - 1 else None
    with pytest.raises(memory_clients.InjectedFaultError):
        application.run_batch(0)
    kafka.fault = lambda number: None
    monkeypatch.setattr(task_state, "AT_ONCE", 1_000_000)
    application.run_again()
    _finish(application)
    gate.is_open.set()
    late.join(30)
    rows = {key: row.value for store in application.stores()["counts"] for key, row in store.all()}
    assert set(rows.values()) == {3 * _RECORDS // 4}
    application.close()


def _waits(thread: threading.Thread) -> bool:
    """Whether a thread is still there after a moment in which the others have ended."""
    thread.join(0.5)
    return thread.is_alive()


def test_a_short_restore_is_done_at_once() -> None:
    kafka, application = _restarted()
    assert _records(application.run_batch(0)) == {0: _RECORDS, 1: _RECORDS}
    assert not application.slot_of(0).tasks[TaskId(0, 0)].is_restoring
    assert kafka.group["in", 0] == 2 * _RECORDS
    application.close()
