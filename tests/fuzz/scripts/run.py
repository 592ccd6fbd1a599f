"""Runs a script as Spark would, in memory, and compares what it writes with the model."""

from __future__ import annotations

import json
import struct
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.kernel.record_queue import RawRecord
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.sql import SqlEngine, SqlError
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.queries.local import QUERY_CONFIG
from penstock.topology.graph import Graph
from tests.fuzz.scripts.language import STREAMS, TABLES, Event, Query, Script, Written
from tests.fuzz.scripts.model import expected

ENGINES = {"records": "off", "columns": "strict"}


class RefusedError(Exception):
    """The engine does not take the script, which then says nothing."""


@dataclass(frozen=True)
class Difference:
    """What one engine wrote and the model did not expect, or the other way round."""

    engine: str
    query: str
    text: str


def difference(script: Script) -> Difference | None:
    """Run a script on both engines; return the first difference from the model.

    Raises:
        RefusedError: a statement is not accepted.
    """
    wanted, plans = expected(script), _Plans(script)
    for engine in ENGINES:
        found = _Run(script, plans, engine).outputs()
        for query, mine, model in zip(script.queries, found, wanted, strict=True):
            text = _compared(script, query, mine, model)
            if text:
                return Difference(engine, query.name, text)
    return None


class _Plans:
    """The graphs of a script's queries by id, and those that changes put in place of the last."""

    def __init__(self, script: Script) -> None:
        engine = SqlEngine()
        engine.catalog = _sources(script.sources()).copy()
        try:
            for query in script.queries:
                engine.execute(query.sql())
            self.graphs = {each: engine.topology(each).graph for each in engine.queries}
            self.last = [*self.graphs][-1]
            self.changes: dict[Query, Graph] = {}
            for batch in script.batches:
                if batch.change is not None:
                    engine.execute(batch.change.sql(replaces=True))
                    self.changes[batch.change] = engine.topology(self.last).graph
        except SqlError as error:
            raise RefusedError(str(error)) from error
        self.application_ids = {each: engine.application_id(each) for each in self.graphs}


@cache
def _sources(statements: str) -> Catalog:
    engine = SqlEngine()
    engine.execute(statements)
    return engine.catalog


class _Run:
    """One script on one engine: an application for each query, over topics in memory."""

    def __init__(self, script: Script, plans: _Plans, engine: str) -> None:
        self._script = script
        self._plans = plans
        self._config = {
            **QUERY_CONFIG,
            "statestore.cache.max.bytes": script.cache,
            "penstock.vectorize": ENGINES[engine],
        }
        # Each application has a cluster of its own; what one writes is copied to the next.
        self._clusters: dict[str, MemoryKafka] = {}
        self._clock = 0
        self._applications = {
            query_id: self._application(query_id, graph) for query_id, graph in plans.graphs.items()
        }

    def _application(
        self, query_id: str, graph: Graph, after: StagedApplication | None = None
    ) -> StagedApplication:
        config = {**self._config, "application.id": self._plans.application_ids[query_id]}
        kafka = self._clusters.setdefault(query_id, MemoryKafka(1))
        for topic in (*STREAMS, *TABLES, *(query.name for query in self._script.queries)):
            kafka.create(topic)
        return StagedApplication(graph, config, kafka, after=after)

    def outputs(self) -> list[list[Written]]:
        """Run all batches; return for each query the records of its topic."""
        try:
            for batch in self._script.batches:
                if batch.change is not None:
                    self._change(batch.change)
                elif batch.restarts:
                    for application in self._applications.values():
                        application.restart(lose_state=batch.loses_state)
                for event in batch.events:
                    self._send(event)
                self._run_batch()
        finally:
            for application in self._applications.values():
                application.close()
        logs = [kafka.committed for kafka in self._clusters.values()]
        return [
            self._written(query, log) for query, log in zip(self._script.queries, logs, strict=True)
        ]

    def _run_batch(self) -> None:
        self._clock += 10_000
        (first, *rest), kafkas = self._applications.values(), [*self._clusters.values()]
        before = len(kafkas[0].committed)
        first.run_batch(self._clock)
        for application in rest:
            for record in kafkas[0].committed[before:]:
                if record.topic == self._script.queries[0].name:
                    kafkas[1].append(record.topic, record.key, record.value, record.timestamp)
            application.run_batch(self._clock)

    def _change(self, query: Query) -> None:
        """Replace the last query; a new process takes over its topics."""
        last = self._plans.last
        old = self._applications[last]
        old.close()
        self._applications[last] = self._application(last, self._plans.changes[query], after=old)

    def _send(self, event: Event) -> None:
        key = None if event.key is None else event.key.encode()
        if key is not None and self._script.key_format == "JSON":
            key = json.dumps(event.key).encode()
        value = None if event.value is None else json.dumps(dict(event.value)).encode()
        next(iter(self._clusters.values())).append(event.topic, key, value, event.timestamp)

    def _written(self, query: Query, log: list[RawRecord]) -> list[Written]:
        records = [record for record in log if record.topic == query.name]
        return [
            Written(
                self._key(query, record.key),
                None if record.value is None else json.loads(record.value),
                record.timestamp,
            )
            for record in records
        ]

    def _key(self, query: Query, data: bytes | None) -> Any:
        if data is None:
            return None
        if query.window is None:
            return self._plain(query, data)
        if query.window.kind == "SESSION":
            end, start = struct.unpack(">qq", data[-16:])
            return self._plain(query, data[:-16]), start, end
        start = struct.unpack(">q", data[-8:])[0]
        return self._plain(query, data[:-8]), start, start + query.window.size * 1000

    def _plain(self, query: Query, data: bytes) -> Any:
        if self._script.key_format == "JSON":
            return json.loads(data)
        if query.key_type == "VARCHAR":
            return data.decode()
        return struct.unpack(">i" if query.key_type == "INT" else ">q", data)[0]


# Comparing


def _compared(script: Script, query: Query, mine: list[Written], model: list[Written]) -> str:
    """Return what differs as text, empty if nothing does."""
    first = script.queries[0]
    is_unordered = first.join is not None and first.join.within is not None
    is_foreign = first.join is not None and first.is_table and first.join.left.name != "K"
    if script.cache or is_foreign or (query is not first and query.group_by is not None):
        pairs = _last_rows(mine, query), _last_rows(model, query)
    elif is_unordered:
        pairs = _counted(mine), _counted(model)
    else:
        pairs = _by_key(mine), _by_key(model)
    lines = []
    for key in sorted(pairs[0].keys() | pairs[1].keys(), key=repr):
        ours, theirs = pairs[0].get(key), pairs[1].get(key)
        if ours != theirs:
            lines.append(f"key {key!r}\n  written:  {ours!r}\n  expected: {theirs!r}")
    return "\n".join(lines)


def _by_key(records: list[Written]) -> dict[Any, Any]:
    found: dict[Any, list[Any]] = {}
    for record in records:
        found.setdefault(record.key, []).append((record.value, record.timestamp))
    return found


def _counted(records: list[Written]) -> dict[Any, Any]:
    return {
        key: Counter((repr(_plain(value)), at) for value, at in values)
        for key, values in _by_key(records).items()
    }


def _plain(value: Any) -> Any:
    """The value with 2.0 as 2: whether a number has a point is not compared."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value == int(value) else value


def _last_rows(records: list[Written], query: Query) -> dict[Any, Any]:
    """The table that the records make; of a stream all records, without their times."""
    if not query.is_table:
        return _counted([Written(r.key, r.value) for r in records])
    rows = {record.key: record.value for record in records}
    return {key: value for key, value in rows.items() if value is not None}
