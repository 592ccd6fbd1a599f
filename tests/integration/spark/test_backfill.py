"""``penstock backfill``: history, then live, with nothing twice and nothing missing.

Exercises ``penstock.runtime.spark.backfill.backfill``, ``penstock.runtime.spark.backfill.seeding``,
``penstock.runtime.spark.backfill.junction``, ``penstock.runtime.spark.backfill.backfill_log``,
``penstock.runtime.spark.backfill.clock_handover`` and ``penstock.runtime.spark.history.sources``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InvalidStateError, StreamsError
from penstock.kafka.admin import Admin
from penstock.runtime.spark.backfill import backfill as module
from penstock.runtime.spark.backfill.backfill import Backfill, BackfillReport, BackfillRequest
from penstock.runtime.spark.history.sources import HistorySource, topic_frame
from tests.integration.spark.versions import needs_spark

pytestmark = [needs_spark("4.1", "run_batch"), pytest.mark.spark, pytest.mark.kafka]

Read = Callable[[str], list[tuple[Any, Any]]]
EVENTS = [(f"k{n % 4}", n, 1_700_000_000_000 + n * 1_500) for n in range(60)]
#: So many records of the topic are history; the topic has lost the first of them.
HISTORY, LOST = 40, 15


def build(source: str, finals: str, totals: str) -> ps.Topology:
    """Windows that close once, and sums behind a repartition topic."""
    builder = ps.StreamsBuilder()
    numbers = builder.stream(source, key=str, value=int)
    windows = ps.TimeWindows.of_size_and_grace("10s", "5s")
    closed = ps.Suppressed.until_window_closes(ps.BufferConfig.unbounded())
    counted = numbers.group_by_key().windowed_by(windows).count("per-window")
    counted.suppress(closed).to_stream(window_text).to(finals, key=str, value=int)
    grouped = numbers.group_by(lambda key, value: f"g{value % 3}", key=str, value=int)
    grouped.reduce(lambda one, other: one + other, "sums").to_stream().to(
        totals, key=str, value=int
    )
    return builder.build()


def window_text(key: object, value: object) -> str:
    return str(key)


class Scene:
    """An input topic whose first records are only in a Parquet file, and two output topics."""

    def __init__(
        self,
        spark: Any,
        servers: str,
        application_id: str,
        folder: Path,
        new_topic: Callable[..., str],
        produce: Callable[..., None],
        admin: Admin,
    ) -> None:
        self.spark, self.admin = spark, admin
        self.source = new_topic("numbers", partitions=2)
        self.finals, self.totals = new_topic("finals", partitions=2), new_topic("totals")
        produce(self.source, *[(k, v.to_bytes(8), time) for k, v, time in EVENTS])
        self.settings = {
            "application.id": application_id, "bootstrap.servers": servers,
            "state.dir": str(folder / "state"), "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 20, "statestore.cache.max.bytes": 0,
        }  # fmt: skip
        self.lake = str(folder / "lake")
        whole = topic_frame(spark, self.source, ps.StreamsConfig(self.settings))
        whole.where(f"unix_millis(timestamp) < {EVENTS[HISTORY][2]}").write.parquet(self.lake)
        ends = {(self.source, n): LOST // 2 for n in range(2)}
        admin.delete_records(ends)
        self.request = BackfillRequest(
            {self.source: HistorySource.parse(f"parquet:{self.lake}")}, outputs="topics"
        )

    def topology(self) -> ps.Topology:
        return build(self.source, self.finals, self.totals)

    def backfill(self, **changes: Any) -> BackfillReport:
        request = replace(self.request, **changes)
        return Backfill(self.topology(), self.settings, request, lambda: self.spark).run()

    def go_live(self) -> dict[str, int]:
        """Processes the rest of the topic; gives the sums."""
        with ps.KafkaStreams(self.topology(), self.settings) as streams:
            assert streams.run_until_idle("300s")
            return dict(streams.store("sums").all())


@pytest.fixture
def scene(
    spark: Any,
    kafka_broker: str,
    application_id: str,
    tmp_path: Path,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    kafka_admin: Admin,
) -> Scene:
    return Scene(spark, kafka_broker, application_id, tmp_path, new_topic, produce, kafka_admin)


def by_key(records: Iterable[tuple[Any, Any]]) -> dict[str, list[int]]:
    found = defaultdict(list)
    for key, value in records:
        found[key.decode()].append(int.from_bytes(value))
    return dict(found)


def assert_uninterrupted(scene: Scene, sums: dict[str, int], committed: Read) -> None:
    """Compares stores and outputs with a driver that has seen all records one after the other."""
    sizes = {scene.source: 2, scene.finals: 2, scene.totals: 1}
    with ps.TopologyTestDriver(scene.topology(), scene.settings, num_partitions=sizes) as driver:
        for key, value, time in EVENTS:
            driver.pipe_input(scene.source, key, value, time)
        finals = defaultdict(list)
        for record in driver.read_records(scene.finals):
            finals[record.key].append(record.value)
    wanted = {f"g{rest}": sum(v for _, v, _ in EVENTS if v % 3 == rest) for rest in range(3)}
    assert sums == wanted
    assert by_key(committed(scene.finals)) == finals
    totals = by_key(committed(scene.totals))
    assert {key: values[-1] for key, values in totals.items()} == wanted
    assert sum(map(len, totals.values())) == len(EVENTS)


def test_an_application_goes_on_where_its_history_ends(scene: Scene, committed: Read) -> None:
    """Windows that were open close once, and every record is counted once."""
    report = scene.backfill()
    assert sum(report.records.values()) == HISTORY
    assert sum(report.offsets.values()) == HISTORY
    assert scene.backfill().is_repeated
    assert_uninterrupted(scene, scene.go_live(), committed)
    with pytest.raises(InvalidStateError, match="application-has-state"):
        scene.backfill(until_ms=EVENTS[HISTORY][2])


class CrashError(Exception):
    """Stands for the end of the process."""


@pytest.mark.slow
def test_a_backfill_that_dies_anywhere_is_run_again(
    scene: Scene, committed: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run begins again, or only commits the offsets; outputs come once."""
    for owner, name, call in (
        (module, "write_changelog", 1),
        (module, "write_changelog", 2),
        (module, "write_clocks", 1),
        (module, "write_outputs", 2),
        (module.BackfillLog, "note", 2),
        (Admin, "alter_group_offsets", 1),
        (module.BackfillLog, "note", 1),
    ):
        with monkeypatch.context() as patches:
            patches.setattr(owner, name, dying(getattr(owner, name), call))
            with pytest.raises(CrashError):
                scene.backfill()
    assert not scene.backfill().is_repeated
    assert_uninterrupted(scene, scene.go_live(), committed)


def dying(function: Callable[..., Any], last: int) -> Callable[..., Any]:
    """A function that ends the process instead of its last call."""
    calls = 0

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= last:
            raise CrashError
        return function(*arguments, **named)

    return call


def test_history_by_time_fits_or_is_refused(scene: Scene) -> None:
    """A time that the history does not reach leaves a gap."""
    place = f"parquet:{scene.lake}?key=key&value=value&timestamp=timestamp&offset=&partition="
    source = HistorySource.parse(place)
    by_time = replace(source, columns={**source.columns, "offset": None, "partition": None})
    inputs = {scene.source: by_time}
    with pytest.raises(StreamsError, match="history-gap"):
        scene.backfill(inputs=inputs, until_ms=EVENTS[HISTORY + 5][2], outputs="none")
    report = scene.backfill(inputs=inputs, until_ms=EVENTS[HISTORY][2], outputs="none")
    assert sum(report.offsets.values()) == HISTORY
    assert scene.go_live() == {
        f"g{rest}": sum(v for _, v, _ in EVENTS if v % 3 == rest) for rest in range(3)
    }


def test_deleted_records_between_history_and_live_are_noticed(scene: Scene) -> None:
    """The history ends before the first record that the topic still has."""
    short = str(Path(scene.lake).with_name("short"))
    frame = scene.spark.read.parquet(scene.lake)
    frame.where("offset < 5").write.parquet(short)
    with pytest.raises(StreamsError, match="history-gap") as raised:
        scene.backfill(inputs={scene.source: HistorySource.parse(f"parquet:{short}")})
    assert "ends before offset 5" in str(raised.value)
