"""The mark of a traced record on its way through a repartition topic.

The task that reads it goes on with the trace. The mark is a header of the record. It is taken off
before the record enters the task, so that functions never see it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.kernel.raw_columns import RawColumns
from penstock.model.record import Headers
from penstock.serving.journey.values import Origin

TRACE_HEADER = "penstock.trace"


@dataclass(frozen=True, slots=True)
class TraceMark:
    """Where the record comes from, and which watches have asked for it."""

    origin: Origin
    watches: tuple[str, ...]

    def header(self) -> tuple[str, bytes | None]:
        return TRACE_HEADER, json.dumps([*self.origin, *self.watches]).encode()

    @staticmethod
    def parse(data: bytes | None) -> TraceMark | None:
        """Return the mark; None if another program has written something else."""
        try:
            topic, partition, offset, *watches = json.loads(data or b"")
            return TraceMark(Origin(str(topic), int(partition), int(offset)), tuple(watches))
        except (ValueError, TypeError):
            return None


def without_marks(columns: RawColumns) -> tuple[RawColumns, dict[int, TraceMark]]:
    """Return records without their marks, and the marks by place."""
    if columns.headers is None:
        return columns, {}
    found = dict(_marked(columns))
    if not found:
        return columns, {}
    headers = [*columns.headers]
    for place in found:
        headers[place] = _without_mark(headers[place])
    marks = {place: mark for place, mark in found.items() if mark is not None}
    return replace(columns, headers=headers if any(headers) else None), marks


def _marked(columns: RawColumns) -> Iterator[tuple[int, TraceMark | None]]:
    for place, headers in enumerate(columns.headers or ()):
        for name, value in headers:
            if name == TRACE_HEADER:
                yield place, TraceMark.parse(value)


def _without_mark(headers: Headers) -> Headers:
    return tuple(each for each in headers if each[0] != TRACE_HEADER)
