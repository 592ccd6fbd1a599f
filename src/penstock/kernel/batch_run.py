"""Runs one batch of a task, over columns or by record, and decides where the batch ends.

A batch may end before its records do. The next batch then begins with the records that are left,
and their first decoding has left no trace. One order is not kept: if several topics have equal
timestamps, and one of them ends in skipped records, another topic may come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import nullcontext
from typing import TYPE_CHECKING

from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.record_queue import PartitionGroup, RawRecord, Stop
from penstock.processor.expression_failures import reporting_to

if TYPE_CHECKING:
    # Columns need libraries that take a while to import.
    from penstock.kernel.columns.column_task import ColumnTask, Last
    from penstock.kernel.columns.merge_order import Run
    from penstock.kernel.task import StreamTask

#: The name of a queue, and the records to add to it.
Inputs = Sequence[tuple[str, RawColumns]]


class BatchRun:
    """Runs the inputs of one batch through a task whose queues are empty before and after.

    Records are taken by time. If the caller has decided on an order, ``runs`` has it.
    """

    def __init__(
        self,
        task: StreamTask,
        group: PartitionGroup,
        truncated: Set[str] = frozenset(),
        stop: Stop | None = None,
        runs: Sequence[Run] | None = None,
    ) -> None:
        self._task = task
        self._group = group
        self._truncated = truncated
        self._stop = stop
        self._runs = runs

    def run(self, inputs: Inputs) -> dict[str, int]:
        """Return for each queue how many records are consumed; the task forgets the others."""
        if self._runs is None:
            inputs = self._group.in_order(inputs)
        left = self._left_by(inputs)
        consumed = {name: len(records) - left.get(name, 0) for name, records in inputs}
        for name, records in inputs:
            queue = self._group.queues[name]
            if consumed[name]:
                last = records.offsets[consumed[name] - 1]
                self._task.consumed_offsets[records.topic, records.partition] = last
            if queue.received:
                queue.received -= left.get(name, 0)
        return consumed

    def _left_by(self, inputs: Inputs) -> dict[str, int]:
        """Run the batch; return how many records of each queue are left."""
        lengths = {name: len(records) for name, records in inputs}
        if not any(lengths.values()):
            return {}
        if not all(lengths.get(name) for name in self._truncated):
            # One queue is empty although its topic has more records. The next of them may be older
            # than all records here, so nothing can be processed yet.
            self._group.order = [*lengths]
            return lengths
        columns = self._task.columns
        if columns is None or not columns.plan.is_vectorised or self._group.has_records:
            return self._run_records(inputs)
        columns.choice.begin()
        left = self._run_columns(inputs, columns)
        if left is None:
            left = self._run_records(inputs)
        taken = sum(lengths.values()) - sum(left.values())
        columns.choice.end(taken, tried_columns=columns.has_tried)
        return left

    def _run_records(self, inputs: Inputs) -> dict[str, int]:
        group = self._group
        if self._runs is not None:
            for number, first, after in self._runs:
                name, records = inputs[number]
                group.add(name, records.cut(first, after))
                self._task.process_all()
            return {}
        for name, queue in group.queues.items():
            queue.is_truncated = name in self._truncated
        for name, records in inputs:
            group.add(name, records)
        if group.empty_truncated():
            # All records of one queue were skipped, so nothing is processed.
            left = group.give_back()
            group.order = [name for name, _ in inputs]
            return left
        self._task.process_all(self._stop_here)
        empty = group.empty_truncated()
        left = group.give_back()
        # If the empty queue had been filled again, it would be behind the others in the heap.
        group.order += empty
        return left

    @property
    def _stop_here(self) -> Stop | None:
        """Return what ends the batch, but not before all records whose functions were called."""
        stop, columns = self._stop, self._task.columns
        if stop is None or columns is None or not columns.is_replaying:
            return stop
        return lambda: stop() and not columns.is_replaying

    def _run_columns(self, inputs: Inputs, columns: ColumnTask) -> dict[str, int] | None:
        """Run over columns; return ``None`` if the batch has to run by record."""
        task, group = self._task, self._group
        found = [(group.queues[name], records) for name, records in inputs if len(records)]
        # No single record is being processed from here on; a watcher must not name an older one.
        task.current = None
        meter = task.meter
        if meter is not None:
            meter.begin_columns()
        before = group.stream_time
        with nullcontext() if task.log is None else reporting_to(task.log.give_up_columns):
            run = columns.run(
                found, truncated=self._truncated, stop=self._stop, runs=self._runs, meter=meter
            )
        if run is not None:
            run.effects.apply(task.dropped_records)
        if meter is not None:
            meter.end_columns(is_kept=run is not None)
        if run is None:
            # Processors have seen the stream time of their records, which are to come again.
            group.stream_time = before
            return None
        for queue, records in run.inputs:
            newest = run.effects.newest(records)
            queue.partition_time = max(queue.partition_time, newest)
            group.stream_time = max(group.stream_time, newest)
        if columns.plan.needs_last_record:
            self._work_on(columns.last_record(run.inputs, run.effects, self._runs), dict(inputs))
        group.order = run.order
        consumed = {queue.name: len(records) for queue, records in run.inputs}
        return {name: len(records) - consumed.get(name, 0) for name, records in inputs}

    def _work_on(self, last: Last | None, inputs: Mapping[str, RawColumns]) -> None:
        """Set the context to that of the last record, as processing it would; a flush uses it."""
        if last is not None:
            queue, record = last
            context, self._task.current = self._task.context, _as_read(record, inputs[queue.name])
            context.topic, context.partition, context.offset, time, _, _, headers = record
            context.timestamp, context.headers = time, headers


def _as_read(record: RawRecord, records: RawColumns) -> RawRecord:
    """Return a record of a queue with its timestamp in Kafka; an extractor may give another."""
    places = range(len(records) - 1, -1, -1)
    return records.record(next(n for n in places if records.offsets[n] == record.offset))
