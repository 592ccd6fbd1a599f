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
        Consumed Produced Grouped Joined StreamJoined TableJoined Repartitioned
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
        ValueTransformer ProcessorWrapper PunctuationType Record FixedKeyRecord
        ConsumerRecord RecordMetadata TaskId FailOnInvalidTimestamp
        LogAndSkipOnInvalidTimestamp UsePartitionTimeOnInvalidTimestamp
        WallclockTimestampExtractor
        """,
    ),
    "stores": (
        "State stores",
        "Builders of stores, what processors may do with a store, and values that stores hold.",
        """
        Stores KeyValueStore TimestampedKeyValueStore WindowStore SessionStore
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
        "An application on Spark, its settings, its state and its listeners.",
        """
        KafkaStreams StreamsConfig State StateRestoreListener StandbyUpdateListener
        SuspendReason register_data_source
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
        BatchReport MockProcessorContext streams keys batches in_processing_order Event
        """,
    ),
    "sql": (
        "SQL from Python",
        "The engine, and functions of your own.",
        """
        SqlEngine udf udtf udaf UserFunction SqlError ParseError AnalysisError
        SqlTypeError FunctionError
        """,
    ),
    "errors": (
        "Errors",
        "Every error has a code; [Error codes](../errors.md) lists them.",
        """
        PenstockError TopologyError StreamsError ConfigError SerializationError
        UnavailableError InvalidArgumentError NullArgumentError InvalidStateError
        UnsupportedOperationError StoreError UnknownStoreError MissingExtraError
        """,
    ),
}


def public_names() -> dict[str, str]:
    """Return every public name with the module that promises it first."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name in getattr(importlib.import_module(module), "__all__", ()):
            found.setdefault(name, module)
    found.pop("__version__", None)
    return found


def without_a_page() -> list[str]:
    """Return public names that stand on no page."""
    placed = {name for _, _, names in AREAS.values() for name in names.split()}
    return sorted(public_names().keys() - placed)


def render() -> dict[str, str]:
    """Return the pages by the names of their files."""
    homes = public_names()
    pages = {"index.md": _index(homes)}
    for area, (title, about, names) in AREAS.items():
        body = "\n\n".join(f"::: {homes[name]}.{name}" for name in names.split() if name in homes)
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
        links = " ".join(f"[`{name}`]({area}.md#{homes[name]}.{name})" for name in here)
        lines.append(f"| [{title}]({area}.md) | {links} |")
    modules = sorted(set(homes.values()))
    lines.append(f"\nThey are imported from {', '.join(f'`{module}`' for module in modules)}.")
    return "\n".join(lines) + "\n"
