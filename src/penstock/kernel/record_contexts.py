"""Working on a record of the past: the task's context becomes that record's for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.model.record import RecordContext


@contextmanager
def in_context(current: RecordContext, other: RecordContext) -> Iterator[RecordContext]:
    """Gives the task's context the other one's values, and takes them back in the end."""
    before = current.copy()
    assign(current, other)
    try:
        yield current
    finally:
        assign(current, before)


def assign(to: RecordContext, source: RecordContext) -> None:
    """Gives a context the values of another one."""
    to.timestamp, to.offset, to.partition = source.timestamp, source.offset, source.partition
    to.topic, to.headers = source.topic, source.headers
