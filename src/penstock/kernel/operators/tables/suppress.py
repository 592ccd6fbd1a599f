"""Holds back changes of a table. Node: ``topology.nodes.tables.suppress``."""

from __future__ import annotations

from typing import Any

from penstock.errors import StreamsError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.record_contexts import in_context
from penstock.model.change import Change
from penstock.model.record import Headers
from penstock.model.rules.suppress_rule import SuppressRule
from penstock.state.buffer.buffered import Eviction, TimeOrderedBuffer
from penstock.topology.nodes.tables.suppress import Suppress


@executes(Suppress)
class SuppressExecutor(Executor[Suppress]):
    """Emits a key when stream time has reached its buffer time plus the waiting time.

    The buffer time is the end of the window, or the timestamp of the key's first change since it
    was emitted last. Later changes of the key do not move it. What is emitted has the timestamp,
    headers and position of the last change.
    """

    def init(self) -> None:
        node = self.node
        self.clock = OperatorClock()
        self._buffer: TimeOrderedBuffer = self.task.store(node.buffer)
        self._rule = suppress_rule(node)

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        node, buffer = self.node, self._buffer
        last_due = self._rule.last_due(self.clock.advance(timestamp))
        buffer_time = key.window.end if node.until_window_closes else timestamp
        buffer.put(buffer_time, key, value, self.context)
        if buffer.min_timestamp <= last_due:
            buffer.evict_while(lambda: buffer.min_timestamp <= last_due, self._release)
        if self._is_too_full():
            if not node.emits_early:
                raise self._full()
            buffer.evict_while(self._is_too_full, self._release)

    def _is_too_full(self) -> bool:
        buffer = self._buffer
        return self._rule.is_too_full(buffer.num_records, buffer.buffer_size_bytes)

    def _release(self, eviction: Eviction) -> None:
        if not self._rule.sends(eviction.value.new is not None):
            return
        with in_context(self.context, eviction.record_context) as at:
            self.forward(eviction.key, eviction.value, at.timestamp, at.headers)

    def _full(self) -> StreamsError:
        node, buffer = self.node, self._buffer
        limits = [
            f"{have} of {most} {unit}"
            for have, most, unit in (
                (buffer.num_records, node.max_records, "records"),
                (buffer.buffer_size_bytes, node.max_bytes, "bytes"),
            )
            if most is not None
        ]
        return StreamsError(
            "suppress-buffer-full",
            f"the buffer of {node.name!r} is too full: {', '.join(limits)}",
            fix="allow more, emit early when full, or leave the buffer unbounded",
            at=node.site,
        )


def suppress_rule(node: Suppress) -> SuppressRule:
    return SuppressRule(
        node.wait_ms,
        node.until_window_closes,
        node.max_records,
        node.max_bytes,
        drops_tombstones=node.safe_to_drop_tombstones,
    )
