"""A fold that leaves its results in its cache, for nodes that see records one by one.

Behind a cache, nodes see a change when the cache is flushed, at the commit: after all records of
the batch, whichever way those went. So a fold over columns may put each key's result into the
cache, as its last record would have done, and the flush does the rest: old values, contexts,
functions of the user, errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, no_form
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups
from penstock.kernel.record_contexts import assign
from penstock.model.record import Headers, RecordContext
from penstock.topology.nodes import MAY_SCHEDULE, Sink
from penstock.topology.nodes.node import Node, TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class CachedFold(ColumnExecutor[Any]):
    """A fold over the rows of a store, whose cache may be what its results are left to."""

    def __init__(self, node: TableNode, task: TaskServices, rows: Any) -> None:
        super().__init__(node, task)
        self._rows = rows
        #: What the nodes behind it use, once they are left to the cache.
        self._behind: set[str] = set()

    def hand_off(self) -> bool:
        if not self._rows.is_cached:
            return False
        self._behind = check_behind(self.node.name, self.task)
        self.is_handed_off = True
        # Which record is a key's last can be seen then.
        self.hides_order = False
        return True

    def leave(self, contexts: Sequence[RecordContext], effects: Effects, *columns: Any) -> None:
        """Puts entries into the cache, each as if its record were the one that is processed."""
        context, hold = self.task.context, self._rows.hold
        effects.add(lambda: keep_each(context, contexts, hold, *columns))

    def resources(self) -> set[str]:
        return {f"store {self.node.store!r}"} | self._behind


def nodes_behind(fold: str, task: TaskServices) -> dict[str, Node]:
    """All nodes that changes of the fold can reach."""
    found: dict[str, Node] = {}
    waiting = [*task.children(fold)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = task.node(name)
            waiting.extend(task.children(name))
    return found


def check_behind(fold: str, task: TaskServices) -> set[str]:
    """What the nodes behind a fold use; raises if they would notice how the fold runs."""
    behind = nodes_behind(fold, task)
    for name, node in behind.items():
        if isinstance(node, MAY_SCHEDULE):
            # What they ask for comes between records.
            raise NotVectorisableError(no_form(node))
        if not behind.keys() | {fold} >= set(node.parents):
            raise NotVectorisableError(f"records reach {name!r} past {fold!r}, too")
        if isinstance(node, Sink) and node.topic is None:
            raise NotVectorisableError("a function chooses its topic or partition")
    return {*_resources(behind, task)}


def _resources(nodes: dict[str, Node], task: TaskServices) -> Iterator[str]:
    for node in nodes.values():
        for store in node.stores:
            yield f"store {store!r}"
        if isinstance(node, Sink) and node.topic is not None:
            yield f"topic {task.topic_name(node.topic)!r}"


def last_contexts(records: Gathered, groups: Groups) -> list[RecordContext]:
    """The position, time and headers of each group's last record."""
    origins, headers = records.origins, records.headers
    if origins is None:
        raise NotProvenError("nobody knows where the records came from")
    places = groups.last_places()
    noted: Iterable[Headers] = repeat(())
    if headers is not None:
        noted = [headers[place] for place in places.tolist()]
    times, offsets = records.timestamps[places].tolist(), origins.offsets[places].tolist()
    return [
        RecordContext(time, offset, origins.partition, origins.topic, each)
        for time, offset, each in zip(times, offsets, noted, strict=False)
    ]


def keep_each(
    current: RecordContext,
    contexts: Sequence[RecordContext],
    keep: Callable[..., None],
    *columns: Any,
) -> None:
    """Keeps entries, each as if its record were the one that the task works on."""
    before = current.copy()
    try:
        for context, *entry in zip(contexts, *columns, strict=True):
            assign(current, context)
            keep(*entry)
    finally:
        assign(current, before)
