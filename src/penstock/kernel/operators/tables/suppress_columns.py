"""Holds back changes of a table, over columns. Record executor: ``suppress.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import Batch, NotProvenError, origins_of
from penstock.kernel.columns.batch_column import BatchColumn, WindowedColumn
from penstock.kernel.columns.cache_handoff import contexts_at
from penstock.kernel.columns.column_executor import ColumnExecutor, require_known, vectorises
from penstock.kernel.columns.effects import Effects
from penstock.kernel.columns.session_column import SessionColumn
from penstock.kernel.columns.store_rows import stored_keys
from penstock.kernel.operator_clock import OperatorClock
from penstock.kernel.operators.tables.suppress import suppress_rule
from penstock.model.record import Headers
from penstock.serde.base import Serde
from penstock.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from penstock.state.buffer.buffer_value import BufferValue
from penstock.state.buffer.bulk_changes import BulkChanges, ChangesOfBatch
from penstock.state.window.window_keys import split_session_key
from penstock.topology.nodes import Suppress

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices

_START_BYTES = 8
#: A change that is due: the bytes of its key, and the change.
Due = tuple[bytes, BufferValue]


@dataclass(slots=True)
class _Held:
    """What the buffer and the clock of the node will be after the batch so far."""

    changes: ChangesOfBatch
    stream_time: int


@vectorises(Suppress)
class SuppressColumns(ColumnExecutor[Suppress]):
    """Goes through the changes one by one, as bytes; the buffer changes after the batch."""

    #: What is emitted has the position of its record.
    reads_origins = True
    logs_at_flush = True

    def __init__(self, node: Suppress, task: TaskServices) -> None:
        super().__init__(node, task)
        self._buffer: BulkChanges = task.store(node.buffer).bulk
        self._key: Serde[Any] = self._buffer.keys.serde
        self._value: Serde[Any] = self._buffer.values.serde
        require_known(self._key, f"key of store {node.buffer!r}:")
        require_known(self._value, f"value of store {node.buffer!r}:")
        self._rule = suppress_rule(node)
        self._clock: OperatorClock = task.operator_clock(node.name)

    def resources(self) -> set[str]:
        return {f"store {self.node.buffer!r}"}

    def process(self, batch: Batch, effects: Effects) -> None:
        held = effects.shared(self.node.buffer, lambda: self._hold(effects))
        due = self._let_through(batch, held)
        if due:
            self.forward(self._batch_of(due), effects)

    def _hold(self, effects: Effects) -> _Held:
        held = _Held(self._buffer.overlay(), self._clock.stream_time)
        effects.add(lambda: self._apply(held))
        return held

    def _apply(self, held: _Held) -> None:
        held.changes.apply()
        self._clock.advance(held.stream_time)

    def _let_through(self, batch: Batch, held: _Held) -> list[Due]:
        """Add the changes of a batch; return those that are due, in the order of their time."""
        rule, changes, is_too_full = self._rule, held.changes, self._is_too_full
        seen = np.maximum.accumulate(np.maximum(batch.timestamps, held.stream_time))
        held.stream_time = int(seen[-1])
        due: list[Due] = []
        rows = zip(
            self._times(batch), stored_keys(batch.keys, self._key),
            batch.values.encoded(self._value), self._old(batch),
            contexts_at(batch, np.arange(len(batch))), rule.last_due(seen).tolist(), strict=True,
        )  # fmt: skip
        for time, key, new, old, context, until in rows:
            if key is None:
                raise NotProvenError("a row has no key")
            changes.put(time, key, new, old, context)
            while changes.first_time <= until and changes.num_records:
                due.append(changes.take_first())
            if is_too_full(changes):
                if not self.node.emits_early:
                    raise NotProvenError("the buffer is too full")
                while changes.num_records and is_too_full(changes):
                    due.append(changes.take_first())
        return [each for each in due if rule.sends(each[1].new is not None)]

    def _is_too_full(self, changes: ChangesOfBatch) -> bool:
        return self._rule.is_too_full(changes.num_records, changes.size_bytes)

    def _times(self, batch: Batch) -> Sequence[int]:
        if not self._rule.until_window_closes:
            times: list[int] = batch.timestamps.tolist()
            return times
        keys = batch.keys
        if isinstance(keys, WindowedColumn | SessionColumn):
            return keys.member("end") or ()
        return [key.end for key in keys.values()]

    def _old(self, batch: Batch) -> Sequence[bytes | None]:
        return [None] * len(batch) if batch.old is None else batch.old.encoded(self._value)

    def _batch_of(self, due: list[Due]) -> Batch:
        contexts: list[Any] = [value.context for _, value in due]
        offsets = np.array([context.offset for context in contexts], np.int64)
        headers: list[Headers] | None = [context.headers for context in contexts]
        return Batch(
            self._keys([key for key, _ in due]),
            BatchColumn(encoded=[value.new for _, value in due], serde=self._value),
            np.array([context.timestamp for context in contexts], np.int64),
            headers if any(headers or ()) else None,
            origins_of([(each.topic, each.partition) for each in contexts], offsets),
            old=BatchColumn(encoded=[value.old for _, value in due], serde=self._value),
        )

    def _keys(self, keys: list[bytes]) -> BatchColumn:
        """Return the keys; the windows of windowed ones are read from the end of their bytes."""
        serde = self._key
        if isinstance(serde, TimeWindowedSerde) and serde.inner is not None:
            base = BatchColumn(encoded=[key[:-_START_BYTES] for key in keys], serde=serde.inner)
            starts = np.frombuffer(b"".join([key[-_START_BYTES:] for key in keys]), ">i8")
            return WindowedColumn(base, starts.tolist(), serde.window_size_ms)
        if isinstance(serde, SessionWindowedSerde) and serde.inner is not None:
            names, starts_, ends = zip(*map(split_session_key, keys), strict=True)
            return SessionColumn(BatchColumn(encoded=names, serde=serde.inner), starts_, ends)
        return BatchColumn(encoded=keys, serde=serde)
