"""What a task remembers besides its stores: clocks and schedules, saved with each commit.

Without them, a restarted task would open closed windows again and emit final results twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, NotRequired, TypedDict

from penstock.kernel.executor import Executor
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.punctuation import NodeTime, PunctuationQueue
from penstock.kernel.record_queue import PartitionGroup
from penstock.kernel.services import JoinClock


class Clocks(TypedDict):
    """Plain numbers by name: of a queue, a node, or the clock that both sides of a join share.

    Punctuations are pairs of a node and a time. An earlier release saved only the times.
    """

    stream_time: int
    partitions: dict[str, int]
    received: dict[str, int]
    operators: dict[str, tuple[int, int, int]]
    joins: dict[str, tuple[int, int, int]]
    stream_punctuations: list[NodeTime] | list[int]
    wall_punctuations: list[NodeTime] | list[int]
    #: The order of the queues after a batch that was cut, see ``PartitionGroup.order``; else
    #: missing.
    queue_order: NotRequired[list[str]]


def fitting(noted: Clocks, topics: Set[str], nodes: Set[str]) -> Clocks | None:
    """Return the clocks that belong to a task with these topics and nodes, or ``None``.

    Clocks are saved by the number of a sub-topology. If a program adds another sub-topology before
    it, the number belongs to another one, and its stream time would close windows that are still
    open.
    """
    partitions = {
        name: time for name, time in noted["partitions"].items() if _topic(name) in topics
    }
    is_whole = len(partitions) == len(noted["partitions"])
    fit: Clocks = {
        "stream_time": noted["stream_time"] if is_whole else max(partitions.values(), default=-1),
        "partitions": partitions,
        "received": {n: count for n, count in noted["received"].items() if _topic(n) in topics},
        "operators": {n: times for n, times in noted["operators"].items() if n in nodes},
        "joins": {n: times for n, times in noted["joins"].items() if n in nodes},
        "stream_punctuations": _scheduled(noted["stream_punctuations"], nodes, is_whole=is_whole),
        "wall_punctuations": _scheduled(noted["wall_punctuations"], nodes, is_whole=is_whole),
    }
    if "queue_order" in noted:
        fit["queue_order"] = [name for name in noted["queue_order"] if _topic(name) in topics]
    return fit if any(value for name, value in fit.items() if name != "stream_time") else None


def renamed(noted: Clocks, renames: Mapping[str, str]) -> Clocks:
    """Return the clocks under the names that nodes have in a changed topology."""
    if not renames:
        return noted
    taken = set(renames.values())

    def new_name(name: str) -> str | None:
        # The old owner of a name that another node has now does not exist any more.
        return renames.get(name, None if name in taken else name)

    operators = {new_name(name): times for name, times in noted["operators"].items()}
    joins = {new_name(name): times for name, times in noted["joins"].items()}
    changed: Clocks = {
        **noted,
        "operators": {name: times for name, times in operators.items() if name is not None},
        "joins": {name: times for name, times in joins.items() if name is not None},
        "stream_punctuations": _renamed(noted["stream_punctuations"], new_name),
        "wall_punctuations": _renamed(noted["wall_punctuations"], new_name),
    }
    return changed


def _renamed(
    noted: list[NodeTime] | list[int], new_name: Callable[[str], str | None]
) -> list[NodeTime] | list[int]:
    found: list[Any] = []
    for each in noted:
        if isinstance(each, int):
            found.append(each)
        elif (name := new_name(each[0])) is not None:
            found.append((name, *each[1:]))
    return found


def _topic(queue: str) -> str:
    return queue.partition("|")[0]


def _scheduled(
    noted: list[NodeTime] | list[int], nodes: Set[str], *, is_whole: bool
) -> list[NodeTime] | list[int]:
    """Return all of the punctuations or none: their order says which schedule each belongs to."""
    for each in noted:
        # Times alone do not name their node, so the inputs have to be the same.
        if not (is_whole if isinstance(each, int) else each[0] in nodes):
            return []
    return noted


def read_clocks(
    group: PartitionGroup,
    executors: dict[str, Executor[Any]],
    joins: dict[str, JoinClock],
    stream: PunctuationQueue,
    wall: PunctuationQueue,
) -> Clocks:
    """Return where every clock stands."""
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
    """Set every clock; leave out those that the topology no longer has."""
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
