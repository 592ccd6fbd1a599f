"""One task over history: its records in their order in, its output and the rows of its stores out.

It runs wherever its records are; ``penstock.runtime.local.history`` runs all tasks in this process.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.config import StreamsConfig
from penstock.kernel.columns.column_task import column_task
from penstock.kernel.columns.merge_order import Run
from penstock.kernel.operators.topics.source import takes_own_time
from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import Engine, TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.task_id import TaskId
from penstock.runtime.history.changelogs import TaskChangelogs
from penstock.runtime.history.outbox import HistoryOutbox
from penstock.runtime.history.passes import Pass
from penstock.runtime.history.rows import (
    CLOCKS,
    DROPPED,
    PARTITION_BITS,
    POSITION,
    Longs,
    Rows,
    output_batch,
    rows_of,
)
from penstock.runtime.history.store_rows import store_batches
from penstock.runtime.local.construction import global_task
from penstock.runtime.settings import task_settings
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.rocks import open_rocks
from penstock.state.environment import Changelog
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source

#: So many records are taken together: enough for columns to be fast, and few enough for memory.
AT_ONCE = 1 << 16
_PARTITION = (1 << PARTITION_BITS) - 1
#: Records of this size are too many of them.
_AT_ONCE_BYTES = 64 << 20


@dataclass(frozen=True)
class Work:
    """What the tasks of one pass have to do, the same for all of them. It travels to the workers.

    ``outputs`` are the topics that are results; None asks for all. The same for ``stores``.
    """

    graph: Graph
    config: Mapping[str, Any]
    run: Pass
    #: Topics that some pass writes for others. A pass that is not the one for them writes none.
    looped: frozenset[str]
    #: Topics whose records have offsets.
    with_offsets: frozenset[str]
    #: The number of partitions of every topic by its name in the graph; 0 is for all others.
    sizes: Mapping[str, int]
    other_size: int
    clock_ms: int
    outputs: frozenset[str] | None = None
    stores: frozenset[str] | None = None
    logs_changes: bool = False
    #: Whether records keep apart what different records of one millisecond have caused.
    tracks_ties: bool = False
    on_disk: bool = True

    @cached_property
    def settings(self) -> TaskSettings:
        return task_settings(StreamsConfig(self.config), emit_interval_ms=0)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics by their numbers: those of global stores come first."""
        return (*self.run.global_topics, *self.run.topics)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The topics that are written, by their numbers."""
        sinks = self.run.part.sinks(self.graph) if self.run.is_last else ()
        wanted = [
            sink.topic
            for sink in sinks
            if sink.topic is not None
            and sink.topic not in self.looped
            and (self.outputs is None or sink.topic in self.outputs)
        ]
        return tuple(dict.fromkeys([*self.run.writes, *wanted]))

    def real_name(self, topic: str) -> str:
        """Return the name of a topic in Kafka."""
        return self.settings.topic(topic) if topic in self.graph.internal_topics else topic

    def size(self, real_name: str) -> int:
        return self._real_sizes.get(real_name, self.other_size)

    @cached_property
    def _real_sizes(self) -> dict[str, int]:
        return {self.real_name(topic): size for topic, size in self.sizes.items()}

    def wants(self, store: str) -> bool:
        return self.run.is_last and (self.stores is None or store in self.stores)


def run_task(work: Work, task: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run one task over its records, which come in their order."""
    with closing(HistoryTask(work, task)) as running:
        for table in _together(batches):
            running.process(rows_of(table))
            yield from running.take()
        yield from running.end()


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put small batches together, and divide large ones. The sizes are always the same."""
    waiting: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        for start in range(0, batch.num_rows, AT_ONCE):
            piece = batch.slice(start, AT_ONCE)
            waiting.append(piece)
            count, size = count + piece.num_rows, size + piece.nbytes
            if count >= AT_ONCE or size >= _AT_ONCE_BYTES:
                yield pa.Table.from_batches(waiting)
                waiting, count, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)


class HistoryTask:
    """One task: a kernel task with its stores, and the global stores that its nodes may read."""

    def __init__(self, work: Work, task: int) -> None:
        self._work = work
        self._number = task
        self._directory = Path(tempfile.mkdtemp(prefix="penstock-history-"))
        try:
            self._open()
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise

    def _open(self) -> None:
        work, run = self._work, self._work.run
        graph, settings = work.graph, work.settings
        self._outbox = _outbox(work, self._number)
        self._global = None
        if run.global_topics:
            # All tasks apply the same records. Their dead letters are sent by the pass that is only
            # there for the global stores.
            letters = self._outbox if run.is_global else _silent(work, self._number)
            self._global = global_task(
                graph, settings, letters, self._engine("global"), lambda: work.clock_ms
            )
        nodes = [name for name in graph.nodes if name in run.part.nodes]
        specs = task_store_specs(graph, nodes)
        self._specs = {spec.name: spec for spec in specs}
        self._logs = TaskChangelogs(self._specs, graph.source_changelogs, self._number)
        self._stores = TaskStores(
            specs,
            settings=settings,
            engine=self._engine("own"),
            changelog=self._changelog,
            global_stores={} if self._global is None else self._global.stores.own,
        )
        self._task = StreamTask(
            TaskId(run.part.id, self._number), graph, nodes, settings=settings,
            collector=self._outbox, stores=self._stores, wall_clock=lambda: work.clock_ms,
        )  # fmt: skip
        self._columns = column_task(self._task, nodes)
        self._outbox.clock = self._task.stream_time
        self._received: Counter[int] = Counter()
        self._sources = self._add_queues()
        self._queues = [work.real_name(topic) for topic in work.inputs]

    def _add_queues(self) -> list[Source]:
        graph, task = self._work.graph, self._task
        sources = [
            node for n in self._work.run.part.nodes if isinstance(node := graph.nodes[n], Source)
        ]
        for source in sources:
            for topic in source.topics:
                task.add_queue(self._work.real_name(topic), source.name)
        return sources

    @cached_property
    def _keeps_time(self) -> bool:
        """Whether stream time follows the timestamps with which records come."""
        return all(takes_own_time(source, self._task) for source in self._sources)

    def _engine(self, folder: str) -> Engine:
        if not self._work.on_disk:
            return lambda store: MemoryStore()
        base, configs = self._directory / folder, self._work.settings.configs

        def engine(store: str) -> Any:
            found = open_rocks(base / store, store, configs, is_logged=False)
            # Nothing of it outlives the task.
            found.flush = lambda: None  # type: ignore[method-assign]
            return found

        return engine

    def _changelog(self, store: str) -> Changelog | None:
        return self._logs.open(store) if self._work.logs_changes else None

    # Input

    def process(self, rows: Rows) -> None:
        """Process records in their order, and commit."""
        first = 0
        for after, is_global in self._spans(rows):
            if is_global:
                self._update_global(rows, first, after)
            else:
                self._process(_part(rows, first, after))
            first = after

    def _spans(self, rows: Rows) -> list[tuple[int, bool]]:
        """Return where records of global topics, and others, end."""
        is_global = rows.inputs < len(self._work.run.global_topics)
        ends = np.append(np.flatnonzero(np.diff(is_global)) + 1, len(rows)).tolist()
        return [(after, bool(is_global[after - 1])) for after in ends if after]

    def _update_global(self, rows: Rows, first: int, after: int) -> None:
        assert self._global is not None
        inputs = _part(rows, first, after)
        for place in range(len(inputs)):
            columns = self._columns_of(int(inputs.inputs[place]), inputs, np.array([place]))
            self._global.update(columns.record(0))

    def _process(self, rows: Rows) -> None:
        work = self._work
        if work.run.writes and (work.tracks_ties or not self._tells_time(rows)):
            self._process_each(rows)
            return
        self._outbox.begin()
        # Columns take the timestamp of a result for its place.
        is_placed = not work.run.writes or bool((rows.at == rows.timestamps).all())
        self._task.columns = self._columns if is_placed and not work.tracks_ties else None
        self._task.run_in_order(*self._inputs(rows))

    def _tells_time(self, rows: Rows) -> bool:
        """Tell whether stream time is the place of every record when it is processed."""
        if not self._keeps_time:
            return False
        times = np.maximum.accumulate(np.maximum(rows.timestamps, self._task.stream_time()))
        return bool((rows.at == times).all())

    def _process_each(self, rows: Rows) -> None:
        """Process one record after the other, each with its commit."""
        outbox, task, place = self._outbox, self._task, (-1, -1)
        task.columns = None
        at, tie, inputs = rows.at.tolist(), rows.tie.tolist(), rows.inputs.tolist()
        for number in range(len(rows)):
            if (at[number], tie[number]) != place:
                # Whatever earlier records have caused has come back.
                task.settle()
                place = outbox.at, outbox.tie = at[number], tie[number]
            columns = self._columns_of(inputs[number], rows, np.array([number]))
            task.run_in_order([(self._queues[inputs[number]], columns)], [(0, 0, 1)])

    def _inputs(self, rows: Rows) -> tuple[list[tuple[str, RawColumns]], list[Run]]:
        """Return the records by queue, and the runs of records of one queue."""
        ends = np.append(np.flatnonzero(np.diff(rows.inputs)) + 1, len(rows))
        present = np.unique(rows.inputs).tolist()
        numbers = {given: number for number, given in enumerate(present)}
        inputs = [
            (
                self._queues[given],
                self._columns_of(given, rows, np.flatnonzero(rows.inputs == given)),
            )
            for given in present
        ]
        runs: list[Run] = []
        taken: Counter[int] = Counter()
        begin = 0
        for end in ends.tolist():
            number = numbers[int(rows.inputs[begin])]
            runs.append((number, taken[number], taken[number] + end - begin))
            taken[number] += end - begin
            begin = end
        return inputs, runs

    def _columns_of(self, given: int, rows: Rows, places: Longs) -> RawColumns:
        """Return the records of one topic, which are at these places."""
        topic = self._work.inputs[given]
        is_whole = len(places) == len(rows)
        where = places.tolist()
        if topic in self._work.with_offsets:
            offsets: Any = rows.seq[places].tolist()
        else:
            offsets = range(self._received[given], self._received[given] + len(where))
        self._received[given] = offsets[-1] + 1

        def chosen(column: Any) -> Any:
            return column if is_whole else [column[place] for place in where]

        is_global = given < len(self._work.run.global_topics)
        partition = int(rows.source[places[0]]) & _PARTITION if is_global else self._number
        return RawColumns(
            self._queues[given], partition, offsets, rows.timestamps[places], chosen(rows.keys),
            chosen(rows.values), None if rows.headers is None else chosen(rows.headers),
        )  # fmt: skip

    # Output

    def take(self) -> list[pa.RecordBatch]:
        """Return what was sent and logged since the last call."""
        return [*self._outbox.take(), *self._logs.take()]

    def end(self) -> Iterator[pa.RecordBatch]:
        """Return the rows of the stores, and what is left."""
        yield from self.take()
        yield from self._logs.take(is_end=True)
        yield from self._store_rows()
        if not self._work.run.is_last:
            return
        dropped = self._task.dropped_records
        if dropped:
            yield output_batch(
                target=np.full(len(dropped), DROPPED, np.int32),
                name=[node for node, _ in dropped],
                key=[reason.encode() for _, reason in dropped],
                seq=[*dropped.values()],
            )
        yield self._clocks()
        yield from self._positions()

    def _store_rows(self) -> Iterator[pa.RecordBatch]:
        work = self._work
        for name, store in self._stores.own.items():
            if work.wants(name):
                yield from store_batches(store, self._specs[name], work.settings, self._number)
        if self._global is not None and work.run.is_global:
            for name, store in self._global.stores.own.items():
                if work.wants(name):
                    spec = work.graph.global_stores[name].spec
                    yield from store_batches(store, spec, work.settings, self._number)

    def _clocks(self) -> pa.RecordBatch:
        clocks = json.dumps(self._task.clocks()).encode()
        name = str(self._task.task_id)
        return output_batch(target=[CLOCKS], name=[name], task=[self._number], value=[clocks])

    def _positions(self) -> Iterator[pa.RecordBatch]:
        for given, after in self._received.items():
            topic = self._work.inputs[given]
            if topic in self._work.with_offsets and given >= len(self._work.run.global_topics):
                yield output_batch(
                    target=[POSITION], name=[topic], task=[self._number], seq=[after]
                )

    def close(self) -> None:
        try:
            self._task.close()
            if self._global is not None:
                self._global.close()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)


def _part(rows: Rows, first: int, after: int) -> Rows:
    if first == 0 and after == len(rows):
        return rows
    span = slice(first, after)
    return Rows(
        rows.inputs[span], rows.at[span], rows.tie[span], rows.source[span], rows.seq[span],
        rows.timestamps[span], rows.keys[span], rows.values[span],
        None if rows.headers is None else rows.headers[span],
    )  # fmt: skip


def _outbox(work: Work, task: int) -> HistoryOutbox:
    targets = {work.real_name(topic): number for number, topic in enumerate(work.targets)}
    sinks = work.run.part.sinks(work.graph)
    named = {work.real_name(sink.topic) for sink in sinks if sink.topic is not None}
    unwanted = named - targets.keys()
    return HistoryOutbox(targets, unwanted, work.size, task, takes_others=work.run.is_last)


def _silent(work: Work, task: int) -> HistoryOutbox:
    return HistoryOutbox({}, set(), work.size, task, takes_others=False)
