"""What a task remembers besides its stores: clocks and schedules. They travel with its commits.

A restart that forgot them would reopen closed windows and emit final results again.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from penstock.kernel.executor import Executor
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.punctuation import PunctuationQueue
from penstock.kernel.record_queue import PartitionGroup
from penstock.kernel.services import JoinClock


class Clocks(TypedDict):
    """Plain numbers, by name."""

    stream_time: int
    partitions: dict[str, int]
    received: dict[str, int]
    operators: dict[str, tuple[int, int, int]]
    joins: dict[str, tuple[int, int, int]]
    stream_punctuations: list[int]
    wall_punctuations: list[int]
    #: The queues as a cut batch has left them, see ``PartitionGroup.order``; else missing.
    queue_order: NotRequired[list[str]]


def read_clocks(
    group: PartitionGroup,
    executors: dict[str, Executor[Any]],
    joins: dict[str, JoinClock],
    stream: PunctuationQueue,
    wall: PunctuationQueue,
) -> Clocks:
    """Notes where every clock stands."""
    noted: Clocks = {
        "stream_time": group.stream_time,
        "partitions": {name: queue.partition_time for name, queue in group.queues.items()},
        "received": {
            name: queue.received for name, queue in group.queues.items() if queue.received
        },
        "operators": {
            name: (clock.stream_time, clock.last_close_time, clock.next_time_to_emit)
            for name, clock in _operator_clocks(executors)
        },
        "joins": {
            name: (clock.stream_time, clock.min_time, clock.next_time_to_emit)
            for name, clock in joins.items()
        },
        "stream_punctuations": stream.times(),
        "wall_punctuations": wall.times(),
    }
    if group.order:
        noted["queue_order"] = [*group.order]
    return noted


def set_clocks(
    noted: Clocks,
    group: PartitionGroup,
    executors: dict[str, Executor[Any]],
    joins: dict[str, JoinClock],
    stream: PunctuationQueue,
    wall: PunctuationQueue,
) -> None:
    """Puts every clock back; what the topology no longer has is left out."""
    group.stream_time = noted["stream_time"]
    group.order = [*noted.get("queue_order", ())]
    for name, queue in group.queues.items():
        queue.partition_time = noted["partitions"].get(name, -1)
        queue.received = noted["received"].get(name, 0)
    for name, operator in _operator_clocks(executors):
        if name in noted["operators"]:
            operator.stream_time, operator.last_close_time, operator.next_time_to_emit = noted[
                "operators"
            ][name]
    for name, times in noted["joins"].items():
        clock = joins.setdefault(name, JoinClock())
        clock.stream_time, clock.min_time, clock.next_time_to_emit = times
    stream.set_times(noted["stream_punctuations"])
    wall.set_times(noted["wall_punctuations"])


def _operator_clocks(executors: dict[str, Executor[Any]]) -> list[tuple[str, OperatorClock]]:
    clocks = [(name, getattr(executor, "clock", None)) for name, executor in executors.items()]
    return [(name, clock) for name, clock in clocks if isinstance(clock, OperatorClock)]
