"""Runs cases on real Spark and real Kafka: one session and one broker for all of them.

Topics of a case carry a prefix of their own. Input is written group by group, each after all
queries have nothing left to do, so that records of different topics keep the order of the case.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count, groupby
from typing import Any
from uuid import uuid4

from confluent_kafka import Producer

from penstock import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from penstock.registry.registry import MemoryRegistry
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.spark.driver.session import spark_session
from penstock.sql import SqlEngine
from penstock.sql.queries.spark_queries import SparkQueries
from penstock.testing.sql.script import ScriptTopics
from tests.sqlcases.cases import Case
from tests.sqlcases.functions import functions
from tests.sqlcases.schemas import register_schemas
from tests.sqlcases.topic_reading import UNCOMPACTED, committed_records
from tests.sqlcases.verdict import Verdict, guarded

#: A multiple of the windows' sizes: Kafka's C client writes no time 0.
_SHIFT_MS = 27_720_000_000
_PREFIX_SETTING = "ksql.output.topic.name.prefix"
_TOPIC = re.compile(r"(\bKAFKA_TOPIC\s*=\s*')", re.IGNORECASE)
_PARTITIONS = re.compile(r"(\bPARTITIONS\s*=\s*)\d+", re.IGNORECASE)
_TIMES = re.compile(r"ROWTIME|WINDOWSTART|WINDOWEND|\bTIMESTAMP\s*=|BY_OFFSET", re.IGNORECASE)
_PLACES = re.compile(r"ROWOFFSET|ROWPARTITION|\bPRINT\b|\bASSERT\b", re.IGNORECASE)
_numbers = count(1)
_RUN = uuid4().hex[:6]


def skip_reason(case: Case) -> str | None:
    """Gives why a case cannot be brought to a real broker, None if it can."""
    text = "\n".join(case.statements)
    if case.is_refused:
        return "it is about a refusal"
    if not case.inputs and "INSERT" not in text.upper():
        return "it has no input"
    if _PLACES.search(text) or any("SchemaId" in name for t in case.topics for name in t):
        return "it depends on places of records or on ids of schemas"
    if _PREFIX_SETTING in case.settings:
        return "it sets the prefix of topics itself"
    if _shift_of(case) and re.search(r"\bHOPPING\b", text, re.IGNORECASE):
        return "its windows before time 0 would be windows like others"
    if _shift_of(case) and _TIMES.search(text):
        return "its records are of time 0, and its results depend on the time"
    if any(time < 0 for time in _times(case)):
        return "a record has a negative time"
    return None


def _times(case: Case) -> list[int]:
    return [int(record.get("timestamp") or 0) for record in case.inputs]


def _shift_of(case: Case) -> int:
    inserts = any("INSERT" in statement.upper() for statement in case.statements)
    return _SHIFT_MS if inserts or not all(time > 0 for time in _times(case)) else 0


def sample_of(cases: Sequence[Case], size: int, seed: int = 6) -> list[Case]:
    """Chooses cases that a broker can take, the same ones each time."""
    fit = [case for case in cases if skip_reason(case) is None]
    return random.Random(seed).sample(fit, min(size, len(fit)))


def check_on_spark(cases: Iterable[Case]) -> Iterator[Verdict]:
    """Starts a broker and a session, and gives a verdict per case."""
    settings = {"application.id": "sql-cases", "spark.ui.enabled": "false"}
    with EmbeddedBroker(properties=UNCOMPACTED) as broker, tempfile.TemporaryDirectory() as folder:
        session, _ = spark_session(StreamsConfig(settings))
        try:
            for case in cases:
                run = partial(problems_on_spark, case, broker.bootstrap_servers, folder)
                yield guarded(case, run)
        finally:
            session.stop()


def problems_on_spark(case: Case, servers: str, state_dir: str) -> list[str]:
    """Runs one case and gives what disagrees; a Spark session must be active."""
    name = f"sql-{_RUN}-{next(_numbers)}"
    run = _Run(_prefixed(case, f"{name}__"), name, servers, state_dir)
    try:
        return run.problems()
    finally:
        run.close()


class _Run:
    """One case with topics and applications of its own."""

    def __init__(self, case: Case, name: str, servers: str, state_dir: str) -> None:
        self._case, self._name, self._servers = case, name, servers
        registry = MemoryRegistry()
        register_schemas(case, registry)
        config = {**case.settings, "ksql.service.id": name, _PREFIX_SETTING: f"{name}__"}
        self._engine = SqlEngine(config, functions=functions(), registry=registry)
        self._script = ScriptTopics(self._engine)
        self._admin = Admin({"bootstrap.servers": servers})
        # A broker may refuse the first records of a new topic and take those behind them.
        ordered = {"enable.idempotence": True, "linger.ms": 1}
        self._producer = Producer({"bootstrap.servers": servers, **ordered})
        self._written: dict[str, int] = {}
        self._config = {
            "bootstrap.servers": servers,
            "state.dir": state_dir,
            "commit.interval.ms": 10,
            "statestore.cache.max.bytes": 0,
        }

    def problems(self) -> list[str]:
        for topic in self._case.topics:
            self._engine.catalog.topics[topic["name"]] = 1
        for statement in self._case.statements:
            self._script.execute(statement)
        inserted = [record for records in self._script.records.values() for record in records]
        self._script.records.clear()
        given = [*inserted, *self._script.input_records(self._case.inputs)]
        with self._engine.connect(self._config) as running:
            self._feed(given, running)
        shift = _shift_of(self._case)
        expected = [
            _shifted(record, shift, inserted=bool(inserted)) for record in self._case.outputs
        ]
        sinks = {q.plan.sink.topic for q in self._engine.queries.values() if q.plan.sink}
        for topic in {record["topic"] for record in expected} | (set() if expected else sinks):
            self._script.records[topic] = list(committed_records(self._servers, topic))
        found = self._script.differences(expected)
        return found and self._by_key(expected)

    def _by_key(self, expected: list[dict[str, Any]]) -> list[str]:
        """Compares again without the order between keys, which a shuffle may change."""
        for topic, records in self._script.records.items():
            records.sort(key=_by_bytes)
            wanted = [record for record in expected if record["topic"] == topic]
            keys = self._script.input_records(
                [{**record, "value": None, "headers": None} for record in wanted]
            )
            order = sorted(
                range(len(wanted)), key=lambda i: (keys[i].key is not None, keys[i].key or b"")
            )
            expected = [r for r in expected if r["topic"] != topic] + [wanted[i] for i in order]
        return self._script.differences(expected)

    def _feed(self, given: list[ProducedRecord], running: SparkQueries) -> None:
        shift = _shift_of(self._case)
        for _, group in groupby(given, key=lambda record: record.topic):
            for record in group:
                self._producer.produce(
                    record.topic, record.value, record.key, partition=0,
                    timestamp=record.timestamp + shift, headers=list(record.headers),
                )  # fmt: skip
                self._written[record.topic] = self._written.get(record.topic, 0) + 1
            assert self._producer.flush(30.0) == 0
            assert running.run_until_idle(120.0), "queries are not idle after two minutes"

    def close(self) -> None:
        own = [topic for topic in self._admin.topics() if self._name in topic]
        with suppress(Exception):
            self._admin.delete_topics(own, missing_ok=True)


def _by_bytes(record: ProducedRecord) -> tuple[bool, bytes]:
    return record.key is not None, record.key or b""


def _shifted(record: dict[str, Any], shift: int, *, inserted: bool) -> dict[str, Any]:
    found = dict(record)
    time = found.get("timestamp")
    if time is not None:
        found["timestamp"] = int(time) + shift
        if inserted and int(time) == 0:
            del found["timestamp"]
    window = found.get("window")
    if window is not None:
        bounds = {name: int(window[name]) + shift for name in ("start", "end") if name in window}
        found["window"] = {**window, **bounds}
    return found


def _prefixed(case: Case, prefix: str) -> Case:
    """Gives the case with every topic renamed and one partition for each."""
    shift = _shift_of(case)
    data = {
        **case.data,
        "statements": [
            _PARTITIONS.sub(r"\g<1>1", _TOPIC.sub(rf"\g<1>{prefix}", text))
            for text in case.statements
        ],
        "topics": [{**topic, "name": prefix + topic["name"]} for topic in case.topics],
    }
    for side in ("inputs", "outputs"):
        data[side] = [
            {**record, "topic": prefix + record["topic"]} for record in case.data.get(side) or ()
        ]
    data["inputs"] = [_with_window(record, shift) for record in data["inputs"]]
    return replace(case, data=data)


def _with_window(record: dict[str, Any], shift: int) -> dict[str, Any]:
    window = record.get("window")
    if window is None:
        return record
    bounds = {name: int(window[name]) + shift for name in ("start", "end") if name in window}
    return {**record, "window": {**window, **bounds}}
