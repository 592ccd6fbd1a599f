"""Penstock: Kafka Streams and ksqlDB for Python, run by Spark.

Importing this package loads next to nothing: each name loads its module when it is first asked for.
Every command and every Spark worker imports the package, and few need all of it.
"""

from __future__ import annotations

import importlib
import logging
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.config import StreamsConfig
    from penstock.dsl.faces.builder import StreamsBuilder
    from penstock.dsl.faces.global_ktable import GlobalKTable
    from penstock.dsl.faces.kgrouped_stream import KGroupedStream
    from penstock.dsl.faces.kgrouped_table import KGroupedTable
    from penstock.dsl.faces.kstream import KStream
    from penstock.dsl.faces.ktable import KTable
    from penstock.dsl.options.deduplicated import Deduplicated
    from penstock.dsl.options.emit_strategy import EmitStrategy
    from penstock.dsl.options.join_options import Joined, StreamJoined, TableJoined
    from penstock.dsl.options.materialized import Materialized
    from penstock.dsl.options.naming import Named
    from penstock.dsl.options.offset_reset import AutoOffsetReset
    from penstock.dsl.options.store_type import StoreType
    from penstock.dsl.options.stream_options import (
        Branched,
        Consumed,
        Grouped,
        Printed,
        Produced,
        Repartitioned,
    )
    from penstock.dsl.options.suppressed import BufferConfig, Suppressed
    from penstock.expr.aggregates import avg, collect, count, first, last, max_, min_, sum_
    from penstock.expr.expression import (
        Expression,
        col,
        key,
        left,
        lit,
        right,
        struct,
        value,
        when,
    )
    from penstock.formats.avro.avro_serde import AvroSerde
    from penstock.formats.json.json_schema_serde import JsonSchemaSerde
    from penstock.formats.protobuf.protobuf_serde import ProtobufSerde
    from penstock.frames.topics import TopicRecords, read
    from penstock.model.metric import Metric, MetricName
    from penstock.model.record import ConsumerRecord, FixedKeyRecord, Record, RecordMetadata
    from penstock.model.task_id import TaskId
    from penstock.model.versioned import (
        AggregationWithHeaders,
        ValueAndTimestamp,
        ValueTimestampHeaders,
        VersionedRecord,
    )
    from penstock.model.windows.definitions import (
        JoinWindows,
        SessionWindows,
        SlidingWindows,
        TimeWindows,
        UnlimitedWindows,
    )
    from penstock.model.windows.windowed import Window, Windowed
    from penstock.processor.context import (
        FixedKeyProcessorContext,
        ProcessorContext,
        PunctuationType,
    )
    from penstock.processor.functions import (
        FailOnInvalidTimestamp,
        LogAndSkipOnInvalidTimestamp,
        UsePartitionTimeOnInvalidTimestamp,
        WallclockTimestampExtractor,
    )
    from penstock.processor.handlers import (
        CONTINUE,
        FAIL,
        RETRY,
        DeadLetter,
        ErrorHandlerContext,
        LogAndContinueExceptionHandler,
        LogAndContinueProcessingExceptionHandler,
        LogAndFailExceptionHandler,
        LogAndFailProcessingExceptionHandler,
        Response,
    )
    from penstock.processor.listeners import (
        StandbyUpdateListener,
        StateRestoreListener,
        SuspendReason,
    )
    from penstock.processor.metrics import (
        MetricsReporter,
        RecordingLevel,
        Sensor,
        StreamsMetrics,
    )
    from penstock.processor.processor import FixedKeyProcessor, Processor, ValueTransformer
    from penstock.processor.wrapper import ProcessorWrapper
    from penstock.runtime.spark.data_source import register_data_source
    from penstock.runtime.spark.driver.streams import KafkaStreams
    from penstock.runtime.spark.history.batch import run_batch
    from penstock.runtime.spark.history.inputs import BatchInput
    from penstock.runtime.spark.history.result import BatchResult
    from penstock.runtime.states import ExceptionResponse, State
    from penstock.serde.base import Serde
    from penstock.serde.serdes import Serdes
    from penstock.serde.windowed import WindowedSerdes
    from penstock.state.protocols import (
        KeyValueStore,
        SessionStore,
        TimestampedKeyValueStore,
        VersionedKeyValueStore,
        WindowStore,
    )
    from penstock.state.spec import StoreSpec
    from penstock.state.stores import Stores
    from penstock.testing.driver import TopologyTestDriver
    from penstock.topology.topology import Topology

__version__ = "0.1.0"

# A library does not print: whoever wants its log sets logging up.
logging.getLogger("penstock").addHandler(logging.NullHandler())

#: Where each public name is defined; whoever asks for it loads that module.
_HOMES: dict[str, tuple[str, ...]] = {
    "penstock.config": ("StreamsConfig",),
    "penstock.dsl.faces.builder": ("StreamsBuilder",),
    "penstock.dsl.faces.global_ktable": ("GlobalKTable",),
    "penstock.dsl.faces.kgrouped_stream": ("KGroupedStream",),
    "penstock.dsl.faces.kgrouped_table": ("KGroupedTable",),
    "penstock.dsl.faces.kstream": ("KStream",),
    "penstock.dsl.faces.ktable": ("KTable",),
    "penstock.dsl.options.deduplicated": ("Deduplicated",),
    "penstock.dsl.options.emit_strategy": ("EmitStrategy",),
    "penstock.dsl.options.join_options": (
        "Joined",
        "StreamJoined",
        "TableJoined",
    ),
    "penstock.dsl.options.materialized": ("Materialized",),
    "penstock.dsl.options.naming": ("Named",),
    "penstock.dsl.options.offset_reset": ("AutoOffsetReset",),
    "penstock.dsl.options.store_type": ("StoreType",),
    "penstock.dsl.options.stream_options": (
        "Branched",
        "Consumed",
        "Grouped",
        "Printed",
        "Produced",
        "Repartitioned",
    ),
    "penstock.dsl.options.suppressed": (
        "BufferConfig",
        "Suppressed",
    ),
    "penstock.expr.aggregates": (
        "avg",
        "collect",
        "count",
        "first",
        "last",
        "max_",
        "min_",
        "sum_",
    ),
    "penstock.expr.expression": (
        "Expression",
        "col",
        "key",
        "left",
        "lit",
        "right",
        "struct",
        "value",
        "when",
    ),
    "penstock.frames.topics": (
        "TopicRecords",
        "read",
    ),
    "penstock.model.metric": (
        "Metric",
        "MetricName",
    ),
    "penstock.model.record": (
        "ConsumerRecord",
        "FixedKeyRecord",
        "Record",
        "RecordMetadata",
    ),
    "penstock.model.task_id": ("TaskId",),
    "penstock.model.versioned": (
        "AggregationWithHeaders",
        "ValueAndTimestamp",
        "ValueTimestampHeaders",
        "VersionedRecord",
    ),
    "penstock.model.windows.definitions": (
        "JoinWindows",
        "SessionWindows",
        "SlidingWindows",
        "TimeWindows",
        "UnlimitedWindows",
    ),
    "penstock.model.windows.windowed": (
        "Window",
        "Windowed",
    ),
    "penstock.processor.context": (
        "FixedKeyProcessorContext",
        "ProcessorContext",
        "PunctuationType",
    ),
    "penstock.processor.functions": (
        "FailOnInvalidTimestamp",
        "LogAndSkipOnInvalidTimestamp",
        "UsePartitionTimeOnInvalidTimestamp",
        "WallclockTimestampExtractor",
    ),
    "penstock.processor.handlers": (
        "CONTINUE",
        "FAIL",
        "RETRY",
        "DeadLetter",
        "ErrorHandlerContext",
        "LogAndContinueExceptionHandler",
        "LogAndContinueProcessingExceptionHandler",
        "LogAndFailExceptionHandler",
        "LogAndFailProcessingExceptionHandler",
        "Response",
    ),
    "penstock.processor.listeners": (
        "StandbyUpdateListener",
        "StateRestoreListener",
        "SuspendReason",
    ),
    "penstock.processor.metrics": (
        "MetricsReporter",
        "RecordingLevel",
        "Sensor",
        "StreamsMetrics",
    ),
    "penstock.processor.processor": (
        "FixedKeyProcessor",
        "Processor",
        "ValueTransformer",
    ),
    "penstock.processor.wrapper": ("ProcessorWrapper",),
    "penstock.runtime.states": (
        "ExceptionResponse",
        "State",
    ),
    "penstock.serde.base": ("Serde",),
    "penstock.serde.serdes": ("Serdes",),
    "penstock.serde.windowed": ("WindowedSerdes",),
    "penstock.state.protocols": (
        "KeyValueStore",
        "SessionStore",
        "TimestampedKeyValueStore",
        "VersionedKeyValueStore",
        "WindowStore",
    ),
    "penstock.state.spec": ("StoreSpec",),
    "penstock.state.stores": ("Stores",),
    "penstock.testing.driver": ("TopologyTestDriver",),
    "penstock.topology.topology": ("Topology",),
    "penstock.formats.avro.avro_serde": ("AvroSerde",),
    "penstock.formats.json.json_schema_serde": ("JsonSchemaSerde",),
    "penstock.formats.protobuf.protobuf_serde": ("ProtobufSerde",),
    "penstock.runtime.spark.data_source": ("register_data_source",),
    "penstock.runtime.spark.driver.streams": ("KafkaStreams",),
    "penstock.runtime.spark.history.batch": ("run_batch",),
    "penstock.runtime.spark.history.inputs": ("BatchInput",),
    "penstock.runtime.spark.history.result": ("BatchResult",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    found = getattr(_imported(_MODULE_OF[name], name), name)
    globals()[name] = found
    return found


def _imported(module: str, name: str) -> ModuleType:
    if not module.startswith("penstock.runtime.spark."):
        return importlib.import_module(module)
    with importlib.import_module("penstock.extras").needing("spark", name):
        return importlib.import_module(module)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "value",
    "struct",
    "lit",
    "key",
    "left",
    "right",
    "when",
    "col",
    "Expression",
    "sum_",
    "min_",
    "max_",
    "last",
    "first",
    "count",
    "collect",
    "avg",
    "register_data_source",
    "run_batch",
    "BatchInput",
    "BatchResult",
    "read",
    "TopicRecords",
    "KafkaStreams",
    "StandbyUpdateListener",
    "State",
    "StateRestoreListener",
    "ExceptionResponse",
    "StoreType",
    "AggregationWithHeaders",
    "AvroSerde",
    "JsonSchemaSerde",
    "ProtobufSerde",
    "AutoOffsetReset",
    "Branched",
    "BufferConfig",
    "CONTINUE",
    "Consumed",
    "ConsumerRecord",
    "DeadLetter",
    "Deduplicated",
    "EmitStrategy",
    "ErrorHandlerContext",
    "FAIL",
    "FailOnInvalidTimestamp",
    "FixedKeyProcessor",
    "FixedKeyProcessorContext",
    "FixedKeyRecord",
    "GlobalKTable",
    "Grouped",
    "JoinWindows",
    "Joined",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KeyValueStore",
    "LogAndContinueExceptionHandler",
    "LogAndContinueProcessingExceptionHandler",
    "LogAndFailExceptionHandler",
    "LogAndFailProcessingExceptionHandler",
    "LogAndSkipOnInvalidTimestamp",
    "Materialized",
    "Metric",
    "MetricName",
    "MetricsReporter",
    "Named",
    "Printed",
    "Processor",
    "ProcessorWrapper",
    "ProcessorContext",
    "Produced",
    "PunctuationType",
    "RETRY",
    "Record",
    "RecordingLevel",
    "RecordMetadata",
    "Repartitioned",
    "Response",
    "Sensor",
    "Serde",
    "Serdes",
    "SessionStore",
    "SessionWindows",
    "SlidingWindows",
    "StoreSpec",
    "Stores",
    "StreamJoined",
    "StreamsBuilder",
    "StreamsConfig",
    "StreamsMetrics",
    "Suppressed",
    "SuspendReason",
    "TableJoined",
    "TaskId",
    "TimeWindows",
    "TimestampedKeyValueStore",
    "Topology",
    "TopologyTestDriver",
    "UnlimitedWindows",
    "UsePartitionTimeOnInvalidTimestamp",
    "ValueAndTimestamp",
    "ValueTimestampHeaders",
    "ValueTransformer",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "WallclockTimestampExtractor",
    "Window",
    "WindowStore",
    "Windowed",
    "WindowedSerdes",
    "__version__",
]
