"""Sets the task's context to that of an earlier record, and restores it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.model.record import Headers, RecordContext


@contextmanager
def in_context(current: RecordContext, other: RecordContext) -> Iterator[RecordContext]:
    """Set the task's context to another one inside the ``with`` block, then restore it."""
    before = current.copy()
    assign(current, other)
    try:
        yield current
    finally:
        assign(current, before)


def assign(to: RecordContext, source: RecordContext) -> None:
    """Copy the values of one context to another."""
    to.timestamp, to.offset, to.partition = source.timestamp, source.offset, source.partition
    to.topic, to.headers = source.topic, source.headers


@contextmanager
def at_time(current: RecordContext, timestamp: int, headers: Headers) -> Iterator[None]:
    """Give the task's context another timestamp and other headers inside the ``with`` block."""
    before = current.timestamp, current.headers
    current.timestamp, current.headers = timestamp, headers
    try:
        yield
    finally:
        current.timestamp, current.headers = before
