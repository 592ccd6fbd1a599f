"""State of a cluster that is not there any more: on a new one an application begins anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.model.task_id import TaskId
from penstock.runtime.local.memory_clients import MemoryReader
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import MemoryDisk, StagedApplication
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.replica.task_copy import TaskCopy

_LATE = 10_000_000


def _grouped(builder: ps.StreamsBuilder) -> ps.KGroupedStream[str, str]:
    return builder.stream("in", key="string", value="string").group_by_key()


def _windows(builder: ps.StreamsBuilder) -> None:
    _grouped(builder).windowed_by(ps.TimeWindows.of_size_with_no_grace("1m")).count("counts")


def _sessions(builder: ps.StreamsBuilder) -> None:
    windows = ps.SessionWindows.of_inactivity_gap_with_no_grace("1m")
    _grouped(builder).windowed_by(windows).count("counts")


def _plain(builder: ps.StreamsBuilder) -> None:
    _grouped(builder).count("counts")


def _application(describe: Callable[[ps.StreamsBuilder], None]) -> StagedApplication:
    builder = ps.StreamsBuilder()
    describe(builder)
    kafka = MemoryKafka()
    kafka.create("in", 1)
    config = {"application.id": "moved", "statestore.cache.max.bytes": 0}
    return StagedApplication(builder.build().graph, config, kafka)


def _run(application: StagedApplication, *times: int) -> None:
    for time in times:
        application.kafka.append("in", b"k", b"v", time, partition=0)
    application.run_batch(0)


def _after_another(describe: Callable[[ps.StreamsBuilder], None]) -> StagedApplication:
    """Return an application on a new cluster that finds the state of a longer life on disk."""
    former = _application(describe)
    for time in range(_LATE, _LATE + 500, 100):
        _run(former, time)
    former.restart()
    application = _application(describe)
    folders = former._disk._stores.items()
    moved = {application._directory / f.relative_to(former._directory): s for f, s in folders}
    application._disk._stores = moved
    former.close()
    return application


def _counts(store: Any) -> list[int]:
    rows = store.fetch("k") if hasattr(store, "find_sessions") else store.all()
    return [getattr(row, "value", row) for _, row in rows]


@pytest.mark.parametrize("describe", [_windows, _sessions, _plain])
def test_a_new_cluster_makes_an_old_folder_empty_for_good(
    describe: Callable[[ps.StreamsBuilder], None],
) -> None:
    """Its stream time and segments go, too: with them, all new rows would count as expired."""
    application = _after_another(describe)
    _run(application, 1_000)
    application.crash()
    _run(application, 2_000)
    (store,) = application.stores()["counts"]
    assert _counts(store) == [2]
    application.close()


@pytest.mark.parametrize("describe", [_windows, _sessions, _plain])
def test_a_copy_in_an_old_folder_begins_anew(
    describe: Callable[[ps.StreamsBuilder], None],
) -> None:
    """The copy that becomes the task has the rows of the new cluster, and no others."""
    application = _after_another(describe)
    folders, application._disk._stores = application._disk._stores, {}
    _run(application, 1_000, 2_000)
    application.restart()
    disk = MemoryDisk()
    disk._stores = folders
    settings = task_settings(StreamsConfig(application.application.config))
    directory = application._directory / "moved"
    copy = TaskCopy(TaskId(0, 0), application.plan, settings, directory, disk.open)
    part = copy.followed()[0].part
    end = application.kafka.ends({part[0]: 1})[part]
    assert copy.position("counts", 0, end) == 0
    rows = MemoryReader(application.kafka).read_columns({part: (0, end)}).columns[part]
    copy.take("counts", rows, 0, end)
    assert _counts(copy.stores["counts"]) == [2]
    copy.close()
    application.close()
