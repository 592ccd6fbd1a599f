"""Runs the queries of cases in batches, over columns and record at a time: both must be the same.

What a case expects is not asked here: it is where the queries and records come from.
"""

from __future__ import annotations

import re
from typing import Any

from penstock.errors import PenstockError
from penstock.registry.registry import MemoryRegistry
from penstock.runtime.local.memory_kafka import MemoryKafka, unbundled
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.local.staged import StagedApplication
from penstock.sql import SqlEngine
from penstock.sql.queries.local import QUERY_CONFIG, LocalQuery
from penstock.testing.sql.script import ScriptTopics
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink
from tests.sqlcases.cases import Case
from tests.sqlcases.functions import functions
from tests.sqlcases.schemas import register_schemas
from tests.sqlcases.verdict import Verdict, guarded

#: So that some columns are long enough to hold the same values again and again.
_TIMES_OVER = 20
_CACHES = (0, 10_000_000)
_PARTITIONS = 2
#: In sessions, states of EARLIEST_BY_OFFSET and LATEST_BY_OFFSET are numbered by the clock.
_SEQUENCE = re.compile(rb'"SEQ":[0-9]{16,}')


def check_in_columns(case: Case) -> Verdict:
    """Runs every query of a case both ways."""
    return guarded(case, lambda: _problems(case))


def _problems(case: Case) -> list[str]:
    registry = MemoryRegistry()
    engine = SqlEngine(case.settings, functions=functions(), registry=registry)
    register_schemas(case, registry)
    script = _BothWays(engine)
    try:
        for statement in case.statements:
            script.execute(statement)
        script.feed(case.inputs)
    except PenstockError:
        # Refused statements and records that stop a query have nothing to compare.
        return script.problems
    return script.problems


class _BothWays(ScriptTopics):
    """Takes what a query reads through it twice more, in batches."""

    def __init__(self, engine: SqlEngine) -> None:
        super().__init__(engine)
        self.problems: list[str] = []

    def run_query(self, query: LocalQuery, records: list[ProducedRecord]) -> None:
        super().run_query(query, records)
        graph = self.engine.topology(query.id).graph
        for cache in _CACHES:
            over_columns = _outcome(graph, records * _TIMES_OVER, cache, "strict")
            by_record = _outcome(graph, records * _TIMES_OVER, cache, "off")
            if over_columns != by_record:
                self.problems.append(
                    f"{query.id} with a cache of {cache}:\n{_difference(over_columns, by_record)}"
                )


def _outcome(graph: Graph, records: list[ProducedRecord], cache: int, vectorize: str) -> Any:
    """What is written, by topic and key, or the kind of error that stops the query."""
    kafka = MemoryKafka(_PARTITIONS)
    for topic in _topics(graph) | {record.topic for record in records}:
        kafka.create(topic)
    settings = {
        **QUERY_CONFIG, "application.id": "app", "statestore.cache.max.bytes": cache,
        "penstock.vectorize": vectorize,
    }  # fmt: skip
    application = StagedApplication(graph, settings, kafka)
    try:
        for record in records:
            kafka.append(record.topic, record.key, record.value, record.timestamp, record.headers)
        before = len(kafka.committed)
        application.run_batch(1)
        application.run_batch(2)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must have it
        return type(error).__name__
    finally:
        application.close()
    written: dict[Any, list[Any]] = {}
    for record in (row for each in kafka.committed[before:] for row in unbundled(each)):
        if "penstock-batches" not in record.topic:
            place = record.topic, record.partition, record.key
            value = record.value and _SEQUENCE.sub(b'"SEQ":0', record.value)
            written.setdefault(place, []).append((value, record.timestamp, record.headers))
    return written


def _topics(graph: Graph) -> set[str]:
    sinks = {n.topic for n in graph.nodes.values() if isinstance(n, Sink) and n.topic is not None}
    sources = {t for n in graph.nodes.values() for t in getattr(n, "topics", ())}
    return {topic for topic in sinks | sources if topic not in graph.internal_topics}


def _difference(over_columns: Any, by_record: Any) -> str:
    if isinstance(over_columns, str) or isinstance(by_record, str):
        return f"{over_columns!r:.300} over columns, {by_record!r:.300} record at a time"
    places = over_columns.keys() | by_record.keys()
    for place in sorted(places, key=repr):
        mine, own = over_columns.get(place, []), by_record.get(place, [])
        if mine != own:
            return f"{place}: {mine!r:.300} over columns, {own!r:.300} record at a time"
    return "nothing"
