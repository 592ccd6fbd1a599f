"""Runs one case through the public engine: statements, input, then output and catalog."""

from __future__ import annotations

import base64
import struct
import traceback
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.local.outbox import ProducedRecord
from penstock.serde.base import Serde
from penstock.sql import SqlEngine
from penstock.sql.catalog import DataSource
from penstock.sql.formats.registry import MemoryRegistry
from penstock.sql.local import LocalQuery
from penstock.sql.planner.lowering.context import Lowering
from tests.sqlcases.cases import Case
from tests.sqlcases.compare import difference
from tests.sqlcases.functions import functions
from tests.sqlcases.post import post_differences
from tests.sqlcases.records import to_bytes
from tests.sqlcases.schemas import register_schemas

SERVICE_ID = "some.ksql.service.id"
_PARTITIONS = 4


@dataclass(slots=True)
class Verdict:
    """What a case gave: nothing to say means that it agrees."""

    file: str
    name: str
    problems: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return not self.problems


def check(case: Case) -> Verdict:
    """Runs a case; whatever goes wrong is a problem of the verdict, never an exception."""
    verdict = Verdict(case.file, case.name)
    try:
        verdict.problems.extend(_Run(case).problems())
    # The runner must go on with the other cases, whatever one of them does.
    except Exception as error:  # noqa: BLE001
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        kind = "refused" if isinstance(error, PenstockError) else f"internal {type(error).__name__}"
        verdict.problems.append(f"{kind}: {str(error)[:400]} ({where})")
    return verdict


class _Run:
    """One case on its engine. Topics are lists of records, in the order they were written."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._registry = MemoryRegistry()
        config = {"ksql.service.id": SERVICE_ID, **case.settings}
        self._engine = SqlEngine(config, functions=functions(), registry=self._registry)
        self._engine.catalog.default_partitions = _PARTITIONS
        self._sources: dict[str, DataSource] = {}
        self._topics: dict[str, list[ProducedRecord]] = defaultdict(list)
        self._inserted: set[str] = set()

    def problems(self) -> list[str]:
        self._prepare_topics()
        if self._case.is_refused:
            return self._refusal()
        for statement in self._case.statements:
            self._execute(statement)
        self._feed()
        return [*self._outputs(), *post_differences(self._case, self._engine)]

    def _refusal(self) -> list[str]:
        try:
            for statement in self._case.statements:
                self._execute(statement)
            # Some are refused by what a record does, not by a statement.
            self._feed()
        except PenstockError as error:
            return [] if error.message else ["refused without a message"]
        return ["the statements are accepted, but must be refused"]

    def _prepare_topics(self) -> None:
        for topic in self._case.topics:
            partitions = topic.get("partitions")
            if partitions is not None or "replicas" in topic:
                self._engine.catalog.topics[topic["name"]] = int(partitions or _PARTITIONS)
        register_schemas(self._case, self._registry)

    def _execute(self, statement: str) -> None:
        self._engine.execute(statement)
        for source in self._engine.sources.values():
            self._sources.setdefault(source.topic, source)
        for record in self._engine.outbox:
            self._inserted.add(record.topic)
            self._topics[record.topic].append(
                ProducedRecord(record.topic, record.key, record.value, record.timestamp or 0, (), 0)
            )
        self._engine.outbox.clear()

    # Input

    def _feed(self) -> None:
        """Takes all input through each query in turn, as the cases were made.

        A query reads its input topics in the order of the case, then what earlier queries wrote.
        """
        given = {record["topic"] for record in self._case.inputs}
        inputs = [self._input(record) for record in self._case.inputs]
        for record in inputs:
            self._topics[record.topic].append(record)
        for query in self._engine.local().queries:
            try:
                self._run_query(query, inputs, given)
            finally:
                query.close()

    def _run_query(self, query: LocalQuery, inputs: list[ProducedRecord], given: set[str]) -> None:
        own = [record for record in inputs if record.topic in query.topics]
        for topic in query.topics:
            if topic not in given:
                own.extend(self._topics[topic])
        for record in own:
            for produced in query.pipe(*record[:5]):
                self._topics[produced.topic].append(produced)

    def _input(self, record: dict[str, Any]) -> ProducedRecord:
        topic = record["topic"]
        key, value = self._rows(topic)
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

    def _rows(self, topic: str) -> tuple[Any, Any]:
        source = self._sources.get(topic)
        if source is None:
            raise LookupError(f"no stream or table reads topic {topic!r}")
        lowering = self._lowering()
        key: Serde[Any] = lowering.topic_key_serde(source)
        return getattr(key, "inner", key), lowering.topic_value_serde(source)

    def _lowering(self) -> Lowering:
        execution = self._engine._execution(self._engine.catalog)
        return Lowering("case", execution.environment, self._registry)

    # Output

    def _outputs(self) -> list[str]:
        expected: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for record in self._case.outputs:
            expected[record["topic"]].append(record)
        if not expected:
            sinks = {q.plan.sink.topic for q in self._engine.queries.values() if q.plan.sink}
            expected = defaultdict(list, {topic: [] for topic in sinks})
        problems = []
        for topic, records in expected.items():
            problem = self._difference(topic, records)
            if problem is not None:
                problems.append(problem)
        return problems

    def _difference(self, topic: str, expected: list[dict[str, Any]]) -> str | None:
        if topic not in self._sources and not self._topics[topic]:
            return None if not expected else f"{topic}: nothing was written, no such topic"
        key, value = self._rows(topic)
        source = self._sources[topic]
        return difference(
            self._topics[topic],
            expected,
            key.row,
            value.row,
            source,
            ignores_zero_time=bool(self._inserted),
        )


def _base64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _window_bytes(window: dict[str, Any]) -> bytes:
    if str(window.get("type", "")).upper() == "SESSION":
        return struct.pack(">qq", int(window["end"]), int(window["start"]))
    return struct.pack(">q", int(window["start"]))
