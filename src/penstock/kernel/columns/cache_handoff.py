"""A table over columns that puts its rows into its cache, for nodes that take single records.

Nodes behind a cache see a change when the cache is flushed, at the commit. That is after all
records of the batch. So a table over columns may put each key's row into the cache as the key's
last record would have done. The flush does the rest: old values, record contexts, functions of the
user and their errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.batch_column import Places
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError, no_form
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.gathered import Gathered
from penstock.kernel.columns.grouping import Groups
from penstock.kernel.record_contexts import assign
from penstock.model.record import Headers, RecordContext
from penstock.topology.nodes import Sink, may_schedule
from penstock.topology.nodes.node import Node, TableNode

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


class CachedTable(ColumnExecutor[Any]):
    """A table that may hand its rows to the cache of its store. ``rows`` are those of the store."""

    def __init__(self, node: TableNode, task: TaskServices, rows: Any) -> None:
        super().__init__(node, task)
        self._rows = rows
        #: The stores and topics that nodes behind the table use, after it was handed off.
        self._behind: set[str] = set()

    def hand_off(self) -> bool:
        if self._rows is None or not self._rows.is_cached:
            return False
        self._behind = check_behind(self.node.name, self.task)
        self.is_handed_off = True
        # The cache keeps the context of each key's last record, so now the order of records
        # matters.
        self.hides_order = False
        return True

    def leave(self, contexts: Sequence[RecordContext], effects: Effects, *columns: Any) -> None:
        """Put entries into the cache, each in the context of its own record."""
        context, hold = self.task.context, self._rows.hold
        effects.add(lambda: keep_each(context, contexts, hold, *columns))

    def resources(self) -> set[str]:
        own = set() if self.node.store is None else {f"store {self.node.store!r}"}
        return own | self._behind


def nodes_behind(fold: str, task: TaskServices) -> dict[str, Node]:
    """Return all nodes that changes of the fold can reach."""
    found: dict[str, Node] = {}
    waiting = [*task.children(fold)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = task.node(name)
            waiting.extend(task.children(name))
    return found


def check_behind(fold: str, task: TaskServices) -> set[str]:
    """Return the stores and topics that nodes behind a fold use.

    Raises:
        NotVectorisableError: if one of these nodes would notice that the fold runs over columns.
    """
    behind = nodes_behind(fold, task)
    for name, node in behind.items():
        if may_schedule(node):
            # A processor may schedule a punctuation, which runs between two records.
            raise NotVectorisableError(no_form(node))
        if not behind.keys() | {fold} >= set(node.parents):
            raise NotVectorisableError(f"{name!r} also gets records that do not come from {fold!r}")
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
    """Return the position, timestamp and headers of each group's last record."""
    return contexts_at(records, groups.last_places())


def contexts_at(records: Gathered | Batch, places: Places) -> list[RecordContext]:
    """Return the position, timestamp and headers of the records at these places."""
    origins, headers = records.origins, records.headers
    if origins is None:
        raise NotProvenError("the offsets of its records are not known")
    noted: Iterable[Headers] = repeat(())
    if headers is not None:
        noted = [headers[place] for place in places.tolist()]
    origins = origins.at(places)
    times, offsets = records.timestamps[places].tolist(), origins.offsets.tolist()
    return [
        RecordContext(time, offset, partition, topic, each)
        for time, offset, (topic, partition), each in zip(
            times, offsets, origins.each_source(), noted, strict=False
        )
    ]


def keep_each(
    current: RecordContext,
    contexts: Sequence[RecordContext],
    keep: Callable[..., None],
    *columns: Any,
) -> None:
    """Call ``keep`` with each entry, in the context of the entry's own record."""
    before = current.copy()
    try:
        for context, *entry in zip(contexts, *columns, strict=True):
            assign(current, context)
            keep(*entry)
    finally:
        assign(current, before)
