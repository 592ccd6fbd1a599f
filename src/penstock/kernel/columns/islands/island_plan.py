"""Finds the island of a source: the nodes that run record by record between columns.

The functions of one island are called as the record executors call them: all of them for one
record, then all for the next. Those of two islands would be called in turn, each for a whole piece.
So a source has one island with all nodes whose functions may do anything, and with all nodes in
between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.islands.island import ISLAND_NODES, IslandColumns
from penstock.kernel.columns.islands.settled_values import FROZEN, settled
from penstock.topology.nodes import Branch
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask

AnyExecutor = ColumnExecutor[Any]
#: Executors from the source to one of them.
Path = Sequence[AnyExecutor]


class OneByOne(ColumnExecutor[Node]):
    """Stands in a plan for a node that has to see its records one by one, until it is an island."""

    def __init__(self, node: Node, task: StreamTask, reason: str) -> None:
        super().__init__(node, task)
        self.reason = reason

    def process(self, batch: Batch, effects: Effects) -> None:
        raise AssertionError(f"node {self.node.name!r} is not part of an island")


def may_be_island(node: Node, task: StreamTask) -> bool:
    """Tell whether the node may run record by record between columns.

    A processing log names each expression that fails, with its record. Then no function may be
    called before it is known that the batch runs over columns.
    """
    return isinstance(node, ISLAND_NODES) and task.log is None


def settle_island(source: AnyExecutor, task: StreamTask) -> None:
    """Put an island in the place of all nodes that take records one by one.

    Raises:
        NotVectorisableError: if such nodes are on both sides of a node with state, or if a node
            before the island keeps values that a function of the island might change, and they
            cannot be copied.
    """
    paths = [*_paths([source])]
    if not paths:
        return
    above = _common([path[:-1] for path in paths])
    if isinstance(above[-1].node, Branch) and len({id(path[len(above)]) for path in paths}) > 1:
        # A branch gives each of its children other records, and their functions take turns.
        above = above[:-1]
    inside = list(dict.fromkeys(each.node.name for path in paths for each in path[len(above) :]))
    for name in inside:
        if not may_be_island(task.node(name), task):
            raise NotVectorisableError(
                f"{name!r} is between functions that may have side effects, which take turns"
            )
    parent = above[-1]
    _copy_kept(above, inside, task)
    island = IslandColumns(
        [each.node.name for each in parent.children if each.node.name in inside],
        _reasons(paths, inside),
        _behind(paths, inside),
        task,
        shares_values=any(len(each.children) > 1 for each in above),
        is_flushed=any(each.runs_once for each in above),
    )
    if island.processors.are_there:
        _check_flow(above)
    places = [n for n, each in enumerate(parent.children) if each.node.name in inside]
    others = [each for each in parent.children if each.node.name not in inside]
    parent.children[:] = [*others[: places[0]], island, *others[places[0] :]]


def _reasons(paths: Sequence[Path], inside: Sequence[str]) -> dict[str, str]:
    """Return all nodes of the island, each with the reason why it runs record by record."""
    own = {each.node.name: each.reason for *_, each in paths if isinstance(each, OneByOne)}
    return {name: own.get(name, "it is between nodes that do") for name in inside}


def _paths(path: Path) -> Iterator[Path]:
    """Return the way to each node that takes records one by one."""
    if isinstance(path[-1], OneByOne):
        yield path
    for child in path[-1].children:
        yield from _paths([*path, child])


def _common(paths: Sequence[Path]) -> Path:
    """Return the executors with which all paths begin: the source, and perhaps more."""
    first, *others = paths
    count = 1
    while count < len(first) and all(
        count < len(path) and path[count] is first[count] for path in others
    ):
        count += 1
    return first[:count]


def _behind(paths: Sequence[Path], inside: Sequence[str]) -> list[AnyExecutor]:
    """Return the executors that get what leaves the island, each once."""
    found: dict[str, AnyExecutor] = {}
    for path in paths:
        for executor in path:
            if executor.node.name in inside:
                for child in executor.children:
                    if child.node.name not in inside:
                        found.setdefault(child.node.name, child)
    return [*found.values()]


def _check_flow(above: Path) -> None:
    """Raise if it is not known where a record behind these executors comes from."""
    for executor in above:
        if executor.sends_with is not None or executor.logs_at_flush:
            raise NotVectorisableError(
                f"{executor.node.name!r} keeps records back, and a processor behind it may ask for"
                " stream time"
            )


class _WithCopies(ColumnExecutor[Node]):
    """Stands in front of an executor that keeps values: it gets them as they are now."""

    def __init__(self, child: AnyExecutor, task: StreamTask) -> None:
        super().__init__(child.node, task)
        self.children = [child]

    @property
    def place(self) -> str:
        return f"in front of {self.node.name}"

    def process(self, batch: Batch, effects: Effects) -> None:
        values = batch.values.values()
        if not {*map(type, values)} <= FROZEN:
            batch = batch.with_columns(batch.keys, BatchColumn([*map(settled, values)]), batch.old)
        self.forward(batch, effects)


def _copy_kept(above: Path, inside: Sequence[str], task: StreamTask) -> None:
    """Copy values for executors that get them before the island and look at them after it.

    Raises:
        NotVectorisableError: if a join of streams keeps them, which finds its sides by itself.
    """
    onward = {*map(id, above)}
    for executor in above:
        for place, child in enumerate(executor.children):
            if id(child) in onward or child.node.name in inside:
                break
            if not any(each.keeps_values for each in child.below()):
                continue
            if any(each.sends_with is not None for each in child.below()):
                raise NotVectorisableError(
                    f"{child.node.name!r} gets values first, which a function may change later"
                )
            executor.children[place] = _WithCopies(child, task)
