"""The reference pages of the Python API: every public name on one page, by area."""

from __future__ import annotations

import importlib

from tests.docs.pages import DOCS

FOLDER = DOCS / "reference" / "api"
MODULES = (
    "penstock",
    "penstock.errors",
    "penstock.sql",
    "penstock.testing",
    "penstock.testing.strategies",
    "penstock.client",
    "penstock.query",
    "penstock.java",
)

#: Name of the page, its title, what it is about, and its names.
AREAS: dict[str, tuple[str, str, str]] = {
    "building": (
        "Building a program",
        "Streams, tables and the graph they form.",
        "StreamsBuilder KStream KTable GlobalKTable KGroupedStream KGroupedTable Topology",
    ),
    "options": (
        "Options of operators",
        "Names, serdes and stores of operators. Most operators also take them as keywords.",
        """
        Consumed Produced Grouped Joined StreamJoined TableJoined Repartitioned Deduplicated
        Materialized Named Branched Printed AutoOffsetReset StoreType
        """,
    ),
    "windows": (
        "Windows and emission",
        "Windows of time, and when their results are told.",
        """
        TimeWindows SlidingWindows SessionWindows UnlimitedWindows JoinWindows Window
        Windowed Suppressed BufferConfig EmitStrategy
        """,
    ),
    "expressions": (
        "Expressions and aggregates",
        "Descriptions of calculations. They run over columns, functions do not.",
        """
        Expression col key value left right lit when struct count sum_ min_ max_ avg
        first last collect
        """,
    ),
    "processors": (
        "Processors and records",
        "What you implement with the Processor API, and what it is given.",
        """
        Processor FixedKeyProcessor ProcessorContext FixedKeyProcessorContext
        ValueTransformer ProcessorWrapper PunctuationType StreamsMetrics Sensor
        RecordingLevel Record FixedKeyRecord
        ConsumerRecord RecordMetadata TaskId FailOnInvalidTimestamp
        LogAndSkipOnInvalidTimestamp UsePartitionTimeOnInvalidTimestamp
        WallclockTimestampExtractor
        """,
    ),
    "stores": (
        "State stores",
        "Builders of stores, what processors may do with a store, and values that stores hold.",
        """
        Stores StoreSpec KeyValueStore TimestampedKeyValueStore WindowStore SessionStore
        VersionedKeyValueStore ValueAndTimestamp ValueTimestampHeaders AggregationWithHeaders
        VersionedRecord
        """,
    ),
    "serdes": (
        "Serdes",
        "Keys and values as bytes.",
        "Serde Serdes WindowedSerdes AvroSerde ProtobufSerde JsonSchemaSerde",
    ),
    "running": (
        "Running and asking",
        "An application on Spark, its settings, its state and its listeners; topics as tables.",
        """
        KafkaStreams StreamsConfig Metric MetricName MetricsReporter State
        StateRestoreListener StandbyUpdateListener
        SuspendReason register_data_source read TopicRecords
        """,
    ),
    "history": (
        "History",
        "A topology over DataFrames: [how to use it](../../how-to/history.md).",
        "run_batch BatchInput BatchResult",
    ),
    "queries": (
        "Questions to stores",
        "What `KafkaStreams.query` takes and returns: [how to use it](../../how-to/read-state.md).",
        """
        StateQueryRequest Query KeyQuery TimestampedKeyQuery RangeQuery TimestampedRangeQuery
        WindowKeyQuery WindowRangeQuery VersionedKeyQuery MultiVersionedKeyQuery ResultOrder
        Position PositionBound StateQueryResult query.QueryResult FailureReason
        StoreQueryParameters QueryableStoreTypes QueryableStoreType
        """,
    ),
    "handlers": (
        "Handlers of errors",
        "What happens to records that fail, and to applications that fail.",
        """
        CONTINUE FAIL RETRY Response DeadLetter ErrorHandlerContext ExceptionResponse
        LogAndContinueExceptionHandler LogAndFailExceptionHandler
        LogAndContinueProcessingExceptionHandler LogAndFailProcessingExceptionHandler
        """,
    ),
    "testing": (
        "Testing",
        "Run a program in your own process, record by record or in batches.",
        """
        TopologyTestDriver TestInputTopic TestOutputTopic TestRecord Row rows
        DroppedRecord BatchReport MockProcessorContext streams keys batches in_processing_order
        Event
        """,
    ),
    "java": (
        "Java's spellings",
        "For programs that are ported: [what there is](../../coming-from/java-spellings.md).",
        (
            "java.AutoOffsetReset java.EmitStrategy java.Serdes java.Stores java.StreamsConfig"
            " java.TimeWindows java.SessionWindows java.JoinWindows branch through"
            " DeserializationException SerdeException TaskMigratedException"
        ),
    ),
    "sql": (
        "SQL from Python",
        "The engine, and functions of your own.",
        """
        SqlEngine udf udtf udaf UserFunction SqlError ParseError AnalysisError
        SqlTypeError FunctionError
        """,
    ),
    "client": (
        "The client of an SQL server",
        "Statements, queries and inserts over HTTP: [how to use it](../client.md).",
        """
        Client AsyncClient RowStream AsyncRowStream QueryResult client.Row Column StatementResult
        InsertAck ServerInfo StreamInfo TableInfo TopicInfo QueryInfo SourceDescription FieldInfo
        FunctionInfo ConnectorInfo ConnectorDescription ClientError RequestRefusedError
        ServerUnreachableError InsertError
        """,
    ),
    "errors": (
        "Errors",
        "Every error has a code; [Error codes](../errors.md) lists them.",
        """
        PenstockError TopologyError StreamsError ConfigError SerializationError DeserializationError
        TaskMigratedError UnavailableError InvalidArgumentError NullArgumentError InvalidStateError
        UnsupportedOperationError StoreError UnknownStoreError MissingExtraError
        """,
    ),
}


def public_names() -> dict[str, str]:
    """Return every public name with its full path.

    A class that two modules list has the path of the first. Another class of the same name stands
    under the name of its module, such as ``client.Row``.
    """
    found: dict[str, str] = {}
    for path in MODULES:
        module = importlib.import_module(path)
        for name in set(module.__all__) - {"__version__"}:
            if name not in found:
                found[name] = f"{path}.{name}"
            elif getattr(module, name) is not _at(found[name]):
                found[f"{path.rpartition('.')[2]}.{name}"] = f"{path}.{name}"
    return found


def _at(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def without_a_page() -> list[str]:
    """Return public names that stand on no page."""
    placed = {name for _, _, names in AREAS.values() for name in names.split()}
    return sorted(public_names().keys() - placed)


def render() -> dict[str, str]:
    """Return the pages by the names of their files."""
    homes = public_names()
    pages = {"index.md": _index(homes)}
    for area, (title, about, names) in AREAS.items():
        body = "\n\n".join(f"::: {homes[name]}" for name in names.split() if name in homes)
        pages[f"{area}.md"] = f"# {title}\n\n{about}\n\n{body}\n"
    return pages


def _index(homes: dict[str, str]) -> str:
    lines = [
        "# Python API\n",
        "Every public name, by area. What is not listed is internal and may change at any time.\n",
        "| Page | Names |",
        "|---|---|",
    ]
    for area, (title, _, names) in AREAS.items():
        here = [name for name in names.split() if name in homes]
        links = " ".join(f"[`{name}`]({area}.md#{homes[name]})" for name in here)
        lines.append(f"| [{title}]({area}.md) | {links} |")
    lines.append(f"\nThey are imported from {', '.join(f'`{module}`' for module in MODULES)}.")
    return "\n".join(lines) + "\n"
