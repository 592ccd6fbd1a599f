"""Processors of the user inside an island: what they see of the task, and where they forward to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING

from penstock.kernel.columns.batch import Batch, NotProvenError
from penstock.kernel.columns.effects import Effects
from penstock.kernel.executor import Forward
from penstock.kernel.operators.processors.process import ProcessExecutor
from penstock.kernel.wiring import to_all
from penstock.model.record import Headers

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask


class CalledProcessors:
    """The processors of an island. They are those of the task, with their fields and stores.

    A processor writes to its stores while it is called, so no other node may use them. It sees the
    context of its record, and stream time as it is then.

    Args:
        nodes: all nodes of the island.
        is_flushed: whether the records come from a cache, when the batch ends.
    """

    def __init__(self, nodes: Iterable[str], task: StreamTask, *, is_flushed: bool) -> None:
        self._task = task
        self._is_flushed = is_flushed
        inside = frozenset(nodes)
        self.executors: dict[str, ProcessExecutor] = {
            executor.node.name: executor
            for executor in task.executors
            if isinstance(executor, ProcessExecutor) and executor.node.name in inside
        }
        self._ways: dict[str, Mapping[str, Forward]] = {}
        self.stores = frozenset(
            store for executor in self.executors.values() for store in executor.node.stores
        )

    @property
    def are_there(self) -> bool:
        return bool(self.executors)

    def resources(self) -> set[str]:
        return {f"store {store!r}" for store in self.stores}

    def connect(self, name: str, ways: Mapping[str, Forward]) -> None:
        """Say where a processor forwards to while it is called by the island."""
        self._ways[name] = ways

    @contextmanager
    def forwarding(self) -> Iterator[None]:
        """Let the processors forward into the island, and then to the nodes of the task again."""
        for name, executor in self.executors.items():
            ways = self._ways[name]
            executor.outlet.redirect(to_all([*ways.values()]), ways.get)
        try:
            yield
        finally:
            for executor in self.executors.values():
                executor.outlet.redirect()

    def visit(
        self,
        batch: Batch,
        times: Sequence[int],
        headers: Iterable[Headers],
        effects: Effects,
    ) -> Iterator[None]:
        """Set the task's context and stream time to those of each record in turn."""
        task, context, origins = self._task, self._task.context, batch.origins
        if origins is None or (origins.stream_times is None and not self._is_flushed):
            raise NotProvenError("a processor asks where a record comes from, which is not known")
        self.check_schedules()
        stream_times: Iterable[int] = repeat(effects.stream_time)
        if not self._is_flushed and origins.stream_times is not None:
            stream_times = origins.stream_times.tolist()
        offsets: list[int] = origins.offsets.tolist()
        for time, offset, (topic, partition), given, stream_time in zip(
            times, offsets, origins.each_source(), headers, stream_times, strict=False
        ):
            context.timestamp, context.headers = time, given
            context.topic, context.partition, context.offset = topic, partition, offset
            task.set_stream_time(stream_time)
            yield
            if task.has_stream_time_punctuations:
                raise _is_scheduled()

    def check_schedules(self) -> None:
        """Raise if a processor has asked for calls that come between records.

        It may ask for them at any time. Calls by the wall clock come between the records and what
        leaves a cache.
        """
        task = self._task
        by_wall_clock = self._is_flushed and task.has_wall_clock_punctuations
        if self.executors and (task.has_stream_time_punctuations or by_wall_clock):
            raise _is_scheduled()


def _is_scheduled() -> NotProvenError:
    return NotProvenError("its processor is also called by stream time, between two records")
