"""Decides which tasks run over columns, where the result is provably the same.

Over columns, a node takes a whole batch before the next node takes any of it. The result is that of
single records as long as no two paths meet in a store or in a topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain, combinations
from types import FunctionType
from typing import TYPE_CHECKING, Any

from penstock.expr.aggregates import count_start, count_step
from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError
from penstock.kernel.columns.column_registry import column_executor_for
from penstock.kernel.columns.effects import ColumnCollector
from penstock.kernel.columns.event_times import event_times
from penstock.kernel.columns.islands.island import IslandColumns
from penstock.kernel.columns.islands.island_plan import OneByOne, may_be_island, settle_island
from penstock.kernel.columns.paths.meetings import meet
from penstock.kernel.columns.paths.turns import take_turns
from penstock.kernel.operators.joins.stream_join_arms import check_apart, connect_joins
from penstock.kernel.operators.topics.source_columns import SourceColumns
from penstock.model.column_function import MadeOf
from penstock.topology.nodes import Sink, Source
from penstock.topology.nodes.node import Node

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """The column executor of every source of a task, or for each node in the way the reason.

    ``is_tied`` says that sources meet in a store or topic. Then their records have to be merged by
    time. ``is_joined`` says that they meet only in joins of streams, which do that by themselves.
    ``turns`` are tables behind whose caches sources meet, in the order in which these send their
    changes. Sources in ``last`` run after all others, and know the places of their records among
    all. A batch with records of a source in ``alone`` has no records of other sources.
    """

    sources: dict[str, SourceColumns] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    is_tied: bool = False
    is_joined: bool = False
    turns: tuple[ColumnExecutor[Any], ...] = ()
    last: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()

    @property
    def is_vectorised(self) -> bool:
        return bool(self.sources) and not self.why_not

    @property
    def by_record(self) -> dict[str, str]:
        """Return the nodes of all islands, each with the reason why it runs record by record."""
        return {name: why for island in self.islands for name, why in island.reasons.items()}

    @property
    def islands(self) -> list[IslandColumns]:
        """Return what runs record by record between columns."""
        return [
            executor
            for source in self.sources.values()
            for executor in source.below()
            if isinstance(executor, IslandColumns)
        ]

    @property
    def has_processors(self) -> bool:
        """Whether processors of the user are among what runs record by record."""
        return any(island.processors.are_there for island in self.islands)

    @property
    def needs_last_record(self) -> bool:
        """Whether the flush after a batch needs the context of its last record."""
        return any(
            executor.is_handed_off or executor.logs_at_flush
            for source in self.sources.values()
            for executor in source.below()
        )

    @property
    def is_handed_off(self) -> bool:
        """Whether the flush after a batch sends results to nodes that take single records."""
        return any(
            executor.is_handed_off
            for source in self.sources.values()
            for executor in source.below()
        )


def plan_columns(task: StreamTask, nodes: Iterable[str]) -> ColumnPlan:
    """Plan a whole task. If one node has to take single records, all nodes of the task do."""
    if not isinstance(task.collector, ColumnCollector):
        return ColumnPlan(why_not={"": "the output takes records one by one"})
    names = [*nodes]
    plan = _grown(task, names)
    if not plan.why_not:
        _check_processors(plan, task)
    if plan.why_not:
        return plan
    if not _joins(plan):
        plan = _apart(plan, task)
        if plan.is_vectorised and not plan.is_tied:
            return plan
    if plan.has_processors:
        return plan
    # Turns that inputs take one record at a time are slow.
    other = _met(_grown(task, names), task)
    return plan if other.why_not and (plan.why_not or plan.is_tied) else other


def _grown(task: StreamTask, names: Iterable[str]) -> ColumnPlan:
    """Return the executors of each source, every path with executors of its own."""
    plan = ColumnPlan()
    for name in names:
        node = task.node(name)
        if isinstance(node, Source):
            _plan_source(node, task, plan)
        elif not node.parents:
            plan.why_not[name] = "it has no source"
    return plan


def _check_processors(plan: ColumnPlan, task: StreamTask) -> None:
    """Note what keeps processors of the user from running in islands."""
    for island in plan.islands:
        for name in island.processors.executors:
            try:
                _check_processor(name, island, plan, task)
            except NotVectorisableError as reason:
                plan.why_not[name] = str(reason)
    if plan.has_processors:
        for source in plan.sources.values():
            source.tells_stream_time = True


def _check_processor(name: str, island: IslandColumns, plan: ColumnPlan, task: StreamTask) -> None:
    """Raise if a processor may notice that nodes around it run over columns."""
    if task.has_stream_time_punctuations:
        raise NotVectorisableError(
            "its processor is also called by stream time, between two records"
        )
    for source in plan.sources.values():
        for executor in source.below():
            shared = executor.resources() & island.processors.resources()
            if shared and not isinstance(executor, IslandColumns):
                raise NotVectorisableError(
                    f"its {min(shared)} is also used by {executor.node.name!r}"
                )
    if len(plan.sources) > 1 and (_joins(plan) or _has_cache(plan.sources.values())):
        raise NotVectorisableError(
            "it sees the records of several inputs in turn, and another node gathers them"
        )
    if _joins(plan):
        raise NotVectorisableError("a join of streams gathers its records")


def _joins(plan: ColumnPlan) -> bool:
    """Tell whether the task joins streams."""
    every = (each for source in plan.sources.values() for each in source.below())
    return any(each.sends_with is not None for each in every)


def _apart(plan: ColumnPlan, task: StreamTask) -> ColumnPlan:
    """Plan a task whose paths are apart, or whose sources meet only where turns are possible."""
    for name, source in plan.sources.items():
        try:
            _check_paths(source)
        except NotVectorisableError as reason:
            plan.why_not[name] = str(reason)
    return plan if plan.why_not else _tied(plan, task)


def _met(plan: ColumnPlan, task: StreamTask) -> ColumnPlan:
    """Plan a task whose paths meet: in joins of streams, and in other nodes."""
    sources = [*plan.sources.values()]
    try:
        if meet(sources):
            if plan.islands or any(each.reads_messages for each in sources):
                raise NotVectorisableError("its paths meet, and functions may have side effects")
            if any(_sends_late(each, task) for source in sources for each in source.below()):
                raise NotVectorisableError("its paths meet beside a fold, which sends later")
        connect_joins(sources, task)
        check_apart(sources)
    except NotVectorisableError as reason:
        plan.why_not[""] = str(reason)
    return ColumnPlan(plan.sources, plan.why_not, is_joined=True)


def _sends_late(executor: ColumnExecutor[Any], task: StreamTask) -> bool:
    """Tell whether an executor keeps what it sends to a repartition topic until the batch ends.

    Which repartition topic gets its first record first decides between records of the same time.
    """
    has_store = any(name.startswith("store ") for name in executor.resources())
    below = [each.node for each in executor.below()]
    topics = [
        node.topic for node in below if isinstance(node, Sink) and isinstance(node.topic, str)
    ]
    is_internal = any(task.topic_name(topic) != topic for topic in topics)
    return has_store and not executor.keeps_order and is_internal


def _plan_source(node: Source, task: StreamTask, plan: ColumnPlan) -> None:
    try:
        source = SourceColumns(node, task)
        source.timed = event_times(node, task)
    except NotVectorisableError as reason:
        plan.why_not[node.name] = str(reason)
        return
    plan.why_not.update(_grow(source, task))
    if not plan.why_not:
        try:
            settle_island(source, task)
        except NotVectorisableError as reason:
            plan.why_not[node.name] = str(reason)
    source.has_island = any(isinstance(each, IslandColumns) for each in source.below())
    source.calls_functions = any(_calls_functions(each.node) for each in source.below())
    source.tells_origins = any(
        executor.is_handed_off or executor.reads_origins for executor in source.below()
    )
    plan.sources[node.name] = source


def _grow(
    executor: ColumnExecutor[Any], task: StreamTask, *, may_be_islands: bool = True
) -> dict[str, str]:
    """Add the executors below one; return the nodes that have none, with the reason.

    A fold whose cache can hand its results to single-record nodes needs no executors below it. If
    there is no such cache, nodes that call functions may become islands.
    """
    why_not = _grow_children(executor, task, may_be_islands=False)
    if not why_not:
        return {}
    try:
        if executor.hand_off():
            executor.children.clear()
            return {}
    except NotVectorisableError:
        pass  # A node behind the cache would notice; its own reason is known already.
    if may_be_islands:
        executor.children.clear()
        why_not = _grow_children(executor, task, may_be_islands=True)
    return why_not


def _grow_children(
    executor: ColumnExecutor[Any], task: StreamTask, *, may_be_islands: bool
) -> dict[str, str]:
    why_not: dict[str, str] = {}
    for name in task.children(executor.node.name):
        node = task.node(name)
        try:
            child = column_executor_for(node)(node, task)
        except NotVectorisableError as reason:
            if not may_be_islands or not may_be_island(node, task):
                why_not[name] = str(reason)
                continue
            child = OneByOne(node, task, str(reason))
        executor.children.append(child)
        why_not |= _grow(child, task, may_be_islands=may_be_islands)
    return why_not


def _calls_functions(node: Node) -> bool:
    """Tell whether a node calls a function of the user, which may take a while."""
    given = [getattr(node, field.name) for field in fields(node)]
    given += chain.from_iterable(each for each in given if isinstance(each, tuple))
    return any(
        isinstance(each, FunctionType | MadeOf) and each not in (count_start, count_step)
        for each in given
    )


def _check_paths(executor: ColumnExecutor[Any]) -> set[str]:
    """Return the topics and stores that the paths below use; raise if two paths share one."""
    below = [_check_paths(child) for child in executor.children]
    for one, other in combinations(below, 2):
        if one & other:
            raise NotVectorisableError(f"its paths meet again in {min(one & other)}")
    own = executor.resources()
    used: set[str] = set().union(*below)
    if own & used:
        raise NotVectorisableError(f"a later node uses {min(own & used)} again")
    return own | used


def _tied(plan: ColumnPlan, task: StreamTask) -> ColumnPlan:
    """Check sources that meet: their runs alternate, or they meet only behind caches.

    Messages of foreign-key joins often come in stages of their own, after the records that cause
    them. So if only they keep other sources from meeting behind caches, they just have to come
    alone.
    """
    meeting = _meeting(plan.sources)
    if plan.has_processors:
        # They see stream time, which the records of all inputs move.
        meeting = [*combinations(plan.sources, 2)]
    if not meeting or not _has_cache(plan.sources.values()):
        return ColumnPlan(plan.sources, plan.why_not, bool(meeting))
    messages = {name for name, source in plan.sources.items() if source.reads_messages}
    messages &= {name for pair in meeting for name in pair}
    others = {name: each for name, each in plan.sources.items() if name not in messages}
    try:
        turns = take_turns(plan.sources.values(), task)
        return ColumnPlan(plan.sources, plan.why_not, turns=tuple(turns), last=frozenset(messages))
    except NotVectorisableError as reason:
        turns, why_not = [], str(reason)
    tied = [one for one, other in meeting if one in others and other in others]
    if tied and messages:
        try:
            turns, tied = take_turns(others.values(), task), []
        except NotVectorisableError as reason:
            why_not = str(reason)
    plan.why_not.update(dict.fromkeys(tied, why_not))
    return ColumnPlan(plan.sources, plan.why_not, turns=tuple(turns), alone=frozenset(messages))


def _has_cache(sources: Iterable[SourceColumns]) -> bool:
    return any(each.runs_once for source in sources for each in source.below())


def _meeting(sources: Mapping[str, SourceColumns]) -> list[tuple[str, str]]:
    """Return the pairs of sources that share a store or a topic."""
    used = {name: _check_paths(source) for name, source in sources.items()}
    return [
        (name, other_name)
        for (name, one), (other_name, other) in combinations(used.items(), 2)
        if one & other
    ]
