"""A range of records as users name it: ``--from 2h --to 2026-03-02T10:00:00Z``."""

from __future__ import annotations

import time
from collections.abc import Iterable

import typer

from penstock.errors import InvalidArgumentError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.kafka.topic_reader import Span
from penstock.model.time.moment import moment_ms

EARLIEST, LATEST = "earliest", "latest"


def time_of(option: str, text: str, now_ms: int | None = None) -> int | None:
    """Return a moment in milliseconds; None for ``earliest`` and ``latest``.

    Text is an ISO 8601 time (UTC if it has no zone), or a duration before now such as ``15m``.

    Raises:
        typer.BadParameter: the text is neither.
    """
    if text in (EARLIEST, LATEST):
        return None
    try:
        return moment_ms(text, time.time_ns() // 1_000_000 if now_ms is None else now_ms)
    except InvalidArgumentError:
        raise typer.BadParameter(
            f"{text!r} is neither a time such as 2026-03-02T10:00:00Z, nor a duration before now"
            f" such as 15m, nor {EARLIEST} or {LATEST}",
            param_hint=option,
        ) from None


def spans_of(
    admin: Admin, topics: Iterable[str], start: int | None, end: int | None
) -> dict[Partition, Span]:
    """Return the offsets of each partition, from the first record at ``start`` to that at ``end``.

    The record at ``end`` is not part of the range.
    """
    places = [(name, state.id) for name in topics for state in admin.topic(name).partitions]
    first = admin.begin_offsets(places)
    last = admin.end_offsets(places, committed=True)
    starts = first if start is None else admin.offsets_at(places, start)
    ends = last if end is None else admin.offsets_at(places, end)
    # Kafka answers -1 for a time after the last record.
    return {
        place: (
            last[place] if starts[place] < 0 else starts[place],
            last[place] if ends[place] < 0 else ends[place],
        )
        for place in places
    }
