"""Connects the arms of stream-stream joins in a plan over columns, for ``columns.planner``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.kernel.columns.column_executor import (
    SIDE_EFFECTS,
    ColumnExecutor,
    NotVectorisableError,
)
from penstock.kernel.columns.paths.meetings import are_apart, in_turn, visits
from penstock.kernel.operators.joins.stream_join_columns import (
    JoinedStreams,
    StreamJoinColumns,
    StreamJoinWindowColumns,
)

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

AnyExecutor = ColumnExecutor[Any]


def connect_joins(sources: Sequence[AnyExecutor], task: TaskServices) -> bool:
    """Give both arms of each join what joins them; return false if there is no join.

    Raises:
        NotVectorisableError: if a node before a join may keep or send records later, or if a node
            behind one asks from which input a record comes.
    """
    joins: dict[str, dict[int, StreamJoinWindowColumns]] = {}
    for source in sources:
        for arm in _arms(source):
            joins.setdefault(arm.arm.node.clock, {})[id(arm)] = arm
    if not joins:
        return False
    ways = visits(sources)
    for each in joins.values():
        arms, apart = [*each.values()], are_apart([*each.values()], ways)
        joined = JoinedStreams(arms if apart else in_turn(arms, ways), task, are_apart=apart)
        for arm in arms:
            arm.joined = joined
            if any(each.is_handed_off or each.reads_origins for each in arm.below()):
                raise NotVectorisableError("a node behind the join asks where records come from")
    return True


def check_apart(sources: Sequence[AnyExecutor]) -> None:
    """Raise if two nodes share a store or topic, unless they are the two sides of one join."""
    users: dict[str, set[int | str]] = {}
    for executor in (each for source in sources for each in source.below()):
        join = executor.arm if isinstance(executor, StreamJoinWindowColumns) else executor
        user = join.node.clock if isinstance(join, StreamJoinColumns) else id(executor)
        for name in executor.resources():
            users.setdefault(name, set()).add(user)
    for name, found in users.items():
        if len(found) > 1:
            raise NotVectorisableError(f"inputs share {name} outside of their join")


def _arms(executor: AnyExecutor) -> Iterator[StreamJoinWindowColumns]:
    """Return the arms below an executor, those behind other joins, too."""
    for child in executor.children:
        if isinstance(child, StreamJoinWindowColumns):
            yield child
        found = [*_arms(child)]
        if found and child.resources() - {SIDE_EFFECTS} and not child.keeps_order:
            raise NotVectorisableError(f"a join is behind the store of {child.node.name!r}")
        yield from found
