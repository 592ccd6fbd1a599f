"""Replaces values by answers of calls. Node: ``topology.nodes.streams.map_values_async``."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from typing import Any, NamedTuple

from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.streams.async_calls import AsyncCalls
from penstock.kernel.record_queue import RawRecord
from penstock.model.record import Headers, Record, RecordContext
from penstock.topology.nodes.streams.map_values_async import MapValuesAsync


class _Call(NamedTuple):
    """A record that waits for its answer, and its context when the call began."""

    key: Any
    value: Any
    position: RecordContext
    raw: RawRecord | None
    answer: Future[Any]


@executes(MapValuesAsync)
class MapValuesAsyncExecutor(Executor[MapValuesAsync]):
    """Starts a call for each record. ``drain`` forwards the answers in the order of the records.

    The task calls ``drain`` before it commits, so no call is open at a commit. A batch that runs
    again makes its calls again.
    """

    waits = True
    _calls: AsyncCalls | None = None

    def init(self) -> None:
        self._waiting: deque[_Call] = deque()

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        calls = self._calls or self._started()
        answer = calls.submit(key, value) if self.node.with_key else calls.submit(value)
        position = self.context.copy()
        self._waiting.append(_Call(key, value, position, self.task.current, answer))

    def drain(self) -> bool:
        """Wait for the answers and forward them; return false if there was none to wait for."""
        if not self._waiting:
            return False
        before, current = self.context.copy(), self.task.current
        try:
            while self._waiting:
                self._finish(self._waiting.popleft())
        finally:
            self._go_to(before, current)
        return True

    def _finish(self, call: _Call) -> None:
        at = call.position
        self._go_to(at, call.raw)
        try:
            value = call.answer.result()
        except Exception as error:  # noqa: BLE001 - user code; the handler decides
            record = Record(call.key, call.value, max(at.timestamp, 0), at.headers)
            self.task.failures.function(self.node, record, error)
            return
        self.forward(call.key, value, at.timestamp, at.headers)

    def _go_to(self, at: RecordContext, raw: RawRecord | None) -> None:
        context, self.task.current = self.context, raw
        context.topic, context.partition, context.offset = at.topic, at.partition, at.offset
        context.timestamp, context.headers = at.timestamp, at.headers

    def _started(self) -> AsyncCalls:
        node = self.node
        self._calls = AsyncCalls(
            node.fn,
            concurrency=node.concurrency,
            timeout_s=node.timeout_ms / 1000,
            retries=node.retries,
            backoff_s=node.backoff_ms / 1000,
        )
        return self._calls

    def close(self) -> None:
        self._waiting.clear()
        calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
