"""The clocks of a task survive as plain numbers."""

from __future__ import annotations

import json
from typing import Any

import penstock as ps
from penstock.kernel.clocks import Clocks
from penstock.kernel.record_queue import RawRecord
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication


def application(program: Any, kafka: MemoryKafka) -> StagedApplication:
    builder = ps.StreamsBuilder()
    program(builder)
    config = {"application.id": "app", "statestore.cache.max.bytes": 0}
    return StagedApplication(builder.build().graph, config, kafka)


def windows(builder: ps.StreamsBuilder) -> None:
    windowed = builder.stream("in").group_by_key().windowed_by(ps.TimeWindows.of_size("10ms"))
    windowed.count().suppress(ps.Suppressed.until_window_closes()).to_stream().to("out")


class Ticker(ps.Processor[Any, Any, Any, Any]):
    """Counts a tick per ten milliseconds of stream time."""

    def init(self, context: Any) -> None:
        self.context = context
        context.schedule("10ms", ps.PunctuationType.STREAM_TIME, self.tick)

    def tick(self, timestamp: int) -> None:
        self.context.forward(ps.Record("tick", str(timestamp), timestamp))

    def process(self, record: Any) -> None:
        return None


def run(kafka: MemoryKafka, app: StagedApplication, *times: int) -> Clocks:
    for time in times:
        kafka.append("in", b'"k"', b"1", time)
    (report,) = app.run_batch(0)
    return report.clocks


def test_clocks_are_json_and_come_back_equal() -> None:
    """They travel in a marker of the batch log."""
    kafka = MemoryKafka()
    kafka.create("in")
    app = application(windows, kafka)
    before = json.loads(json.dumps(run(kafka, app, 5, 25)))
    assert before["stream_time"] == 25
    assert before["partitions"] == {"in": 25}
    app.restart(lose_state=True)
    after = json.loads(json.dumps(run(kafka, app)))
    app.close()
    assert after == before


def test_a_closed_window_stays_closed_after_a_restart() -> None:
    """A restart that forgot the time would take late records and emit final results again."""
    kafka = MemoryKafka()
    kafka.create("in")
    app = application(windows, kafka)
    run(kafka, app, 5, 25)
    app.restart(lose_state=True)
    run(kafka, app, 6, 26)
    app.close()
    assert [r.timestamp for r in _out(kafka)] == [5]


def test_schedules_go_on_where_they_stood() -> None:
    """The next tick is due ten milliseconds after the last, not with the first record."""
    kafka = MemoryKafka()
    kafka.create("in")
    app = application(lambda b: b.stream("in").process(Ticker).to("out"), kafka)
    run(kafka, app, 100)
    app.restart()
    run(kafka, app, 105, 110)
    app.close()
    assert [r.timestamp for r in _out(kafka)] == [100, 110]


def _out(kafka: MemoryKafka) -> list[RawRecord]:
    return [record for record in kafka.committed if record.topic == "out"]
