"""What the planner and column executors expect of each other. The loop is ``column_task``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.effects import Effects
from penstock.serde.base import Serde
from penstock.serde.columns import column_serde_of
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

N = TypeVar("N", bound=Node)
S = TypeVar("S", bound="type[ColumnExecutor[Any]]")

#: A resource, as a store is one: the order of what such functions do shows.
SIDE_EFFECTS = "functions with side effects"

_COLUMN_EXECUTORS: dict[type[Node], type[ColumnExecutor[Any]]] = {}


class NotVectorisableError(Exception):
    """Says why a node has to take its records one by one."""


class ColumnExecutor(Generic[N]):
    """Runs one node over columns. Its result equals that of the node's record executor.

    The constructor raises ``NotVectorisableError`` if that equality is not proven for the node.

    A batch comes in pieces that fit into a CPU's cache. ``process`` takes one piece, and ``finish``
    ends the batch. Neither changes a store or sends a record. They add what has to be done to the
    effects.
    """

    #: Whether the order of records from different queues does not change the result, as long as no
    #: record has headers.
    hides_order = False
    #: Whether the results go into the cache, because nodes behind this one take records one by one.
    is_handed_off = False
    #: Whether the node asks where records come from. Then ``Batch.origins`` is not ``None``.
    reads_origins = False
    #: Whether the node's store is logged when it is flushed, in the context of the last record.
    logs_at_flush = False
    #: Whether the node sends everything at the end of the batch, so that a batch cannot run it
    #: twice.
    runs_once = False
    #: Whether the values of a piece are still looked at when later pieces are processed.
    keeps_values = False
    #: Whether the node tells others about changes that it has taken and not written yet.
    tells_changes = False
    #: Whether the node asks for rows as they are at the places of its records, as these others do.
    reads_in_order = False
    #: Whether records leave the node at the places at which they came, although it has a store.
    keeps_order = False
    #: Whether the node may send several records for one.
    expands = False
    #: Executors with the same name here send their results together, and have the same children.
    sends_with: str | None = None
    #: Whether the node ends its batch in a turn of its own: see ``kernel.columns.paths.turns``.
    waits = False

    def __init__(self, node: N, task: TaskServices) -> None:
        self.node = node
        self.task = task
        self.children: list[ColumnExecutor[Any]] = []
        #: What the node has sent and its children have not got yet; ``None`` if nothing is kept.
        self._kept: list[Batch] | None = None

    def process(self, batch: Batch, effects: Effects) -> None:
        raise NotImplementedError

    def finish(self, effects: Effects) -> None:
        """End the batch, or a run of records if several inputs meet in a store or topic."""
        meter = self.task.meter
        if self._kept is not None:
            return
        for child in self.children:
            if child.waits:
                continue
            if meter is None:
                child.finish(effects)
            else:
                before = meter.enter(child.node.name, 0)
                child.finish(effects)
                meter.leave(before)

    def keep(self) -> None:
        """Keep what the node sends, and the end of the batch, from its children until its turn."""
        self._kept = []

    def take_turn(self, effects: Effects) -> None:
        """Send what was kept, and end the batch of the nodes behind; or end that of this node."""
        if self._kept is None:
            self.finish(effects)
            return
        kept = self.let_go()
        for batch in kept:
            self.forward(batch, effects)
        ColumnExecutor.finish(self, effects)

    def let_go(self) -> list[Batch]:
        """Return what was kept, and keep nothing any more."""
        kept, self._kept = self._kept or [], None
        return kept

    def reset(self) -> None:
        """Forget the batch, which was given up and runs record at a time."""

    def hand_off(self) -> bool:
        """Put the results into the cache from now on; return false if there is no cache.

        Raises:
            NotVectorisableError: if a node behind this one would notice.
        """
        return False

    def forward(self, batch: Batch, effects: Effects) -> None:
        count, meter = len(batch), self.task.meter
        if not count:
            return
        if self._kept is not None:
            self._kept.append(batch)
            return
        for child in self.children:
            if meter is None:
                child.process(batch, effects)
            else:
                before = meter.enter(child.node.name, count)
                child.process(batch, effects)
                meter.leave(before)

    def resources(self) -> set[str]:
        """Return the topics and stores of the node; paths that share one depend on each other."""
        return set()

    @property
    def place(self) -> str:
        """Name the place in the topology: executors of the same place may become one."""
        return self.node.name

    def below(self) -> Iterator[ColumnExecutor[Any]]:
        """Return this executor and every executor that its records reach."""
        waiting: list[ColumnExecutor[Any]] = [self]
        seen: set[int] = set()
        while waiting:
            executor = waiting.pop()
            if id(executor) not in seen:
                seen.add(id(executor))
                yield executor
                waiting.extend(executor.children)


def vectorises(node_type: type[Node]) -> Callable[[S], S]:
    """Register the column executor of a node type."""

    def register(executor: S) -> S:
        _COLUMN_EXECUTORS[node_type] = executor
        return executor

    return register


def column_executor_for(node: Node) -> type[ColumnExecutor[Any]]:
    """Return the column executor of the node's type; raise if there is none."""
    executor = _COLUMN_EXECUTORS.get(type(node))
    if executor is None:
        raise NotVectorisableError(no_form(node))
    return executor


def vectorised_nodes() -> frozenset[type[Node]]:
    """Return the node types that have a column executor."""
    return frozenset(_COLUMN_EXECUTORS)


def no_form(node: Node) -> str:
    return f"{type(node).__name__} has no column form"


def require_known(serde: Serde[Any], part: str) -> None:
    if isinstance(serde, TimeWindowedSerde | SessionWindowedSerde) and serde.inner is not None:
        serde = serde.inner
    if column_serde_of(serde) is None:
        raise NotVectorisableError(f"{part} serde {type(serde).__name__} has no column form")
