"""Connects the arms of stream-stream joins in a plan over columns, for ``columns.planner``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from penstock.kernel.columns.column_executor import (
    SIDE_EFFECTS,
    ColumnExecutor,
    NotVectorisableError,
)
from penstock.kernel.operators.joins.stream_join_columns import (
    JoinedStreams,
    StreamJoinWindowColumns,
)
from penstock.topology.nodes import StreamJoinWindow

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

AnyExecutor = ColumnExecutor[Any]


def connect_joins(sources: Iterable[AnyExecutor], task: TaskServices) -> bool:
    """Give both arms of each join what joins them; return false if there is no join.

    Raises:
        NotVectorisableError: if a node before a join may keep or send records later, or if a node
            behind one asks from which input a record comes.
    """
    joins: dict[frozenset[str], list[StreamJoinWindowColumns]] = {}
    for source in sources:
        for arm in _arms(source):
            stores = frozenset({arm.node.store, arm.arm.node.other_store})
            joins.setdefault(stores, []).append(arm)
    for arms in joins.values():
        joined = JoinedStreams(arms, task)
        for arm in arms:
            arm.joined = joined
            if any(each.is_handed_off or each.reads_origins for each in _all(arm)):
                raise NotVectorisableError("a node behind the join asks where records come from")
    return bool(joins)


def behind_joins(executor: AnyExecutor) -> set[str]:
    """Return the stores and topics of the joins below an executor, and of all nodes behind them."""
    return {name for arm in _arms(executor) for each in _all(arm) for name in each.resources()}


def _arms(executor: AnyExecutor) -> Iterator[StreamJoinWindowColumns]:
    """Return the arms below an executor, those behind other joins, too."""
    for child in executor.children:
        if isinstance(child, StreamJoinWindowColumns):
            yield child
        found = [*_arms(child)]
        if found and not isinstance(child, StreamJoinWindowColumns) and _keeps(child):
            raise NotVectorisableError(f"a join is behind the store of {child.node.name!r}")
        yield from found


def _keeps(executor: AnyExecutor) -> bool:
    """Tell whether an executor has a store. The stores of joins keep the order of records."""
    parents = executor.node.parents
    is_arm = any(isinstance(executor.task.node(name), StreamJoinWindow) for name in parents)
    return bool(executor.resources() - {SIDE_EFFECTS}) and not is_arm


def _all(executor: AnyExecutor) -> Iterator[AnyExecutor]:
    yield executor
    for child in executor.children:
        yield from _all(child)
