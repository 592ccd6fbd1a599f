"""The end of a query: rows for the sink's topic, in its formats, and for a table of a lakehouse."""

from __future__ import annotations

from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.operators.topics.to_lake import rows_to_lake
from penstock.model.record import Record
from penstock.processor.processor import Processor
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.lake_rows import LakeRowSerde
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.timestamps import timestamp_reader


def lower_sink(plan: QueryPlan, rows: Any, lowering: Lowering) -> None:
    """Write to the sink's topic; a query without a sink writes to a topic named by its id."""
    stream: KStream[Any, Any] = rows.to_stream() if isinstance(rows, KTable) else rows
    if plan.sink is None:
        stream.to(
            plan.id,
            key=lowering.key_serde(plan.step),
            value=lowering.value_serde(plan.step),
        )
        return
    sink = plan.sink
    if sink.timestamp is not None:
        stream = stream.process(_timestamps(sink))
    stream.to(
        sink.topic,
        key=lowering.topic_key_serde(sink),
        value=lowering.topic_value_serde(sink),
    )
    if sink.lake is not None:
        key, value = LakeRowSerde.of_key(sink.schema.key), LakeRowSerde.of_value(sink.schema.value)
        rows_to_lake(
            stream._stream,
            sink.lake,
            # A name without a number: a changed query goes on with the rows that wait.
            "SINK",
            key_serde=key,
            value_serde=value,
            key_type=key.spark_type,
            value_type=value.spark_type,
            is_windowed=sink.window is not None,
            has_present_rows=sink.lake_is_present,
        )


def _timestamps(sink: DataSource) -> Any:
    return lambda: _SetTimestamp(sink)


class _SetTimestamp(Processor[Any, Any, Any, Any]):
    """Sets the time of records to the value of their TIMESTAMP column."""

    def __init__(self, sink: DataSource) -> None:
        assert sink.timestamp is not None
        self._read = timestamp_reader(sink.timestamp)
        keys = [column.name for column in sink.schema.key]
        values = [column.name for column in sink.schema.value]
        name = sink.timestamp.name
        self._in_key = name in keys
        self._place = keys.index(name) if self._in_key else values.index(name)

    def process(self, record: Record[Any, Any]) -> None:
        side = getattr(record.key, "key", record.key) if self._in_key else record.value
        if side is None:
            self.context.forward(record)
            return
        found = self._read(side[self._place])
        # A record whose TIMESTAMP column has no valid time is dropped, as in a source.
        if found is not None and found >= 0:
            self.context.forward(record.with_timestamp(found))
