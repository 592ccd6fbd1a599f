"""The streaming source: a row is an offset range, not a record. Spark logs what a batch is.

The reader lives in a Python process of Spark's own beside the driver; a control file tells it
what it cannot know when it is made: whether the application is paused, and a batch to run again.
Another file tells the driver what was planned: to collect that row would cost a Spark job.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.kafka.admin import Admin

FORMAT = "penstock-ranges"
Offset = dict[str, Any]
Part = tuple[str, int]
_LATEST_MS = 1 << 43
#: A batch that is as full as this needs no further search for its end.
_FULL = 0.8


class RangesDataSource(DataSource):
    """Registered once per session; an application's settings come as the option ``settings``."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "range string"

    def streamReader(self, schema: Any) -> RangesReader:  # noqa: N802 - Spark's name
        return RangesReader(json.loads(self.options["settings"]))


class RangesReader(DataSourceStreamReader):
    """Plans batches: up to the end of every partition, but no more than a batch should hold."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._admin: Admin | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        return dict(self._settings["start"])

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802
        end = self._end(start)
        if end != start:
            write_file(self._settings["planned"], {"start": start, "end": end})
        return end

    def _end(self, start: Offset) -> Offset:
        control = read_file(self._settings["control"])
        unfinished = control.get("unfinished")
        if unfinished is not None and unfinished["start"] == start["offsets"]:
            # This batch was under way when the last leader died: the same ranges again.
            return dict(unfinished["end"])
        if control.get("paused"):
            return start
        return self._latest(start)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [InputPartition(json.dumps({"start": start, "end": end}))]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield (partition.value,)

    def _latest(self, start: Offset) -> Offset:
        parts = [(topic, number) for topic, number, _ in start["offsets"]]
        ends = self._ends(parts)
        capped = self._capped(parts_of(start["offsets"]), ends)
        result = {**start, "offsets": listed(capped)}
        if self._settings["global_parts"]:
            globals_ = [(topic, number) for topic, number in self._settings["global_parts"]]
            result["global"] = listed(self._ends(globals_))
        # A global table alone makes a batch, too: queries see it as of the newest batch.
        if self._settings["wall_clock"] or result != start:
            result["clock_ms"] = max(start["clock_ms"], time.time_ns() // 1_000_000)
        return result

    def _capped(self, start: Mapping[Part, int], ends: Mapping[Part, int]) -> dict[Part, int]:
        most = self._settings["max_records"]
        if not self._settings["is_ordered"]:
            return cap(start, ends, most)

        def offsets_at(time_ms: int) -> dict[Part, int]:
            found = self._connected().offsets_at(start, time_ms)
            # Late records may lie behind the start; what is not there yet comes after the end.
            return {
                part: ends[part] if at < 0 else min(max(at, start[part]), ends[part])
                for part, at in found.items()
            }

        return cap_by_time(start, ends, most, offsets_at)

    def _ends(self, parts: list[Part]) -> dict[Part, int]:
        return self._connected().end_offsets(parts, committed=self._settings["read_committed"])

    def _connected(self) -> Admin:
        if self._admin is None:
            self._admin = Admin(self._settings["admin"])
        return self._admin


def cap(start: Mapping[Part, int], ends: Mapping[Part, int], most: int) -> dict[Part, int]:
    """Takes a fair share of each partition if there is more than a batch should hold."""
    waiting = {part: max(ends[part] - at, 0) for part, at in start.items()}
    total = sum(waiting.values())
    if total <= most:
        return {part: at + waiting[part] for part, at in start.items()}
    share = most / total
    return {part: at + int(waiting[part] * share + 0.999) for part, at in start.items()}


def cap_by_time(
    start: Mapping[Part, int],
    ends: Mapping[Part, int],
    most: int,
    offsets_at: Callable[[int], Mapping[Part, int]],
) -> dict[Part, int]:
    """Takes what is oldest over all partitions if there is more than a batch should hold.

    Records of topics that are joined are processed in order of time, also over batches: an event
    must not run ahead of the table row before it only because the topics differ in length.
    """
    if _distance(start, ends) <= most:
        return dict(ends)
    before, early, late = dict(start), 0, _LATEST_MS
    while late - early > 1 and _distance(start, before) < most * _FULL:
        middle = (early + late) // 2
        found = offsets_at(middle)
        if _distance(start, found) <= most:
            before, early = dict(found), middle
        else:
            late = middle
    if before != dict(start):
        return before
    # More records of one moment than a batch should hold.
    return cap(start, offsets_at(late), most)


def _distance(start: Mapping[Part, int], end: Mapping[Part, int]) -> int:
    return sum(max(end[part] - at, 0) for part, at in start.items())


def listed(offsets: Mapping[Part, int]) -> list[list[Any]]:
    """JSON has no pairs as keys."""
    return [[topic, number, at] for (topic, number), at in sorted(offsets.items())]


def parts_of(offsets: list[list[Any]]) -> dict[Part, int]:
    return {(topic, number): at for topic, number, at in offsets}


def read_file(path: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(Path(path).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content


def write_file(path: str, content: Mapping[str, Any]) -> None:
    """Replaces the file at once, so that a reader never sees half of it."""
    temporary = Path(f"{path}.new")
    temporary.write_text(json.dumps(content))
    temporary.replace(path)
