"""One interface for every engine that runs operators, so that one test checks all of them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from penstock import Processor, ProcessorWrapper, Record, Topology
from penstock.testing import Row, TopologyTestDriver


class PerRecord:
    """Takes each record through the whole topology before the next one, as in Java's driver."""

    #: Settings that make this engine's results comparable with those of the others.
    config: ClassVar[Mapping[str, Any]] = {}
    engine: ClassVar[Literal["records", "columns"]] = "records"

    def __init__(self) -> None:
        self._drivers: list[TopologyTestDriver] = []

    def start(self, topology: Topology, config: Mapping[str, Any] | None = None) -> None:
        """Starts a topology; the wall clock begins at 0."""
        settings = {**self.config, **(config or {})}
        self._drivers.append(TopologyTestDriver(topology, settings, engine=self.engine))

    def pipe(self, topic: str, table: str) -> None:
        self.inner.pipe(topic, table)

    def read(self, topic: str) -> list[Row]:
        """Takes what was written since the last time."""
        return self.inner.read(topic)

    def advance(self, duration: str) -> None:
        """Lets wall-clock time pass."""
        self.inner.advance_wall_clock_time(duration)

    def dropped(self) -> dict[str, int]:
        """How many records were dropped, by reason."""
        counts: dict[str, int] = {}
        for (_, reason), count in self.inner.dropped_records.items():
            counts[reason] = counts.get(reason, 0) + count
        return counts

    def store(self, name: str) -> Any:
        return self.inner.get_state_store(name)

    @property
    def inner(self) -> TopologyTestDriver:
        return self._drivers[-1]

    def close(self) -> None:
        for driver in self._drivers:
            driver.close()


class OneBatch(PerRecord):
    """Queues all records of a table before it processes the first, and commits once."""

    # A cache would leave out what one batch makes of the same key.
    config: ClassVar[Mapping[str, Any]] = {"statestore.cache.max.bytes": 0}

    def pipe(self, topic: str, table: str) -> None:
        self.inner.pipe_batch({topic: table})


class PerRecordColumns(PerRecord):
    """Takes each record over columns, where it can, as a batch of its own."""

    engine = "columns"


class OneBatchColumns(OneBatch):
    """Takes all records of a table over columns at once, where it can."""

    engine = "columns"


class _Watched(Processor[Any, Any, Any, Any]):
    """Hands everything on, through a context that is not the node's own."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def init(self, context: Any) -> None:
        self._inner.init(_WatchedContext(context))

    def process(self, record: Record[Any, Any]) -> None:
        self._inner.process(record)

    def close(self) -> None:
        self._inner.close()


class _WatchedContext:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Wrapper(ProcessorWrapper):
    def wrap_processor_supplier(self, processor_name: str, processor_supplier: Any) -> Any:
        return lambda: _Watched(processor_supplier())


class Wrapped(PerRecord):
    """Puts a wrapper around every node, which must change nothing."""

    config: ClassVar[Mapping[str, Any]] = {"processor.wrapper.class": _Wrapper}


Driver = PerRecord
ENGINES: dict[str, type[Driver]] = {
    "per_record": PerRecord, "one_batch": OneBatch, "wrapped": Wrapped,
    "per_record_columns": PerRecordColumns, "one_batch_columns": OneBatchColumns,
}  # fmt: skip
