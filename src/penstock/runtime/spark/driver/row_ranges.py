"""Which rows the driver takes after a cut: written to the batch log before they are taken.

So after a crash, the same rows come again under the same number, and what remembers the last
number that it has taken takes every row once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from penstock.config import REPARTITION_PURGE_INTERVAL_MS, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.purge import Purge
from penstock.runtime.spark.exchange.batch_log import BatchLog, offset_rows, offsets_from
from penstock.runtime.spark.exchange.plan import rows_topic
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.topology.nodes.topics.to_lake import DriverSink


@dataclass(frozen=True, slots=True)
class RowRange:
    """The rows of one node that are taken together."""

    #: The cut up to which they go.
    batch: int
    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    #: How many times rows of this node were taken, this time included. Unlike the numbers of
    #: cuts, these are in the batch log before any row is taken, so none of them is used twice.
    version: int = 1
    #: Differs after the application was reset, and versions begin at one again.
    series: str = ""
    #: Whether these are all rows up to the cut, and none behind it.
    is_exact: bool = False

    @property
    def ranges(self) -> dict[TopicPartition, tuple[int, int]]:
        """The partitions that have rows, each with its first and its next offset."""
        found = {part: (self.start.get(part, 0), end) for part, end in self.end.items()}
        return {part: span for part, span in found.items() if span[0] < span[1]}

    def to_note(self, *, done: bool) -> dict[str, Any]:
        return {
            "batch": self.batch,
            "start": offset_rows(self.start),
            "end": offset_rows(self.end),
            "version": self.version,
            "series": self.series,
            "exact": self.is_exact,
            "done": done,
        }

    @staticmethod
    def from_note(told: Mapping[str, Any]) -> RowRange:
        return RowRange(
            told["batch"],
            offsets_from(told["start"]),
            offsets_from(told["end"]),
            told.get("version", 1),
            told.get("series", ""),
            told.get("exact", False),
        )


class RowRanges:
    """Says what is to be taken, and remembers in the batch log what was."""

    def __init__(
        self,
        application: Application,
        batch_log: BatchLog,
        admin: Admin,
        sinks: Sequence[DriverSink],
    ) -> None:
        self._application = application
        self._log = batch_log
        self._admin = admin
        # No task runs yet, so every cut of this run contains the rows that are there.
        parts = [part for sink in sinks for part in self._parts(sink)]
        self._there = admin.end_offsets(parts) if parts else {}
        config = StreamsConfig(application.config)
        self._purge = Purge(admin, config[REPARTITION_PURGE_INTERVAL_MS] / 1000)

    def due(
        self, sink: DriverSink, number: int, written: Mapping[TopicPartition, int] | None
    ) -> Iterator[RowRange]:
        """Yield the rows that are to be taken now; the caller says ``done`` after each.

        Args:
            number: the cut up to which rows are taken.
            written: the next offset of every partition with rows; None if only Kafka knows it.
        """
        told = self._log.state.sinks.get(sink.name)
        if told is not None and not told["done"]:
            # The driver ended, or an error was raised, before these had been taken.
            yield RowRange.from_note(told)
        found = self._next(sink, number, written)
        if found is not None:
            self._log.note_sink(sink.name, found.to_note(done=False))
            yield found

    def done(self, sink: DriverSink, rows: RowRange) -> None:
        """Note that rows were taken: they never come again, and may be deleted."""
        self._log.note_sink(sink.name, rows.to_note(done=True))
        if self._purge.is_due:
            self._purge.delete(rows.end)

    def _next(
        self, sink: DriverSink, number: int, written: Mapping[TopicPartition, int] | None
    ) -> RowRange | None:
        parts = self._parts(sink)
        told = self._log.state.sinks.get(sink.name)
        before = None if told is None else RowRange.from_note(told)
        start = dict.fromkeys(parts, 0) | ({} if before is None else dict(before.end))
        if written is None:
            # Up to the high watermark: a commit returns a moment before the broker shows its rows.
            known = self._admin.end_offsets(parts)
        else:
            known = {part: max(written.get(part, 0), self._there[part]) for part in parts}
        ends = {part: max(known[part], start[part]) for part in parts}
        if all(ends[part] <= start[part] for part in parts):
            return None
        is_exact = written is not None and all(known[part] >= start[part] for part in parts)
        version, series = (0, "") if before is None else (before.version, before.series)
        return RowRange(number, start, ends, version + 1, series or uuid4().hex, is_exact)

    def _parts(self, sink: DriverSink) -> list[TopicPartition]:
        plan = self._application.plan
        topic = rows_topic(self._application.id, sink)
        tasks = next(
            plan.tasks(part.id) for part in plan.subtopologies.values() if sink.name in part.nodes
        )
        return [(topic, number) for number in range(tasks)]
