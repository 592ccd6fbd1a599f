"""Keeps global stores up to date. It has its own nodes and stores, and no output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.errors import StreamsError
from penstock.kernel.collector import Collector
from penstock.kernel.operators.topics.source import SourceDecoder
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.settings import TaskSettings
from penstock.kernel.stores import TaskStores
from penstock.kernel.task import StreamTask
from penstock.model.record import ConsumerRecord
from penstock.model.task_id import TaskId
from penstock.processor.handlers import LogAndFailProcessingExceptionHandler
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source


def _own_timestamp(record: ConsumerRecord[object, object], partition_time: int) -> int:
    # Global stores take timestamps as they are: no extractor is called.
    if record.timestamp < 0:
        raise StreamsError(
            "invalid-timestamp",
            f"record at topic {record.topic!r} partition {record.partition} offset {record.offset}"
            f" has the negative timestamp {record.timestamp}",
            "write records to topics of global stores with timestamps from 0 on",
        )
    return record.timestamp


class GlobalTask:
    """Applies the records of global topics, one at a time, in the order in which they come."""

    def __init__(
        self,
        graph: Graph,
        *,
        settings: TaskSettings,
        collector: Collector,
        stores: TaskStores,
        wall_clock: Callable[[], int],
    ) -> None:
        nodes = [n for s in graph.global_stores.values() for n in (s.source, s.processor)]
        self.stores = stores
        self._task = StreamTask(
            TaskId(-1, -1), graph, nodes,
            settings=_with_own_handler(settings), collector=collector, stores=stores,
            wall_clock=wall_clock,
        )  # fmt: skip
        for store in graph.global_stores.values():
            source = graph.nodes[store.source]
            assert isinstance(source, Source)
            decode = SourceDecoder(source, self._task, extract=_own_timestamp).decode
            self._task.add_queue(store.topic, store.source, decode)

    def update(self, raw: RawRecord) -> None:
        """Apply one record to the store of its topic."""
        self._task.add_records(raw.topic, [raw])
        self._task.process_all()
        self._task.flush()

    def close(self) -> None:
        self._task.close()


def _with_own_handler(settings: TaskSettings) -> TaskSettings:
    """Return the settings with the handler of global stores: by default, one that fails.

    Kafka Streams asks the configured handler only if a second setting says so. Programs that are
    older than this setting rely on a failure here.
    """
    if settings.on_processing_global:
        return settings
    return replace(settings, on_processing=LogAndFailProcessingExceptionHandler())
