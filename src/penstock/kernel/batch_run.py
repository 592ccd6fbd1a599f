"""Runs one batch of a task, over columns or by record, and decides where the batch ends.

A batch may end before its records do. The next batch then begins with the records that are left,
and their first decoding has left no trace. One order is not kept: if several topics have equal
timestamps, and one of them ends in skipped records, another topic may come first.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from penstock.kernel.raw_columns import RawColumns
from penstock.kernel.record_queue import PartitionGroup, RawRecord, Stop
from penstock.processor.expression_failures import reporting_to

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask

#: The name of a queue, and the records to add to it.
Inputs = Sequence[tuple[str, RawColumns]]


class BatchRun:
    """Runs the inputs of one batch through a task whose queues are empty before and after."""

    def __init__(
        self, task: StreamTask, group: PartitionGroup, truncated: Set[str], stop: Stop | None
    ) -> None:
        self._task = task
        self._group = group
        self._truncated = truncated
        self._stop = stop

    def run(self, inputs: Inputs) -> dict[str, int]:
        """Return for each queue how many records are consumed; the task forgets the others."""
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
        left = self._run_columns(inputs)
        return self._run_records(inputs) if left is None else left

    def _run_records(self, inputs: Inputs) -> dict[str, int]:
        group = self._group
        for name, queue in group.queues.items():
            queue.is_truncated = name in self._truncated
        for name, records in inputs:
            group.add(name, records)
        if group.empty_truncated():
            # All records of one queue were skipped, so nothing is processed.
            left = group.give_back()
            group.order = [name for name, _ in inputs]
            return left
        self._task.process_all(self._stop)
        empty = group.empty_truncated()
        left = group.give_back()
        # If the empty queue had been filled again, it would be behind the others in the heap.
        group.order += empty
        return left

    def _run_columns(self, inputs: Inputs) -> dict[str, int] | None:
        """Run over columns; return ``None`` if the batch has to run by record."""
        task, group = self._task, self._group
        columns = task.columns
        if columns is None or not columns.plan.is_vectorised or group.has_records:
            return None
        found = [(group.queues[name], records) for name, records in inputs if len(records)]
        # No single record is being processed from here on; a watcher must not name an older one.
        task.current = None
        if task.log is None:
            run = columns.run(found, truncated=self._truncated, stop=self._stop)
        else:
            with reporting_to(task.log.give_up_columns):
                run = columns.run(found, truncated=self._truncated, stop=self._stop)
        if run is None:
            return None
        run.effects.apply(task.dropped_records)
        for queue, records in run.inputs:
            newest = run.effects.newest(records)
            queue.partition_time = max(queue.partition_time, newest)
            group.stream_time = max(group.stream_time, newest)
        if columns.plan.is_handed_off:
            self._work_on(columns.last_record(run.inputs, run.effects))
        group.order = run.order
        consumed = {queue.name: len(records) for queue, records in run.inputs}
        return {name: len(records) - consumed.get(name, 0) for name, records in inputs}

    def _work_on(self, raw: RawRecord | None) -> None:
        """Set the context to that of the last record, as processing it would; a flush uses it."""
        if raw is not None:
            context, self._task.current = self._task.context, raw
            context.topic, context.partition, context.offset, time, _, _, headers = raw
            context.timestamp, context.headers = time, headers
