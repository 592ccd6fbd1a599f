"""Hypothesis strategies for streams of records: for property tests of topologies.

The only module that needs Hypothesis: ``pip install "penstock-streams[testing]"``. Import it by
name.
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
    """Return a strategy for one of a few keys; with ``nulls``, sometimes None."""
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
    """Generate records of some topics, in the order of their arrival.

    Time advances in steps of up to ``max_step_s``. Some records are late by up to ``max_late_s``.
    No two topics share a timestamp, so timestamps decide which record is processed first.

    Args:
        draw: Comes from Hypothesis.
        topics: The topics of the records.
        key: A strategy for keys; by default, one of four.
        value: A strategy for values; by default, small numbers and some tombstones.
        max_size: The largest number of records.
        max_step_s: The largest step of time between two records.
        max_late_s: The largest delay of a record; with 0, the stream is in order.
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
        # The remainder of a timestamp is the number of the topic, so no two topics share one.
        timestamp = max(0, now - late_ms) * len(topics) + number
        events.append(Event(topics[number], record_key, record_value, timestamp))
    return in_processing_order(events)


def _times(max_step_s: float, max_late_s: float) -> st.SearchStrategy[tuple[int, int]]:
    """Return a strategy for the step of time and the delay of a record, which is mostly 0."""
    step_ms, late_ms = int(max_step_s * 1000), int(max_late_s * 1000)
    late = st.just(0) | st.just(0) | st.integers(0, late_ms) if late_ms else st.just(0)
    # With steps of 0 and of whole seconds, some windows end exactly at a record.
    seconds = st.integers(0, step_ms // 1000).map(lambda second: second * 1000)
    return st.tuples(st.integers(0, step_ms) | seconds, late)


def in_processing_order(events: Iterable[Event]) -> list[Event]:
    """Return the events in the order in which a task processes them: by timestamp.

    The order within a topic stays. A task that gets any first part of the result processes it in
    the same order, so results cannot depend on the sizes of batches.
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
    """Return a strategy for sizes of batches, which are used one after the other, in a cycle."""
    return st.lists(st.integers(1, max_size), min_size=1, max_size=6)
