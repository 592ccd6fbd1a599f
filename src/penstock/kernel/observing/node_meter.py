"""Counts records and time by node, exactly over columns and in samples record by record.

Over columns a whole piece of a batch is one call of a node, and every call is measured. A call with
one record costs about as much as looking at a clock twice. So, record by record, chunks of records
are measured only as long as that takes a small part of the time, and stand for the others. Below
some thousand records a second that is all of them. A task has no clock: its caller gives the meter
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from penstock.kernel.executor import Executor, Forward
    from penstock.kernel.failures import Guard
    from penstock.model.record import Headers

T = TypeVar("T")

#: What it costs to measure one call of a node, and which part of the time that may take.
_CALL_NS = 1_000
_SHARE = 300
#: While it is too early to measure again, the clock is looked at after so many chunks.
_CHUNKS = 16


class _Section:
    """What was measured in one stretch of work, before it is known what it stands for."""

    def __init__(self) -> None:
        self.records: dict[str, int] = {}
        self.busy_ns: dict[str, int] = {}


class NodeMeter:
    """The counters of one task's nodes. The task changes them, and any thread may read them.

    A node's time is its own: while a node behind it works, its clock stands.
    """

    def __init__(self, clock_ns: Callable[[], int]) -> None:
        self.records: dict[str, float] = {}
        self.busy_ns: dict[str, float] = {}
        self._clock = clock_ns
        self._section = self._last = _Section()
        #: The node whose clock runs.
        self.node: str | None = None
        self._since = 0
        self._guards: Mapping[str, Guard] = {}
        self._executors: Mapping[str, Executor[Any]] = {}
        #: What was measured in this batch, and how many records that were.
        self._pending = _Section()
        self._sampled = 0
        #: Records since the last batch that was measured.
        self._unmeasured = 0
        #: Whether this batch ran over columns.
        self._is_exact = False
        #: When it is time to measure again; how many chunks and flushes were not measured.
        self._next = 0
        self._skipped_chunks = self._skipped_flushes = 0

    def attach(self, guards: Mapping[str, Guard], executors: Mapping[str, Executor[Any]]) -> None:
        """Take the functions through which records enter the nodes."""
        self._guards, self._executors = guards, executors

    # A node's clock

    def enter(self, node: str | None, records: int) -> str | None:
        """Start a node's clock, and stop that of the node before; return that one."""
        before, now = self.node, self._clock()
        section = self._section
        if before is not None:
            section.busy_ns[before] = section.busy_ns.get(before, 0) + now - self._since
        if node is not None and records:
            section.records[node] = section.records.get(node, 0) + records
        self.node, self._since = node, now
        return before

    def leave(self, before: str | None) -> None:
        """Stop a node's clock, and go on with that of the node before."""
        self.enter(before, 0)

    def _begin(self, node: str | None = None) -> None:
        self._section, self.node, self._since = _Section(), node, self._clock()

    def _end(self) -> _Section:
        self.enter(None, 0)
        section, self._section = self._section, _Section()
        return section

    def _add(self, section: _Section, weight: float) -> None:
        for node, count in section.records.items():
            self.records[node] = self.records.get(node, 0) + count * weight
        for node, spent in section.busy_ns.items():
            self.busy_ns[node] = self.busy_ns.get(node, 0) + spent * weight

    # Over columns

    def begin_columns(self) -> None:
        """Begin to measure a batch."""
        self._begin()

    def end_columns(self, *, is_kept: bool) -> None:
        """End it; a batch that is given up runs again record by record, so it does not count."""
        section = self._end()
        if is_kept:
            self._is_exact = True
            self._add(section, 1.0)

    # Record by record

    def is_due(self) -> bool:
        """Tell whether the next chunk of records is measured."""
        if self._skipped_chunks:
            self._skipped_chunks -= 1
            return False
        if self._clock() >= self._next:
            return True
        self._skipped_chunks = _CHUNKS
        return False

    @contextmanager
    def chunk(self, source: str) -> Iterator[Callable[[Iterable[T]], Iterator[T]]]:
        """Measure the body. It yields what counts its records."""
        with self._measuring(source):
            yield self._counted
        _merge(self._pending, self._last)

    @contextmanager
    def flush(self) -> Iterator[None]:
        """Measure a flush of the caches, if it is time for that."""
        if self._clock() < self._next:
            self._skipped_flushes += 1
            yield
            return
        with self._measuring(None):
            yield
        self._add(self._last, 1.0 + self._skipped_flushes)
        self._skipped_flushes = 0

    def end_batch(self, consumed: Mapping[str, int]) -> None:
        """Add what was measured, for all records of this batch and of those that were not measured.

        Args:
            consumed: Its records by source. They are known without measuring.
        """
        for source, count in consumed.items():
            self.records[source] = self.records.get(source, 0) + count
        if self._is_exact:
            self._is_exact = False
            return
        self._unmeasured += sum(consumed.values())
        if self._sampled:
            self._add(self._pending, self._unmeasured / self._sampled)
            self._pending, self._sampled, self._unmeasured = _Section(), 0, 0

    @contextmanager
    def _measuring(self, node: str | None) -> Iterator[None]:
        """Let records enter the nodes through functions that count them while the body runs."""
        for name, guard in self._guards.items():
            guard.bind(self._measured(name, self._executors[name].process))
        self._begin(node)
        try:
            yield
        finally:
            self._last = self._end()
            calls = sum(self._last.records.values())
            self._next = self._since + calls * _CALL_NS * _SHARE
            for name, guard in self._guards.items():
                guard.bind(self._executors[name].process)

    def _counted(self, heads: Iterable[T]) -> Iterator[T]:
        for head in heads:
            self._sampled += 1
            yield head

    def _measured(self, node: str, process: Forward) -> Forward:
        enter = self.enter

        def measured(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            before = enter(node, 1)
            try:
                process(key, value, timestamp, headers)
            finally:
                enter(before, 0)

        return measured


def _merge(whole: _Section, part: _Section) -> None:
    for node, count in part.records.items():
        whole.records[node] = whole.records.get(node, 0) + count
    for node, spent in part.busy_ns.items():
        whole.busy_ns[node] = whole.busy_ns.get(node, 0) + spent
