"""Penstock: Kafka Streams and ksqlDB for Python, run by Spark.

Importing this package imports neither Spark nor a web framework. What needs Spark or a schema
registry is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from penstock.config import StreamsConfig
from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.faces.global_ktable import GlobalKTable
from penstock.dsl.faces.kgrouped_stream import KGroupedStream
from penstock.dsl.faces.kgrouped_table import KGroupedTable
from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
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
from penstock.processor.context import PunctuationType
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
from penstock.processor.processor import FixedKeyProcessor, Processor, ValueTransformer
from penstock.processor.wrapper import ProcessorWrapper
from penstock.runtime.states import ExceptionResponse, State
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
from penstock.serde.windowed import WindowedSerdes
from penstock.state.stores import Stores
from penstock.testing.driver import TopologyTestDriver
from penstock.topology.topology import Topology

if TYPE_CHECKING:
    from penstock.formats.avro.avro_serde import AvroSerde
    from penstock.formats.json.json_schema_serde import JsonSchemaSerde
    from penstock.formats.protobuf.protobuf_serde import ProtobufSerde
    from penstock.runtime.spark.data_source import register_data_source
    from penstock.runtime.spark.driver.streams import KafkaStreams

__version__ = "0.1.0"

# A library does not print: whoever wants its log sets logging up.
logging.getLogger("penstock").addHandler(logging.NullHandler())

#: What loads when it is first asked for, and where it is.
_LATER = {
    "AvroSerde": "penstock.formats.avro.avro_serde",
    "JsonSchemaSerde": "penstock.formats.json.json_schema_serde",
    "ProtobufSerde": "penstock.formats.protobuf.protobuf_serde",
    "KafkaStreams": "penstock.runtime.spark.driver.streams",
    "register_data_source": "penstock.runtime.spark.data_source",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


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
    "EmitStrategy",
    "ErrorHandlerContext",
    "FAIL",
    "FailOnInvalidTimestamp",
    "FixedKeyProcessor",
    "FixedKeyRecord",
    "GlobalKTable",
    "Grouped",
    "JoinWindows",
    "Joined",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "LogAndContinueExceptionHandler",
    "LogAndContinueProcessingExceptionHandler",
    "LogAndFailExceptionHandler",
    "LogAndFailProcessingExceptionHandler",
    "LogAndSkipOnInvalidTimestamp",
    "Materialized",
    "Named",
    "Printed",
    "Processor",
    "ProcessorWrapper",
    "Produced",
    "PunctuationType",
    "RETRY",
    "Record",
    "RecordMetadata",
    "Repartitioned",
    "Response",
    "Serde",
    "Serdes",
    "SessionWindows",
    "SlidingWindows",
    "Stores",
    "StreamJoined",
    "StreamsBuilder",
    "StreamsConfig",
    "Suppressed",
    "SuspendReason",
    "TableJoined",
    "TaskId",
    "TimeWindows",
    "Topology",
    "TopologyTestDriver",
    "UnlimitedWindows",
    "UsePartitionTimeOnInvalidTimestamp",
    "ValueAndTimestamp",
    "ValueTimestampHeaders",
    "ValueTransformer",
    "VersionedRecord",
    "WallclockTimestampExtractor",
    "Window",
    "Windowed",
    "WindowedSerdes",
    "__version__",
]
