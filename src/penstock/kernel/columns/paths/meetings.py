"""Nodes that several paths reach: their records are put in the order of single records first.

Record by record, a record goes down its first path to such a node, then down the next one. Over
columns each path is run for the whole batch, so the node waits until all of them have ended. Each
record knows its place among those of all inputs; at the same place, the order is that of the paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple, TypeVar

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError, origins_of
from penstock.kernel.columns.batch_column import BatchColumn, concatenated
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError
from penstock.kernel.columns.effects import Actions, Effects
from penstock.topology.nodes.node import Node

AnyExecutor = ColumnExecutor[Any]
E = TypeVar("E", bound=ColumnExecutor[Any])

#: The number of records that go on together.
_PIECE = 5_000
#: More ways than this through one task are left to single records.
_MOST_VISITS = 500


class PathEnd(ColumnExecutor[Node]):
    """The end of one path to a meeting. Stands where the path would have the node itself."""

    keeps_values = True

    def __init__(self, meeting: Meeting, task: Any) -> None:
        super().__init__(meeting.target.node, task)
        self.meeting = meeting
        self.children = [meeting.target]
        self.batches: list[Batch] = []

    def process(self, batch: Batch, effects: Effects) -> None:
        if batch.order is None:
            raise NotProvenError("the order of its records is not known")
        self.meeting.begin(effects)
        self.batches.append(batch)

    def finish(self, effects: Effects) -> None:
        self.meeting.end_path(effects)

    def reset(self) -> None:
        self.batches = []
        self.meeting.reset()


class Meeting:
    """A node and its paths. The node processes the batch when the last of them has ended."""

    def __init__(self, target: AnyExecutor) -> None:
        self.target = target
        #: In the order in which a record goes down them.
        self.paths: list[PathEnd] = []
        self.reset()

    def reset(self) -> None:
        self._ended = 0
        self._place: Actions | None = None

    def begin(self, effects: Effects) -> None:
        """Keep a place for what the node sends and writes.

        A task has the topics to which it sends in the order of their first records. So the node
        sends where its first path has come to it, not where the last one has ended.
        """
        if self._place is None:
            self._place = effects.keep_place()

    def end_path(self, effects: Effects) -> None:
        self._ended += 1
        if self._ended < len(self.paths):
            return
        place = effects.keep_place() if self._place is None else self._place
        self.reset()
        found = [(n, each) for n, path in enumerate(self.paths) for each in path.batches]
        for path in self.paths:
            path.batches = []
        with effects.in_place(place):
            for batch in _in_order(found):
                self.target.process(batch, effects)
            self.target.finish(effects)


def _in_order(found: Sequence[tuple[int, Batch]]) -> Iterator[Batch]:
    """Return the records of batches, each with the number of its path, in their order."""
    if len({number for number, _ in found}) <= 1:
        # The records of one path are in their order.
        yield from (batch for _, batch in found)
        return
    orders = np.concatenate([batch.order for _, batch in found if batch.order is not None])
    numbers = np.repeat([number for number, _ in found], [len(batch) for _, batch in found])
    places = np.lexsort((numbers, orders))
    whole = together([batch for _, batch in found])
    for first in range(0, len(places), _PIECE):
        yield whole.take(places[first : first + _PIECE])


def together(batches: Sequence[Batch]) -> Batch:
    """Return the records of all batches, one batch after the other."""
    headers = None
    if any(each.headers is not None for each in batches):
        headers = [
            one
            for each in batches
            for one in ([()] * len(each) if each.headers is None else each.headers)
        ]
    origins = None
    if all(each.origins is not None for each in batches):
        known = [each.origins for each in batches if each.origins is not None]
        sources = [source for each in known for source in each.each_source()]
        origins = origins_of(sources, np.concatenate([each.offsets for each in known]))
    old = None
    if any(each.old is not None for each in batches):
        old = concatenated(
            [BatchColumn([None] * len(each)) if each.old is None else each.old for each in batches]
        )
    orders = [each.order for each in batches if each.order is not None]
    return Batch(
        concatenated([each.keys for each in batches]),
        concatenated([each.values for each in batches]),
        np.concatenate([each.timestamps for each in batches]),
        headers,
        origins,
        np.concatenate(orders) if orders else None,
        old,
    )


class Visit(NamedTuple):
    """One way from a source: each executor on it, with the number of the child that comes next."""

    source: int
    path: tuple[tuple[AnyExecutor, int], ...]


def meet(sources: Sequence[AnyExecutor]) -> list[Meeting]:
    """Let paths meet in front of the nodes that several of them reach.

    Every node has one executor from now on.

    Raises:
        NotVectorisableError: if the order of the records at such a node is not known.
    """
    share(sources)
    meetings: dict[int, Meeting] = {}
    for children, place in _ways_in(sources):
        target = children[place]
        meeting = meetings.setdefault(id(target), Meeting(target))
        end = children[place] = PathEnd(meeting, target.task)
        meeting.paths.append(end)
    for meeting in meetings.values():
        ways = visits(sources)
        for one, other in combinations(meeting.paths, 2):
            if _partings(one, other, ways):
                one.expands = other.expands = True
    for meeting in meetings.values():
        meeting.paths = in_turn(meeting.paths, visits(sources))
    return [*meetings.values()]


def share(sources: Sequence[AnyExecutor]) -> None:
    """Let each place have one executor, whichever way records come to it."""
    known: dict[str, AnyExecutor] = {}
    lists: dict[str, list[AnyExecutor]] = {}
    for executor in _each(sources):
        executor.children[:] = [known.setdefault(c.place, c) for c in executor.children]
        if executor.sends_with is not None:
            executor.children = lists.setdefault(executor.sends_with, executor.children)


def _each(sources: Sequence[AnyExecutor]) -> Iterator[AnyExecutor]:
    """Return each executor once. Its children may be changed before the next one is asked for."""
    seen: set[int] = set()
    waiting = [*reversed(sources)]
    while waiting:
        executor = waiting.pop()
        if id(executor) not in seen:
            seen.add(id(executor))
            yield executor
            waiting.extend(reversed(executor.children))


def _ways_in(sources: Sequence[AnyExecutor]) -> list[tuple[list[AnyExecutor], int]]:
    """Return the places, in lists of children, of nodes that have several such places."""
    lists = {id(each.children): each.children for each in _each(sources)}
    places = [(each, place) for each in lists.values() for place in range(len(each))]
    counts = Counter(id(each[place]) for each, place in places)
    return [(each, place) for each, place in places if counts[id(each[place])] > 1]


def visits(sources: Sequence[AnyExecutor]) -> dict[int, list[Visit]]:
    """Return by the identity of each executor all ways to it, in the order of a record."""
    found: dict[int, list[Visit]] = {}
    count = 0

    def visit(executor: AnyExecutor, way: Visit) -> None:
        nonlocal count
        count += 1
        if count > _MOST_VISITS:
            raise NotVectorisableError("its paths meet too often")
        found.setdefault(id(executor), []).append(way)
        for place, child in enumerate(executor.children):
            visit(child, Visit(way.source, (*way.path, (executor, place))))

    for number, source in enumerate(sources):
        visit(source, Visit(number, ()))
    return found


def in_turn(ends: Sequence[E], ways: Mapping[int, Sequence[Visit]]) -> list[E]:
    """Return the ends of paths in the order in which a record goes down them.

    Raises:
        NotVectorisableError: if that is not the same for all records.
    """
    for executor in (executor for end in ends for way in ways[id(end)] for executor, _ in way.path):
        if executor.resources() and not executor.keeps_order:
            raise NotVectorisableError(f"its paths meet again behind {executor.node.name!r}")
    left, ordered = [*ends], list[E]()
    earlier: set[tuple[int, int]] = set()
    for one, other in combinations(ends, 2):
        for first, second, common in _partings(one, other, ways):
            if any(executor.expands for executor, _ in first.path[: common + 1]):
                raise NotVectorisableError("its paths part where one record may become several")
            is_first = first.path[common][1] < second.path[common][1]
            earlier.add((id(one), id(other)) if is_first else (id(other), id(one)))
    while left:
        free = [each for each in left if not any((id(a), id(each)) in earlier for a in left)]
        if not free:
            raise NotVectorisableError("its paths meet again in no fixed order")
        ordered.append(free[0])
        left.remove(free[0])
    return ordered


def are_apart(ends: Sequence[AnyExecutor], ways: Mapping[int, Sequence[Visit]]) -> bool:
    """Tell whether no record comes to several of these ends."""
    return not any(_partings(one, other, ways) for one, other in combinations(ends, 2))


def _partings(
    one: AnyExecutor, other: AnyExecutor, ways: Mapping[int, Sequence[Visit]]
) -> list[tuple[Visit, Visit, int]]:
    """Return the ways of the same source to both, with the number of steps in common."""
    found = []
    for first, second in product(ways[id(one)], ways[id(other)]):
        if first.source == second.source:
            steps = zip(first.path, second.path, strict=False)
            common = next(n for n, (step, its) in enumerate(steps) if step != its)
            found.append((first, second, common))
    return found
