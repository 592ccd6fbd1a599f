"""Runs a SQL script in this process. Topics are lists of records in the order of writing."""

from __future__ import annotations

import base64
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.formats.rows import RowSerde
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.runtime.local.column_batches import BatchReport
from penstock.runtime.local.outbox import ProducedRecord
from penstock.serde.base import Serde
from penstock.sql import SqlEngine
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.queries.local import LocalQuery
from penstock.sql.results import OutgoingRecord
from penstock.testing.sql.compare import difference
from penstock.testing.sql.records import to_bytes

#: A record of a test: ``topic``, ``key``, ``value``, ``timestamp``, ``headers`` and ``window``.
TestData = Mapping[str, Any]


class ScriptTopics:
    """Runs all statements first, then the input through each query in turn."""

    def __init__(self, engine: SqlEngine, *, over_columns: bool = False) -> None:
        self.engine = engine
        self._over_columns = over_columns
        #: How each batch ran, if queries run over columns.
        self.batches: list[BatchReport] = []
        self.records: dict[str, list[ProducedRecord]] = defaultdict(list)
        self._sources: dict[str, DataSource] = {}
        self._inserted: set[str] = set()

    def execute(self, statements: str) -> None:
        """Run statements; rows of INSERT VALUES are written to their topics."""
        self.engine.execute(statements, answers=False)
        self.learn_sources()
        for record in self.engine.outbox:
            self._inserted.add(record.topic)
            self.records[record.topic].append(
                ProducedRecord(record.topic, record.key, record.value, record.timestamp or 0, (), 0)
            )
        self.engine.outbox.clear()

    def learn_sources(self) -> None:
        """Find the stream or table of each topic: the first one with that topic."""
        for source in self.engine.sources.values():
            self._sources.setdefault(source.topic, source)

    def feed(self, inputs: Iterable[TestData]) -> None:
        """Run all input through each query in turn.

        A query first reads the input of the test in its order, then the output of earlier queries.
        """
        written = [self._input(data) for data in inputs]
        for record in written:
            self.records[record.topic].append(record)
        for query in self.engine.local(over_columns=self._over_columns).queries:
            try:
                self.run_query(query, self._read_by(query, written))
                self.batches += query.batches
            finally:
                query.close()

    def _read_by(self, query: LocalQuery, inputs: list[ProducedRecord]) -> list[ProducedRecord]:
        given = {record.topic for record in inputs}
        own = [record for record in inputs if record.topic in query.topics]
        for topic in query.topics:
            if topic not in given:
                own.extend(self.records[topic])
        return own

    def run_query(self, query: LocalQuery, records: list[ProducedRecord]) -> None:
        """Run a query over its topics. Later queries can read its output."""
        for record in records:
            for produced in query.pipe(*record[:5]):
                self.records[produced.topic].append(produced)

    def input_records(self, inputs: Iterable[TestData]) -> list[ProducedRecord]:
        """Return the records of input as bytes, in the formats of their topics."""
        return [self._input(data) for data in inputs]

    def _input(self, record: TestData) -> ProducedRecord:
        topic = record["topic"]
        key, value = self.rows(topic)
        headers = tuple(
            (header["KEY"], _base64(header["VALUE"])) for header in record.get("headers") or ()
        )
        data = to_bytes(key.row, record.get("key"))
        if record.get("window") is not None and data is not None:
            data += _window_bytes(record["window"])
        timestamp = int(record.get("timestamp") or 0)
        return ProducedRecord(
            topic, data, to_bytes(value.row, record.get("value")), timestamp, headers, 0
        )

    def rows(self, topic: str) -> tuple[RowSerde, RowSerde]:
        """Return the serdes of a topic's keys (without windows) and values."""
        source = self._sources.get(topic)
        if source is None:
            raise AnalysisError(
                "unknown-topic",
                f"no stream or table has the topic {topic!r}",
                fix=did_you_mean(topic, self._sources)
                or f"topics are {', '.join(sorted(self._sources)) or 'none'}",
            )
        lowering = self.lowering()
        key: Serde[Any] = lowering.topic_key_serde(source)
        plain_key = getattr(key, "inner", key)
        value = lowering.topic_value_serde(source)
        assert isinstance(plain_key, RowSerde)
        assert isinstance(value, RowSerde)
        return plain_key, value

    def lowering(self) -> Lowering:
        """Return the object that creates serdes for the engine's streams and tables."""
        execution = self.engine._execution(self.engine.catalog)
        return Lowering("test", execution.environment, self.engine.registry)

    def differences(self, outputs: Iterable[TestData]) -> list[str]:
        """Compare topics with their expected records; without expectations, sinks must be empty."""
        expected: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in outputs:
            expected[record["topic"]].append(dict(record))
        if not expected:
            plans = [query.plan for query in self.engine.queries.values()]
            expected.update({plan.sink.topic: [] for plan in plans if plan.sink})
        found = [self._difference(topic, records) for topic, records in expected.items()]
        return [problem for problem in found if problem is not None]

    def _difference(self, topic: str, expected: list[dict[str, Any]]) -> str | None:
        if topic not in self._sources and not self.records[topic]:
            return None if not expected else f"{topic}: nothing was written, no such topic"
        key, value = self.rows(topic)
        return difference(
            self.records[topic],
            expected,
            key.row,
            value.row,
            self._sources[topic],
            ignores_zero_time=bool(self._inserted),
        )


def input_rows(engine: SqlEngine, given: Sequence[TestData]) -> list[OutgoingRecord]:
    """Return records of a file as bytes, in the formats of the engine's streams and tables.

    A record without a timestamp has none here, either: 0 is a valid timestamp.
    """
    topics = ScriptTopics(engine)
    topics.learn_sources()
    times = [None if data.get("timestamp") is None else int(data["timestamp"]) for data in given]
    return [
        OutgoingRecord(each.topic, each.key, each.value, time_ms, each.headers)
        for each, time_ms in zip(topics.input_records(given), times, strict=True)
    ]


def _base64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _window_bytes(window: TestData) -> bytes:
    if str(window.get("type", "")).upper() == "SESSION":
        return struct.pack(">qq", int(window["end"]), int(window["start"]))
    return struct.pack(">q", int(window["start"]))
