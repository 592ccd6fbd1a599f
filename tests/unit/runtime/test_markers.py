"""What a slot reads in the batch log before it works. See ``worker.markers``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import StreamsError, TaskMigratedError
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.batch_log import LogState, Marker
from penstock.runtime.spark.exchange.stage_request import Report, StageRequest
from penstock.runtime.spark.worker.markers import (
    check_leader,
    check_newest,
    newest_step,
    write_global_ends,
    write_marker,
)

FIRST, SECOND = TaskId(0, 0), TaskId(0, 1)


def application(generation: int, run_id: str) -> Any:
    return SimpleNamespace(
        id="app", generation=generation, run_id=run_id, batches_topic="app-batches"
    )


def committed(**batches: int) -> LogState:
    """Return a log in which tasks, by the partition in their names, have committed batches."""
    tasks = {TaskId(0, int(name[-1])): batch for name, batch in batches.items()}
    return LogState(markers={(t, 0): Marker(batch, Clocks()) for t, batch in tasks.items()})


def request(batch: int, **given: Any) -> StageRequest:
    return StageRequest(batch=batch, stage=0, slots=1, clock_ms=0, **given)


@pytest.mark.parametrize(("generation", "run_id"), [(3, "a"), (2, "b")])
def test_a_slot_of_another_driver_is_fenced(generation: int, run_id: str) -> None:
    """Two drivers have one generation if the batch log was deleted in between."""
    log = LogState(generation=generation, run_id=run_id)
    with pytest.raises(TaskMigratedError, match="another driver leads"):
        check_leader(application(2, "a"), log)


def test_a_slot_of_the_newest_driver_works() -> None:
    check_leader(application(2, "a"), LogState(generation=2, run_id="a"))


def test_an_older_batch_than_a_task_of_the_slot_has_committed_is_refused() -> None:
    log = committed(task_0=3, task_1=5)
    with pytest.raises(StreamsError, match="batch 4 stage 0, but has gone on to batch 5"):
        check_newest(1, request(4), log, {FIRST, SECOND})


def test_the_newest_batch_of_a_slot_and_the_next_one_run() -> None:
    """Other slots may be far ahead: each has batches of its own."""
    log = committed(task_0=5, task_1=900)
    check_newest(1, request(5), log, {FIRST})
    check_newest(1, request(6), log, {FIRST})
    check_newest(1, request(0), LogState(), {FIRST})


def test_only_markers_of_the_slot_count() -> None:
    markers = {
        (FIRST, 0): Marker(4, Clocks()),
        (FIRST, 1): Marker(3, Clocks()),
        (SECOND, 1): Marker(7, Clocks()),
    }
    log = LogState(markers=markers)
    assert newest_step(log, {FIRST}) == (4, 0)
    assert newest_step(log, {FIRST, SECOND}) == (7, 1)
    assert newest_step(log, set()) == (-1, -1)


class Sent:
    """A writer whose records go straight into the state of a reader of the log."""

    def __init__(self) -> None:
        self.seen = LogState()

    def send(self, topic: str, key: bytes, value: bytes, *rest: Any) -> None:
        assert topic == "app-batches"
        # A callback of its own: the handler of the program is not asked about these records.
        assert rest[-1] is not None
        self.seen.apply(key.decode(), value)


def test_a_marker_says_where_the_task_began_and_where_it_is() -> None:
    """Without transactions only both together tell whether the group's offsets are outdated."""
    writer: Any = Sent()
    ranges = {("in", 0): (3, 9), ("in", 1): (0, 9)}
    report = Report(
        task=FIRST, stage=0, slot=0, clocks=Clocks(), positions={("in", 0): 7},
        skips={("in", 0): {7: 2}},
    )  # fmt: skip
    write_marker(writer, application(1, "a"), request(4, ranges=ranges), report)
    marker = writer.seen.markers[FIRST, 0]
    assert (marker.batch, marker.positions, marker.began) == (4, {("in", 0): 7}, {("in", 0): 3})
    assert marker.skips == {("in", 0): {7: 2}}


def test_the_log_knows_up_to_where_dead_letters_of_global_records_are_written() -> None:
    """The next driver must not write them twice."""
    writer: Any = Sent()
    write_global_ends(writer, application(1, "a"), {("prices", 0): 9})
    assert writer.seen.global_ends == {("prices", 0): 9}
