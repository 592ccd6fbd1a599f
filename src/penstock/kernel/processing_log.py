"""Writes the processing log of a task, in the same transaction as its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.model.processing_log import EntryType, Origin, ProcessingLogSpec
from penstock.model.record import Record
from penstock.model.rules.drop_reasons import (
    NEGATIVE_TIMESTAMP,
    NULL_FOREIGN_KEY,
    NULL_JOIN_KEY_OR_VALUE,
    NULL_KEY,
    NULL_KEY_OR_VALUE,
)
from penstock.model.user_code import UserCodeError
from penstock.processor.expression_failures import ExpressionFailure
from penstock.processor.handlers import DeadLetter, ErrorHandlerContext

if TYPE_CHECKING:
    from penstock.kernel.record_queue import RawRecord
    from penstock.kernel.task import StreamTask
    from penstock.topology.nodes.node import Node

#: Drops that the record itself is the reason for. Records that only came too late are not here:
#: they are counted, and there may be many of them.
LOGGED_DROPS: Final = {
    NULL_KEY: "the record has no key",
    NULL_KEY_OR_VALUE: "the record has no key or no value",
    NULL_JOIN_KEY_OR_VALUE: "the record has no value to join on, or no value at all",
    NULL_FOREIGN_KEY: "the row has no foreign key",
    NEGATIVE_TIMESTAMP: "the record has no valid time",
}


class ProcessingLog:
    """The processing log of one task. Entries are sent as any other output is."""

    def __init__(self, spec: ProcessingLogSpec, task: StreamTask) -> None:
        self._spec = spec
        self._task = task

    @property
    def topic(self) -> str:
        return self._spec.topic

    def deserialization(self, node: Node, raw: RawRecord, error: Exception, target: str) -> None:
        self._write(
            EntryType.DESERIALIZATION, error, step=node.name, origin=_origin_of(raw), target=target,
            topic=raw.topic, what=f"the {target} of a record of {raw.topic} cannot be read",
        )  # fmt: skip

    def serialization(
        self, node: Node, topic: str, record: Record[Any, Any], error: Exception, target: str
    ) -> None:
        row = {"key": record.key, "value": record.value}
        self._write(
            EntryType.SERIALIZATION, error, step=node.name, origin=self._origin(), row=row,
            target=target, topic=topic,
            what=f"the {target} of a record for {topic} cannot be written",
        )  # fmt: skip

    def processing(self, node: Node, record: Record[Any, Any] | None, error: Exception) -> None:
        row = None if record is None else {"key": record.key, "value": record.value}
        self._write(EntryType.PROCESSING, error, step=node.name, origin=self._origin(), row=row)

    def dropped(self, node: str, reason: str, raw: RawRecord | None) -> None:
        """Write about a record that a node drops, if the reason is in the record itself."""
        why = LOGGED_DROPS.get(reason)
        if why is not None:
            origin = self._origin() if raw is None else _origin_of(raw)
            self._write(EntryType.PROCESSING, why, step=node, origin=origin, what="record dropped")

    def expression(self, failure: ExpressionFailure) -> None:
        is_drop = isinstance(failure.error, str)
        what = "row dropped" if is_drop else f"{failure.expression} failed"
        self._write(
            EntryType.PROCESSING, failure.error, step=failure.step, origin=self._origin(),
            expression=failure.expression, row=failure.row, what=what,
        )  # fmt: skip

    @staticmethod
    def give_up_columns(failure: ExpressionFailure) -> None:
        """Let the batch run by record, because columns do not show which record has failed."""
        raise UserCodeError(f"{failure.expression} fails, and the log has to name the record")

    def production(
        self, context: ErrorHandlerContext, topic: str, error: BaseException
    ) -> DeadLetter:
        """Return the entry about a record that Kafka has refused, to be sent in its place."""
        origin = Origin(
            context.topic, context.partition, context.offset, context.timestamp,
            context.source_raw_key, context.source_raw_value,
        )  # fmt: skip
        now = max(self._task.system_time(), 0)
        entry = self._spec.entry(
            EntryType.PRODUCTION, error, step=context.processor_node_id, origin=origin,
            topic=topic, time_ms=now, what=f"Kafka refused a record for {topic}",
        )  # fmt: skip
        return DeadLetter(self._spec.topic, None, entry, (), now)

    def _origin(self) -> Origin:
        at, current = self._task.context, self._task.current
        key, value = (None, None) if current is None else current[4:6]
        return Origin(at.topic, at.partition, at.offset, at.timestamp, key, value)

    def _write(self, kind: EntryType, error: Exception | str, **about: Any) -> None:
        now = max(self._task.system_time(), 0)
        entry = self._spec.entry(kind, error, time_ms=now, **about)
        self._task.collector.send(self._spec.topic, None, entry, now, ())


def _origin_of(raw: RawRecord) -> Origin:
    topic, partition, offset, timestamp, key, value, _ = raw
    return Origin(topic, partition, offset, timestamp, key, value)
