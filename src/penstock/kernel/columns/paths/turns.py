"""Which tables of a task send their changes when, if several inputs meet behind their caches.

Record by record, the records of a batch only change caches. At the commit, one store after the
other is flushed, and what is behind its cache sees one change per key. So inputs that meet only
there need not take turns: each fills its tables, and then these send in the order of their stores.
A node that reads another table sees all changes of the batch, also those that are not sent yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.kernel.columns.column_executor import ColumnExecutor, NotVectorisableError

if TYPE_CHECKING:
    from penstock.kernel.operators.topics.source_columns import SourceColumns
    from penstock.kernel.task import StreamTask

AnyExecutor = ColumnExecutor[Any]


def take_turns(sources: Iterable[SourceColumns], task: StreamTask) -> list[AnyExecutor]:
    """Return the tables behind whose caches inputs meet, in the order in which they send.

    Each node that several inputs reach has one executor from now on, and tables that get changes
    of other tables wait for their turn.

    Raises:
        NotVectorisableError: if the inputs meet elsewhere, or if records would send in another
            order.
    """
    found = [*sources]
    before = [[*_before_caches(source)] for source in found]
    _check_apart(found, before)
    _share(found)
    tables = _tables(found)
    order = {f"store {name!r}": place for place, name in enumerate(task.flushed_stores())}
    for table in tables:
        if _store_of(table) not in order:
            raise NotVectorisableError(f"{table.node.name!r} keeps records outside of its store")
    in_turn = sorted(tables, key=lambda table: order[_store_of(table)])
    direct = {each.node.name for some in before for each in some}
    feeders = _feeders(found)
    behind = [table for table in in_turn if table.node.name not in direct]
    for table in in_turn:
        fed_by = feeders[table.node.name]
        if table in behind and not all(_is_before(order, each, table) for each in fed_by):
            raise NotVectorisableError(f"{table.node.name!r} is flushed before what it gets")
        if table not in behind and fed_by:
            raise NotVectorisableError(f"{table.node.name!r} gets changes of tables and records")
    _check_readers(found, behind, feeders, order)
    for table in behind:
        table.waits = True
    return in_turn


def _before_caches(source: AnyExecutor) -> Iterator[AnyExecutor]:
    """Return what records reach at once, up to the first tables that keep changes back."""
    yield source
    if not source.runs_once:
        for child in source.children:
            yield from _before_caches(child)


def _check_apart(sources: list[SourceColumns], before: list[list[AnyExecutor]]) -> None:
    """Raise unless inputs that meet do so only behind caches.

    Messages of foreign-key joins may use in front of caches what others use behind caches, which is
    later. They may also read tables whose changes are still in front of a cache.
    """
    told = {
        _store_of(each) for some in before for each in some if each.runs_once and each.tells_changes
    }
    for number, source in enumerate(sources):
        if any(each.is_handed_off for each in source.below()):
            raise NotVectorisableError("nodes behind a cache take single records")
        at_once = _resources(before, without=number)
        anywhere = _resources([[*each.below()] for each in sources], without=number)
        for each in before[number]:
            is_late = each.runs_once or source.reads_messages
            shared = each.resources() & (at_once if is_late else anywhere)
            if each.reads_in_order or (each.runs_once and each.tells_changes):
                shared -= told
            if shared:
                raise NotVectorisableError(
                    f"inputs share {min(shared)}, and a node with a cache runs once per batch"
                )


def _resources(executors: list[list[AnyExecutor]], *, without: int) -> set[str]:
    """Return the stores and topics of all executors but those of one source."""
    return {
        name
        for number, some in enumerate(executors)
        if number != without
        for each in some
        for name in each.resources()
    }


def _share(sources: Sequence[AnyExecutor]) -> None:
    """Let each node have one executor, whichever way records come to it."""
    known: dict[str, AnyExecutor] = {}
    waiting = [*sources]
    while waiting:
        executor = waiting.pop()
        executor.children = [known.setdefault(each.node.name, each) for each in executor.children]
        waiting.extend(executor.children)


def _tables(sources: Sequence[AnyExecutor]) -> list[AnyExecutor]:
    every = {each.node.name: each for source in sources for each in source.below()}
    return [each for each in every.values() if each.runs_once]


def _feeders(sources: Sequence[AnyExecutor]) -> dict[str, set[AnyExecutor]]:
    """Return for each node the last tables that keep changes back on the ways to it."""
    found: dict[str, set[AnyExecutor]] = {}
    waiting: list[tuple[AnyExecutor, AnyExecutor | None]] = [(source, None) for source in sources]
    while waiting:
        executor, last = waiting.pop()
        known = found.setdefault(executor.node.name, set())
        if last is not None:
            known.add(last)
        behind = executor if executor.runs_once else last
        waiting.extend((child, behind) for child in executor.children)
    return found


def _check_readers(
    sources: Sequence[AnyExecutor],
    behind: list[AnyExecutor],
    feeders: dict[str, set[AnyExecutor]],
    order: dict[str, int],
) -> None:
    """Raise if a node reads a table that has got changes, but has not had its turn."""
    waiting = {_store_of(table): table for table in behind}
    for each in (executor for source in sources for executor in source.below()):
        for store in each.resources() & waiting.keys():
            table = waiting[store]
            if each is not table and not all(
                _is_before(order, table, last) for last in feeders[each.node.name]
            ):
                raise NotVectorisableError(f"{each.node.name!r} reads {store} before its flush")


def _is_before(order: dict[str, int], one: AnyExecutor, other: AnyExecutor) -> bool:
    return order[_store_of(one)] < order[_store_of(other)]


def _store_of(table: AnyExecutor) -> str:
    return f"store {getattr(table.node, 'store', None)!r}"
