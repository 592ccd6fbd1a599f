"""``TopologyTestDriver``: runs the kernel in this process, without Kafka, Spark or Java."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import InvalidArgumentError, InvalidStateError
from penstock.kernel.record_queue import RawRecord
from penstock.model.former_names import one_spelling
from penstock.model.metric import Metric, MetricName
from penstock.model.record import Headers, checked_headers
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.model.versioned import ValueAndTimestamp
from penstock.query.parameters import StoreQueryParameters, store_name_of
from penstock.runtime.local.application import LocalApplication
from penstock.runtime.local.column_batches import BatchReport
from penstock.runtime.local.outbox import InputRecord, ProducedRecord
from penstock.runtime.local.partitioned import PartitionedApplication
from penstock.runtime.spark.driver.stores.store_view import StoreView
from penstock.state.header_rows import face
from penstock.state.plain_view import plain_view
from penstock.state.protocols import (
    KeyValueStore,
    SessionStore,
    TimestampedKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)
from penstock.state.spec import StoreHeaders, StoreKind
from penstock.testing import drivers_in_use
from penstock.testing.dropped import DroppedRecord, dropped_record
from penstock.testing.store_answers import store_view
from penstock.testing.text_table import Row, TextTable, to_row
from penstock.testing.topic_serdes import TopicSerdes, read, written
from penstock.testing.topics import TestInputTopic, TestOutputTopic, TestRecord
from penstock.topology.nodes import Sink
from penstock.topology.topology import Topology
from penstock.topology.validate import nearest

_ENGINES = ("records", "columns")


@one_spelling
class TopologyTestDriver:
    """Runs a topology on records that a test pipes in, and returns its output.

    Each record is processed completely, with repartition topics and commit, before ``pipe``
    returns. The serdes of a topic are those that the topology names.

    On Spark, a large batch runs over columns if the result is provably the same.
    ``engine="columns"`` does that with batches of any size. Each record of ``pipe`` is a batch.

    >>> from penstock import StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> builder.stream("in").map_values(str.upper).to("out")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.pipe("in", "hello", "kafka")
    ...     driver.read_values("out")
    ['HELLO', 'KAFKA']

    Args:
        topology: What to run.
        config: Settings as for ``KafkaStreams``; ``application.id`` may be left out.
        initial_wall_clock: The driver's clock at the start: a datetime, or milliseconds.
        on_disk: Keeps persistent stores in RocksDB in a temporary folder, instead of in the same
            ordered form in memory, whose results are the same and which opens at once.
        engine: ``"records"`` takes records one by one, ``"columns"`` over columns where it can;
            ``batches`` says where it did.
        num_partitions: How many partitions topics have, for tests of repartitioning, of
            partitioners or of what tasks do not share; topics that are not named have one. With
            more than one, each partition has a task, stores and a stream time of its own.
    """

    __test__ = False

    def __init__(
        self,
        topology: Topology,
        config: Mapping[str, Any] | None = None,
        initial_wall_clock: datetime | int = 0,
        *,
        on_disk: bool = False,
        engine: Literal["records", "columns"] = "records",
        num_partitions: Mapping[str, int] | None = None,
    ) -> None:
        if engine not in _ENGINES:
            raise InvalidArgumentError(
                "unknown-engine",
                f"there is no engine {engine!r}{nearest(engine, _ENGINES)}",
                fix=f"use one of {', '.join(map(repr, _ENGINES))}",
                at=caller_site(),
            )
        given = dict(config or {})
        given.setdefault(APPLICATION_ID.name, "topology-test-driver")
        now = initial_wall_clock
        now_ms = now if isinstance(now, int) else int(now.timestamp() * 1000)
        self._partitions = dict(num_partitions or {})
        self._config = StreamsConfig(given)
        self._application: LocalApplication | PartitionedApplication
        over_columns = engine == "columns"
        if any(count != 1 for count in self._partitions.values()):
            if over_columns:
                raise InvalidArgumentError(
                    "columns-of-partitions",
                    "topics with several partitions are tested record by record only",
                    fix="leave engine out, or leave num_partitions out",
                    at=caller_site(),
                )
            self._application = PartitionedApplication(
                topology, self._config, now_ms, self._partitions, on_disk=on_disk
            )
        else:
            self._application = LocalApplication(
                topology, self._config, now_ms, on_disk=on_disk, over_columns=over_columns
            )
        self._topology = topology
        self._dropped: list[DroppedRecord] = []
        for task in self._application.all_tasks:
            task.on_dropped = self._note_dropped
        drivers_in_use.enter(self)
        self._serdes = TopicSerdes(self._application.graph, self._application.settings)
        self._dead_letters = self._application.settings.dead_letter_topic
        self._unread: dict[str, deque[ProducedRecord]] = {}
        self._sorted = 0
        self._time_ms: dict[str, int] = {}
        self._is_closed = False

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close processors and stores, and delete the files of the driver.

        Output can still be read; nothing more can be piped in.
        """
        self._is_closed = True
        self._application.close()

    # Input

    def pipe(self, topic: str, *values: Any, key: Any = None) -> None:
        """Pipe values (or ``(key, value)`` tuples, ``TestRecord``s, a text table) in order.

        Records without a timestamp are one millisecond apart, for each topic.
        """
        for value in values:
            for record in self._records(topic, value, key):
                self.pipe_record(topic, record)

    def pipe_batch(self, inputs: Mapping[str, Any]) -> None:
        """Pipe records of one or more topics together, as one batch with one commit.

        All records are queued first. Then the one with the smallest timestamp among the first
        records of all topics is processed next, as on Spark. Caches emit at the end of the batch.
        With ``engine="columns"``, each sub-topology processes all of its records at once.

        Args:
            inputs: For each topic, the values or the text table that ``pipe`` takes.
        """
        records = [
            self._input_record(topic, record)
            for topic, values in inputs.items()
            for value in (values if isinstance(values, list) else [values])
            for record in self._records(topic, value, None)
        ]
        self._open_application().pipe_batch(records)

    def pipe_record(self, topic: str, record: TestRecord) -> None:
        """Pipe one record, encoded with the serdes that the topology reads the topic with."""
        self.pipe_bytes(*self._input_record(topic, record))

    def pipe_bytes(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Pipe a record as raw bytes, for instance one that cannot be decoded."""
        self._check_partition(topic, partition)
        record = InputRecord(topic, key, value, timestamp, checked_headers(headers), partition)
        self._open_application().pipe_batch([record], commit_every=1)

    def pipe_input(
        self,
        topic: str,
        key: Any,
        value: Any,
        timestamp: int | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Pipe one record by topic, key and value."""
        self.pipe_record(topic, TestRecord(key, value, timestamp, headers, partition))

    def create_input_topic(
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        start: datetime | int | None = None,
        auto_advance: Duration | None = None,
    ) -> TestInputTopic:
        """Return an object that pipes records into a topic and has a clock of its own."""
        inferred = self._serdes.of_input(topic, strict=False)
        return TestInputTopic(
            self,
            topic,
            self._serdes.named(key, "key") or inferred[0],
            self._serdes.named(value, "value") or inferred[1],
            self._application.now_ms if start is None else start,
            0 if auto_advance is None else to_ms(auto_advance, "auto advance"),
        )

    def advance_wall_clock_time(self, duration: Duration) -> None:
        """Advance the wall clock, and run the punctuations that are due, each at most once."""
        milliseconds = to_ms(duration)
        if milliseconds < 0:
            raise InvalidArgumentError(
                "bad-duration",
                f"the wall clock cannot go back by {-milliseconds} ms",
                fix="give 0 or more; event time may go back, the wall clock does not",
                at=caller_site(),
            )
        self._open_application().advance(milliseconds)

    # Output

    def read(self, topic: str) -> list[Row]:
        """Take all records of a topic that have not been read yet, as rows."""
        return [to_row(record) for record in self.read_records(topic)]

    def read_records(self, topic: str) -> list[TestRecord]:
        """Take all unread records with key, value, timestamp and headers."""
        serdes = self._serdes.of_output(topic)
        return [self._decode(record, *serdes) for record in self.take_all(topic)]

    def read_values(self, topic: str) -> list[Any]:
        """Take all unread records, and return their values."""
        return [record.value for record in self.read_records(topic)]

    def read_key_values(self, topic: str) -> list[tuple[Any, Any]]:
        """Take all unread records, and return ``(key, value)`` pairs."""
        return [(record.key, record.value) for record in self.read_records(topic)]

    def read_map(self, topic: str) -> dict[Any, Any]:
        """Take all unread records, and return the last value of each key."""
        return dict(self.read_key_values(topic))

    def read_output(self, topic: str) -> TestRecord | None:
        """Take the next unread record of a topic; None if there is none."""
        record = self.take_next(topic)
        return None if record is None else self._decode(record, *self._serdes.of_output(topic))

    def create_output_topic(
        self, topic: str, key: Any = None, value: Any = None
    ) -> TestOutputTopic:
        """Return an object that reads the records of a topic."""
        inferred = self._serdes.of_output(topic, strict=False)
        return TestOutputTopic(
            self,
            topic,
            self._serdes.named(key, "key") or inferred[0],
            self._serdes.named(value, "value") or inferred[1],
        )

    def outputs(self) -> list[ProducedRecord]:
        """Return all records that were sent so far, in order, with those of internal topics."""
        return list(self._application.produced)

    def produced_topic_names(self) -> set[str]:
        return {record.topic for record in self._application.produced}

    def is_internal_topic(self, topic: str) -> bool:
        """Return whether the topic is a repartition or changelog topic of this application."""
        return self._application.is_internal_topic(topic)

    def take_next(self, topic: str) -> ProducedRecord | None:
        """Take the next unread record of a topic as bytes."""
        queue = self._queue(topic)
        return queue.popleft() if queue else None

    def take_all(self, topic: str) -> Iterable[ProducedRecord]:
        queue = self._queue(topic)
        taken = list(queue)
        queue.clear()
        return taken

    def queue_size(self, topic: str) -> int:
        """Return how many records of a topic have not been read yet."""
        return len(self._queue(topic))

    def metrics(self) -> dict[MetricName, Metric]:
        """Return the metrics of the sensors that processors have added.

        Rates are over the driver's wall clock.
        """
        return {
            metric.metric_name: metric
            for task in self._application.all_tasks
            for shown in task.sensors.metrics().values()
            for metric in [shown.tagged({"task-id": str(task.task_id)})]
        }

    # State

    def state_store_names(self) -> list[str]:
        return list(self._application.stores)

    def store(self, name: str | StoreQueryParameters) -> StoreView:
        """Return a store as ``KafkaStreams.store`` returns it: read-only, over all partitions.

        >>> from penstock import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> table = builder.stream("in").group_by_key().count("counts")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.pipe("in", ("a", "x"), ("a", "y"))
        ...     driver.store("counts")["a"]
        2
        """
        found = self._found(store_name_of(name))
        return store_view(self._application.graph, name, found, self._config)

    def get_state_store(self, name: str, partition: int | None = None) -> Any:
        """Return a store by name; an unknown name is an error that lists the stores.

        If there are several tasks, ``partition`` chooses the store of one task.
        """
        return self._of_partition(name, self._found(name), partition)

    def get_all_state_stores(self) -> dict[str, Any]:
        """Return all stores by name; with several partitions each is a dict by partition."""
        return dict(self._application.stores)

    def get_key_value_store(
        self, name: str, partition: int | None = None
    ) -> KeyValueStore[Any, Any]:
        """Return a key-value store. The values of a timestamped store have no timestamps here."""
        kinds = StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE
        found: KeyValueStore[Any, Any] = plain_view(self._store_of(name, partition, *kinds))
        return found

    def get_timestamped_key_value_store(
        self, name: str, partition: int | None = None
    ) -> TimestampedKeyValueStore[Any]:
        """Return a store of ``ValueAndTimestamp``, without headers."""
        store = self._store_of(name, partition, StoreKind.TIMESTAMPED_KEY_VALUE)
        found: TimestampedKeyValueStore[Any] = face(store, StoreHeaders.KEPT)
        return found

    def get_timestamped_key_value_store_with_headers(
        self, name: str, partition: int | None = None
    ) -> Any:
        """Return a store of ``ValueTimestampHeaders``, also for a DSL operator."""
        return self._with_headers(name, partition, StoreKind.TIMESTAMPED_KEY_VALUE)

    def get_window_store(self, name: str, partition: int | None = None) -> WindowStore[Any, Any]:
        """Return a window store. The values of a timestamped store have no timestamps here."""
        kinds = StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW
        found: WindowStore[Any, Any] = plain_view(self._store_of(name, partition, *kinds))
        return found

    def get_timestamped_window_store(
        self, name: str, partition: int | None = None
    ) -> WindowStore[Any, ValueAndTimestamp]:
        """Return a store of ``ValueAndTimestamp``, without headers."""
        store = self._store_of(name, partition, StoreKind.TIMESTAMPED_WINDOW)
        found: WindowStore[Any, ValueAndTimestamp] = face(store, StoreHeaders.KEPT)
        return found

    def get_timestamped_window_store_with_headers(
        self, name: str, partition: int | None = None
    ) -> Any:
        """Return a store of ``ValueTimestampHeaders``, also for a DSL operator."""
        return self._with_headers(name, partition, StoreKind.TIMESTAMPED_WINDOW)

    def get_session_store(self, name: str, partition: int | None = None) -> SessionStore[Any, Any]:
        """Return a session store, without headers."""
        found: SessionStore[Any, Any] = face(
            self._store_of(name, partition, StoreKind.SESSION), StoreHeaders.KEPT
        )
        return found

    def get_session_store_with_headers(self, name: str, partition: int | None = None) -> Any:
        """Return a store of ``AggregationWithHeaders``, also for a DSL operator."""
        return self._with_headers(name, partition, StoreKind.SESSION)

    def get_versioned_key_value_store(
        self, name: str, partition: int | None = None
    ) -> VersionedKeyValueStore[Any, Any]:
        """Return a store of all versions within its history."""
        found: VersionedKeyValueStore[Any, Any] = self._store_of(
            name, partition, StoreKind.VERSIONED_KEY_VALUE
        )
        return found

    @property
    def dropped_records(self) -> Mapping[tuple[str, str], int]:
        """Return how many records were dropped, by node and reason, such as null keys."""
        return self._application.dropped_records

    @property
    def dropped(self) -> list[DroppedRecord]:
        """Return the dropped records themselves, in order: node, line, reason, topic, offset.

        Over columns records are only counted, in ``dropped_records``.

        >>> from penstock import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> table = builder.stream("in").group_by_key().count("counts")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.pipe("in", "without a key")
        ...     print(driver.dropped[0].reason, driver.dropped[0].value)
        null-key-or-value b'without a key'
        """
        return list(self._dropped)

    @property
    def topology(self) -> Topology:
        """Return the topology that the driver runs."""
        return self._topology

    @property
    def application_id(self) -> str:
        return self._application.settings.application_id

    @property
    def batches(self) -> list[BatchReport]:
        """Return how each batch ran with ``engine="columns"``: over columns, or why not.

        >>> from penstock import StreamsBuilder, col
        >>> builder = StreamsBuilder()
        >>> numbers = builder.stream("in", key="string", value="json")
        >>> numbers.filter(col("n") > 1).to("out", key="string", value="json")
        >>> with TopologyTestDriver(builder.build(), engine="columns") as driver:
        ...     driver.pipe_batch({"in": [("a", {"n": 1}), ("b", {"n": 2})]})
        ...     print(*driver.batches)
        sub-topology 0: 2 records over columns
        """
        application = self._application
        return list(application.batches) if isinstance(application, LocalApplication) else []

    # Inside

    def _open_application(self) -> LocalApplication | PartitionedApplication:
        if self._is_closed:
            raise InvalidStateError(
                "closed-driver",
                "the test driver is closed, so its processors and stores are gone",
                fix="pipe inside the with block, or make another TopologyTestDriver",
                at=caller_site(),
            )
        drivers_in_use.enter(self)
        return self._application

    def _note_dropped(self, node: str, reason: str, raw: RawRecord | None) -> None:
        self._dropped.append(dropped_record(self._application.graph.nodes[node], reason, raw))

    def _input_record(self, topic: str, record: TestRecord) -> InputRecord:
        key_serde, value_serde = self._serdes.of_input(topic)
        timestamp = record.timestamp
        if timestamp is None:
            timestamp = self._time_ms.get(topic, self._application.now_ms - 1) + 1
        self._time_ms[topic] = timestamp
        headers = checked_headers(record.headers)
        key = written(key_serde, topic, record.key, headers, "key")
        value = written(value_serde, topic, record.value, headers, "value")
        self._check_partition(topic, record.partition)
        return InputRecord(topic, key, value, timestamp, headers, record.partition)

    def _records(self, topic: str, value: Any, key: Any) -> Iterable[TestRecord]:
        if isinstance(value, TestRecord):
            return (value,)
        if TextTable.is_one(value):
            return TextTable(value).records(*self._serdes.of_input(topic))
        if isinstance(value, tuple) and len(value) in (2, 3):
            return (TestRecord(*value),)
        return (TestRecord(key, value),)

    def _decode(self, record: ProducedRecord, key_serde: Any, value_serde: Any) -> TestRecord:
        return TestRecord(
            read(key_serde, record.topic, record.key, record.headers, "key"),
            read(value_serde, record.topic, record.value, record.headers, "value"),
            record.timestamp,
            record.headers,
            record.partition,
        )

    def _queue(self, topic: str) -> deque[ProducedRecord]:
        produced = self._application.produced
        for record in produced[self._sorted :]:
            self._unread.setdefault(record.topic, deque()).append(record)
        self._sorted = len(produced)
        if topic not in self._unread:
            self._check_output(topic)
        return self._unread.setdefault(topic, deque())

    def _check_output(self, topic: str) -> None:
        """Refuse a topic that the topology does not write: a misspelt name would read as empty."""
        sinks = [n for n in self._application.graph.nodes.values() if isinstance(n, Sink)]
        known = sorted(sink.topic for sink in sinks if sink.topic is not None)
        is_certain = all(sink.topic is not None for sink in sinks)
        internal = self._application.is_internal_topic(topic)
        if is_certain and not internal and topic not in (*known, self._dead_letters):
            raise InvalidArgumentError(
                "unknown-topic",
                f"no sink of the topology writes topic {topic!r}{nearest(topic, known)}",
                fix=f"read one of: {', '.join(known) or 'none, the topology has no sink'}",
                at=caller_site(),
            )

    def _check_partition(self, topic: str, partition: int | None) -> None:
        count = self._partitions.get(topic, 1)
        if partition is not None and not 0 <= partition < count:
            raise InvalidArgumentError(
                "bad-partition",
                f"topic {topic!r} has {count} partition{'s' * (count != 1)}, none has the number"
                f" {partition}",
                fix=f"say how many it has: TopologyTestDriver(…, num_partitions={{{topic!r}:"
                f" {max(partition, 0) + 1}}})",
                at=caller_site(),
            )

    def _found(self, name: str) -> Any:
        """Return a store, or a dict of stores by partition, by name."""
        stores = self._application.stores
        if name not in stores:
            known = ", ".join(map(repr, stores)) or "none"
            raise InvalidArgumentError(
                "unknown-store",
                f"the topology has no state store {name!r}{nearest(name, stores)}",
                fix=f"name the store where it is made; the topology has {known}",
                at=caller_site(),
            )
        return stores[name]

    def _of_partition(self, name: str, store: Any, partition: int | None) -> Any:
        by_partition = store if isinstance(store, dict) else {0: store}
        if partition is None and len(by_partition) == 1:
            (partition,) = by_partition
        if partition in by_partition:
            return by_partition[partition]
        numbers = ", ".join(map(str, by_partition))
        asked = "no partition was given" if partition is None else f"not partition {partition}"
        raise InvalidArgumentError(
            "store-partition",
            f"state store {name!r} has the partitions {numbers}; {asked}",
            fix=f"name one of them: partition={next(iter(by_partition))}",
            at=caller_site(),
        )

    def _with_headers(self, name: str, partition: int | None, kind: StoreKind) -> Any:
        store = self._store_of(name, partition, kind)
        if store.headers is StoreHeaders.NONE:
            raise InvalidArgumentError(
                "store-without-headers",
                f"state store {name!r} does not keep headers",
                fix="make it with a builder of Stores whose name has with_headers, or build the"
                " topology with dsl.store.format=HEADERS",
                at=caller_site(),
            )
        return face(store, StoreHeaders.SHOWN)

    def _store_of(self, name: str, partition: int | None, *kinds: StoreKind) -> Any:
        store = self.get_state_store(name, partition)
        if store.kind not in kinds:
            raise InvalidArgumentError(
                "wrong-store-kind",
                f"state store {name!r} is of the kind {store.kind.value!r}, this getter is for"
                f" {' and '.join(repr(kind.value) for kind in kinds)}",
                fix="use the getter of its kind, or get_state_store(name)",
                at=caller_site(),
            )
        return store
