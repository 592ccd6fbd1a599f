"""What a slot reads in the batch log before it works. See ``worker.markers``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import StreamsError, TaskMigratedError
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.batch_log import BatchPlan, LogState, Marker
from penstock.runtime.spark.exchange.stage_request import StageRequest
from penstock.runtime.spark.worker.markers import check_leader, check_newest, newest_step

FIRST, SECOND = TaskId(0, 0), TaskId(0, 1)


def application(generation: int, run_id: str) -> Any:
    return SimpleNamespace(id="app", generation=generation, run_id=run_id)


def planned(batch: int) -> LogState:
    return LogState(plan=BatchPlan(batch, {}, {}, 0, {}))


def request(batch: int) -> StageRequest:
    return StageRequest(batch=batch, stage=0, slots=1, clock_ms=0)


@pytest.mark.parametrize(("generation", "run_id"), [(3, "a"), (2, "b")])
def test_a_slot_of_another_driver_is_fenced(generation: int, run_id: str) -> None:
    """Two drivers have one generation if the batch log was deleted in between."""
    log = LogState(generation=generation, run_id=run_id)
    with pytest.raises(TaskMigratedError, match="another driver leads"):
        check_leader(application(2, "a"), log)


def test_a_slot_of_the_newest_driver_works() -> None:
    check_leader(application(2, "a"), LogState(generation=2, run_id="a"))


def test_an_older_batch_than_that_of_the_log_is_refused() -> None:
    with pytest.raises(StreamsError, match="batch 4 stage 0, but has gone on to batch 5"):
        check_newest(1, request(4), planned(5))


def test_the_newest_batch_and_the_next_one_run() -> None:
    """The plan of a batch is written with its first transaction, so it may not be there yet."""
    check_newest(1, request(5), planned(5))
    check_newest(1, request(6), planned(5))
    check_newest(1, request(0), LogState())


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
