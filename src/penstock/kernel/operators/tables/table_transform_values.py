"""Transforms rows with state. Node: ``topology.nodes.tables.table_transform_values``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import NullArgumentError, UnknownStoreError
from penstock.kernel.context import NodeContext
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.tables.table_store import materialized
from penstock.kernel.record_contexts import in_context
from penstock.model.change import Change
from penstock.model.record import Headers, RecordContext
from penstock.model.versioned import ValueAndTimestamp
from penstock.processor.processor import ValueTransformer
from penstock.topology.nodes.node import Node
from penstock.topology.nodes.tables.table_transform_values import TableTransformValues

if TYPE_CHECKING:
    from penstock.kernel.services import TaskServices


@executes(TableTransformValues)
class TableTransformValuesExecutor(Executor[TableTransformValues]):
    """Transforms every value, tombstones included.

    If the result is not stored, the old value is transformed again whenever a later node needs it.
    So a transformer with state may be called more often than there are records.
    """

    def init(self) -> None:
        self._transformer = _transformer(self.node, NodeContext(self))
        self._transform = self._transformer.transform
        self._table = materialized(self)
        self._sends_old = self.node.sends_old

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers) -> None:
        table = self._table
        new, old = self._transform(key, value.new), None
        if table is None:
            if self._sends_old:
                old = self._transform(key, value.old)
            self.forward(key, Change(new, old, value.is_latest), timestamp, headers)
        else:
            if self._sends_old:
                old = table.value(key)
            table.update(key, new, old, timestamp, headers)

    def close(self) -> None:
        self._transformer.close()


class TransformedRow:
    """Transforms rows for a reader of a table that is not stored, with its own transformer.

    The transformer gets the row's timestamp. Topic, offset and headers of the row are not known. As
    in Kafka Streams, it cannot use its stores, because reading a row must not change it.
    """

    def __init__(self, node: TableTransformValues, task: TaskServices, reader: Node) -> None:
        unconnected = [store for store in node.stores if store not in reader.stores]
        if unconnected:
            raise UnknownStoreError(
                "transformed-table-not-stored",
                f"node {reader.name!r} looks rows up in {node.name!r}, whose transformer uses state"
                f" store {unconnected[0]!r}",
                fix="keep the result: transform_values(…, materialized='a-name')",
                at=node.site,
            )
        self._context = task.context
        self._transformer = _transformer(node, NodeContext(Executor(reader, task)))

    def __call__(self, key: Any, row: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        value, timestamp = (None, -1) if row is None else row
        with in_context(self._context, RecordContext(timestamp, -1, -1, None)):
            transformed = self._transformer.transform(key, value)
        return None if transformed is None else ValueAndTimestamp(transformed, timestamp)

    def close(self) -> None:
        self._transformer.close()


def _transformer(node: TableTransformValues, context: Any) -> ValueTransformer:
    transformer: ValueTransformer | None = node.supplier()
    if transformer is None:
        raise NullArgumentError(
            "missing-transformer",
            f"the transformer supplier of node {node.name!r} returned None",
            fix="return a new ValueTransformer each time it is called",
            at=node.site,
        )
    transformer.context = context
    transformer.init(context)
    return transformer
