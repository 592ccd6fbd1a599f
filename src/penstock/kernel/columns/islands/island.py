"""Nodes whose functions may do anything, run record by record between columns.

``island_plan`` finds them. What stands before and behind them runs over columns. An island calls
its functions once per record, in the order of the records. If the batch is given up afterwards, it
runs record by record, and the island *replays*: it forwards what its functions have returned
already, and raises what they have raised. ``called_processors`` has what processors need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import UnavailableError
from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.batch_column import BatchColumn, Places, TakenColumn
from penstock.kernel.columns.column_executor import SIDE_EFFECTS, ColumnExecutor
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.islands.called_processors import CalledProcessors
from penstock.kernel.columns.islands.settled_values import FROZEN, settled
from penstock.kernel.executor import Executor, Forward, executor_for
from penstock.kernel.failures import FailedProcessingError, Guard
from penstock.kernel.record_contexts import at_time
from penstock.kernel.wiring import to_all
from penstock.model.record import Headers, Record
from penstock.model.user_code import UserCodeError
from penstock.processor.handlers import LogAndFailProcessingExceptionHandler
from penstock.topology.nodes import (
    Branch,
    Filter,
    FlatMap,
    FlatMapValues,
    Map,
    MapValues,
    Node,
    PassThrough,
    Peek,
    Process,
    SelectKey,
)

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask

#: Nodes of which an island may consist. But for processors, they have no state, and their functions
#: get nothing but key and value.
ISLAND_NODES = (
    Branch, Filter, FlatMap, FlatMapValues, Map, MapValues, PassThrough, Peek, Process, SelectKey,
)  # fmt: skip


class _Memo:
    """What the island has done in this batch. A row is one call of an entry.

    Its lists are never replaced, because the functions of the island hold them.
    """

    def __init__(self) -> None:
        #: The keys and values that have left the island, and the number of the way of each.
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.ways: list[int] = []
        #: The timestamp and the headers of each, if processors may have changed them.
        self.times: list[int] = []
        self.headers: list[Headers] = []
        #: For each row, the number of records that had left the island after it.
        self.ends: list[int] = []
        #: The value that each row was called with, if other nodes see it, too.
        self.given: list[Any] = []
        #: The number of each piece among those of all islands, and its first row.
        self.pieces: list[tuple[int, int]] = []
        #: What failed in the last row: after how many records had left.
        self.failed: list[tuple[int, FailedProcessingError]] = []

    def clear(self) -> None:
        for each in (
            self.keys, self.values, self.ways, self.times, self.headers, self.ends, self.given,
            self.pieces, self.failed,
        ):  # fmt: skip
            each.clear()


class IslandColumns(ColumnExecutor[Node]):
    """Runs some nodes record by record. Its children are the columns behind them.

    Args:
        entries: the nodes that get the records of the batch, in the order of the children.
        reasons: all nodes of the island, each with the reason why it runs record by record.
        behind: the column executors of the nodes behind, in any order.
        shares_values: whether nodes outside of the island see the values that enter it. Its
            functions may change a value in its place.
        is_flushed: whether the records come from a cache, when the batch ends.
    """

    def __init__(
        self,
        entries: Sequence[str],
        reasons: Mapping[str, str],
        behind: Sequence[ColumnExecutor[Any]],
        task: StreamTask,
        *,
        shares_values: bool,
        is_flushed: bool = False,
    ) -> None:
        super().__init__(task.node(entries[0]), task)
        self.children = [*behind]
        self.reasons = reasons
        self._task = task
        self._entries = tuple(entries)
        self._shares_values = shares_values
        self._memo = _Memo()
        handler = task.settings.on_processing
        self._may_continue = not isinstance(handler, LogAndFailProcessingExceptionHandler)
        self.processors = CalledProcessors(reasons, task, is_flushed=is_flushed)
        self.reads_origins = self.logs_at_flush = self.processors.are_there
        self._replay: _Replay | None = None
        self._enter = self._wired()

    def _wired(self) -> list[Forward]:
        """Make record executors of the nodes inside; return the functions that enter them."""
        task, ways = self._task, {child.node.name: n for n, child in enumerate(self.children)}
        processors = self.processors.executors
        executors: dict[str, Executor[Any]] = {
            name: executor_for(task.node(name))(task.node(name), task)
            for name in self.reasons
            if name not in processors
        }
        guards = {name: Guard(task.node(name), self._fail) for name in self.reasons}
        edges: dict[str, Forward] = {name: guard.enter for name, guard in guards.items()}
        edges |= {name: self._way_out(number) for name, number in ways.items()}
        for name, executor in executors.items():
            executor.forward = to_all([edges[c] for c in task.children(name) if c in edges])
            executor.child = edges.get  # type: ignore[method-assign, assignment]
        for name, executor in executors.items():
            executor.init()
            guards[name].bind(executor.process)
        for name, processor in processors.items():
            guards[name].bind(processor.process)
            self.processors.connect(name, {c: edges[c] for c in task.children(name) if c in edges})
        return [edges[name] for name in self._entries]

    def _way_out(self, number: int) -> Forward:
        memo = self._memo
        keep_key, keep_value, keep_way = memo.keys.append, memo.values.append, memo.ways.append
        keep_time, keep_headers = memo.times.append, memo.headers.append
        is_only = len(self.children) == 1

        def leave(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            keep_key(key if type(key) in FROZEN else settled(key))
            keep_value(value if type(value) in FROZEN else settled(value))
            if not is_only:
                keep_way(number)

        def leave_with_time(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            leave(key, value, timestamp, headers)
            keep_time(timestamp)
            keep_headers(headers)

        return leave_with_time if self.processors.are_there else leave

    def _fail(self, node: Node, record: Record[Any, Any], error: Exception) -> None:
        """Note a failure, after which the batch is given up.

        The handler is asked when the row is replayed. It may want to go on, and then the functions
        that called this one do so as well. So they go on now.
        """
        failed = FailedProcessingError(node, error, self._task.context, record=record)
        if not self._may_continue or isinstance(error, UnavailableError):
            raise failed from error
        self._memo.failed.append((len(self._memo.keys), failed))

    def process(self, batch: Batch, effects: Effects) -> None:
        memo, first = self._memo, len(self._memo.keys)
        effects.island_calls += 1
        memo.pieces.append((effects.island_calls, len(memo.ends)))
        keys, values = batch.keys.values(), batch.values.values()
        if self._shares_values:
            memo.given += [value for value in values for _ in self._entries]
        counts = np.diff([first, *self._called(batch, keys, values, effects)])
        rows = np.repeat(np.arange(len(counts)) // len(self._entries), counts)
        new_keys, new_values = memo.keys[first:], memo.values[first:]
        if len(self.children) == 1:
            left = batch.repeated(
                _column(batch.keys, keys, new_keys, rows),
                _column(batch.values, values, new_values, rows),
                rows,
            )
            self._set_times(left, memo.times[first:], memo.headers[first:])
            self.forward(left, effects)
            return
        ways = np.array(memo.ways[first:], np.int64)
        for number, child in enumerate(self.children):
            places = np.flatnonzero(ways == number)
            if len(places):
                at, wanted = rows[places], places.tolist()
                left = batch.repeated(
                    _column(batch.keys, keys, [new_keys[n] for n in wanted], at),
                    _column(batch.values, values, [new_values[n] for n in wanted], at),
                    at,
                )
                more_times = [memo.times[first + n] for n in wanted] if memo.times else []
                more_headers = [memo.headers[first + n] for n in wanted] if memo.times else []
                self._set_times(left, more_times, more_headers)
                child.process(left, effects)

    def _set_times(self, batch: Batch, times: list[int], headers: list[Headers]) -> None:
        """Set the timestamps and headers that processors have given to records."""
        if self.processors.are_there:
            batch.timestamps = np.array(times, np.int64)
            batch.headers = headers if any(headers) else None

    def _called(
        self, batch: Batch, keys: Sequence[Any], values: Sequence[Any], effects: Effects
    ) -> list[int]:
        """Let each record enter; return how many records had left after each row."""
        memo, enter = self._memo, self._enter
        headers: Iterable[Headers] = repeat(()) if batch.headers is None else batch.headers
        times, before = batch.timestamps.tolist(), len(memo.ends)
        left, ends, failed = memo.keys, memo.ends, memo.failed
        visited: Iterable[None] = repeat(None)
        if self.processors.are_there:
            visited = self.processors.visit(batch, times, headers, effects)
        with self.processors.forwarding():
            try:
                for key, value, time, given, _ in zip(keys, values, times, headers, visited):  # noqa: B905
                    for each in enter:
                        each(key, value, time, given)
                        ends.append(len(left))
                        if failed:
                            raise failed[0][1]
            except FailedProcessingError as error:
                if not failed:
                    ends.append(len(left))
                    failed.append((len(left), error))
                first = failed[0][1]
                what = f"node {first.node.name!r} raised {type(first.error).__name__}"
                raise UserCodeError(what) from first.error
        self.processors.check_schedules()
        return ends[before:]

    def finish(self, effects: Effects) -> None:
        effects.add(self.forget)
        super().finish(effects)

    def resources(self) -> set[str]:
        return {SIDE_EFFECTS, *self.processors.resources()}

    # A batch that was given up

    @property
    def has_called(self) -> bool:
        """Whether functions were called for records that are not processed yet."""
        return bool(self._memo.ends)

    def reset(self) -> None:
        """Replay what has happened while the batch runs record by record."""
        if self.has_called:
            self._replay = replay = _Replay(self._task, self._memo, self._ways(), self.forget)
            for entry in self._entries:
                replays = self._task.replays.setdefault(entry, [])
                replays.append(replay)
                self._task.divert(entry, _in_turn(replays))

    def _ways(self) -> list[Forward]:
        ways = [self._task.child(child.node.name) for child in self.children]
        return [way for way in ways if way is not None]

    def forget(self) -> None:
        """Call the functions from now on: every record that they were called for is processed."""
        self._memo.clear()
        replay, self._replay = self._replay, None
        if replay is not None:
            for entry in self._entries:
                replays = self._task.replays[entry]
                replays.remove(replay)
                if not replays:
                    self._task.divert(entry, None)


class _Replay:
    """Forwards what has left an island, row by row."""

    def __init__(
        self,
        task: StreamTask,
        memo: _Memo,
        ways: Sequence[Forward],
        done: Callable[[], None],
    ) -> None:
        self._task = task
        self._memo = memo
        self._ways = ways
        self._done = done
        self._row = 0

    @property
    def piece(self) -> int:
        """Return the number of the piece that the next row belongs to."""
        return max(number for number, first in self._memo.pieces if first <= self._row)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        memo, row = self._memo, self._row
        first, after = memo.ends[row - 1] if row else 0, memo.ends[row]
        self._row = row + 1
        if row < len(memo.given):
            _change(value, memo.given[row])
        keys, values, ways = (each[first:after] for each in (memo.keys, memo.values, memo.ways))
        times, given = memo.times[first:after], memo.headers[first:after]
        failed = []
        if self._row == len(memo.ends):
            failed = [(place - first, each) for place, each in memo.failed]
            self._done()
        for place in range(after - first + 1):
            for _, each in (pair for pair in failed if pair[0] == place):
                assert each.record is not None
                with at_time(self._task.context, each.record.timestamp, each.record.headers):
                    self._task.failures.function(each.node, each.record, each.error)
            if place < after - first:
                way = self._ways[ways[place] if ways else 0]
                if times:
                    with at_time(self._task.context, times[place], given[place]):
                        way(keys[place], values[place], times[place], given[place])
                else:
                    way(keys[place], values[place], timestamp, headers)


def _in_turn(replays: list[_Replay]) -> Forward:
    """Return what replays the calls of one node, which several inputs may reach, in their order."""

    def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        next_one = replays[0] if len(replays) == 1 else min(replays, key=_piece_of)
        next_one.process(key, value, timestamp, headers)

    return process


def _piece_of(replay: _Replay) -> int:
    return replay.piece


def _change(value: Any, changed: Any) -> None:
    """Change a value in its place, as a function has changed the same value before."""
    if type(value) is dict and type(changed) is dict:
        value.clear()
        value.update(changed)
    elif type(value) is list and type(changed) is list:
        value[:] = changed


def _column(
    column: BatchColumn, before: Sequence[Any], after: list[Any], places: Places
) -> BatchColumn:
    """Return a column of new items; if they are those that entered, their column, with its bytes.

    ``places`` are those of the records that the new items come from.
    """
    if not all(map(is_, after, map(before.__getitem__, places.tolist()))):
        return BatchColumn(after)
    is_whole = len(places) == len(before) and bool((places == np.arange(len(before))).all())
    return column if is_whole else TakenColumn(column, places)
