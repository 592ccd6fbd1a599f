"""Hypothesis strategies for streams of records: for property tests of topologies.

The only module that needs Hypothesis (``pip install "penstock[testing]"``); import it by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

__all__ = ["Event", "batches", "in_processing_order", "keys", "streams"]


class Event(NamedTuple):
    """A record of a generated stream. A value of None is a tombstone."""

    topic: str
    key: Any
    value: Any
    timestamp: int


def keys(count: int = 4, *, nulls: bool = False) -> st.SearchStrategy[str | None]:
    """Gives one of a few keys, so that records meet; with ``nulls`` sometimes none at all."""
    named: st.SearchStrategy[str | None] = st.sampled_from([f"k{n}" for n in range(count)])
    return named | st.none() if nulls else named


@st.composite
def streams(
    draw: st.DrawFn,
    *,
    topics: Sequence[str] = ("in",),
    key: st.SearchStrategy[Any] | None = None,
    value: st.SearchStrategy[Any] | None = None,
    max_size: int = 40,
    max_step_s: float = 20,
    max_late_s: float = 60,
) -> list[Event]:
    """Gives records of some topics in the order in which they arrive.

    Time moves on by steps of up to ``max_step_s``; now and then a record is older than the newest
    before it by up to ``max_late_s``. No two topics share a timestamp, so that which of their
    records is processed first is always decided by time.

    Args:
        draw: Given by Hypothesis.
        topics: Where records may arrive.
        key: Keys; one of four if not given.
        value: Values; small numbers and now and then a tombstone if not given.
        max_size: How many records there are at most.
        max_step_s: How far time moves between two records at most.
        max_late_s: How late a record is at most; 0 keeps the stream in order.
    """
    key = keys() if key is None else key
    value = st.integers(0, 9) | st.none() if value is None else value
    records = draw(
        st.lists(
            st.tuples(st.integers(0, len(topics) - 1), key, value, _times(max_step_s, max_late_s)),
            max_size=max_size,
        )
    )
    events, now = [], 0
    for number, record_key, record_value, (step_ms, late_ms) in records:
        now += step_ms
        # The remainder says which topic it is: no two topics have the same.
        timestamp = max(0, now - late_ms) * len(topics) + number
        events.append(Event(topics[number], record_key, record_value, timestamp))
    return in_processing_order(events)


def _times(max_step_s: float, max_late_s: float) -> st.SearchStrategy[tuple[int, int]]:
    """How far time moves on, and how late the record is: mostly not at all."""
    step_ms, late_ms = int(max_step_s * 1000), int(max_late_s * 1000)
    late = st.just(0) | st.just(0) | st.integers(0, late_ms) if late_ms else st.just(0)
    # Steps of nothing and of round seconds make windows end exactly at a record.
    seconds = st.integers(0, step_ms // 1000).map(lambda second: second * 1000)
    return st.tuples(st.integers(0, step_ms) | seconds, late)


def in_processing_order(events: Iterable[Event]) -> list[Event]:
    """Gives the events as a task takes them that has all of them: smallest timestamp first.

    The order within a topic stays. A task that gets any leading part of the result takes that
    part in the same order, so results cannot depend on where batches end.
    """
    queues: dict[str, list[Event]] = {}
    for event in events:
        queues.setdefault(event.topic, []).append(event)
    for queue in queues.values():
        queue.reverse()
    ordered = []
    while queues:
        first = min(queues.values(), key=lambda queue: queue[-1].timestamp)
        ordered.append(first.pop())
        if not first:
            del queues[ordered[-1].topic]
    return ordered


def batches(max_size: int = 16) -> st.SearchStrategy[list[int]]:
    """Gives sizes of batches, to be used one after the other and from the start again."""
    return st.lists(st.integers(1, max_size), min_size=1, max_size=6)
