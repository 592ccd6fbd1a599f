"""Runs cases through a real server: statements and queries go over HTTP, rows come from Kafka.

One server with one broker and one Spark session serves all cases. Topics of a case carry a prefix
of their own, and everything that a case created is dropped after it.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

import httpx
from confluent_kafka import Producer

from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.clients import sendable_time
from penstock.kafka.embedded import EmbeddedBroker
from penstock.registry.registry import MemoryRegistry
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.spark.driver.observing.idle import is_idle
from penstock.server.composition import new_server
from penstock.server.sql_server import SqlServer
from penstock.testing.sql.records import load
from penstock.testing.sql.script import ScriptTopics
from tests.sqlcases.answer_rows import mismatches, row_mismatches
from tests.sqlcases.cases import Case
from tests.sqlcases.functions import functions
from tests.sqlcases.protobuf_answers import readable_rows
from tests.sqlcases.schemas import register_schemas
from tests.sqlcases.topic_reading import UNCOMPACTED, committed_records
from tests.sqlcases.verdict import Verdict, guarded

_TOPIC = re.compile(r"(\bKAFKA_TOPIC\s*=\s*')([^']*)'", re.IGNORECASE)
_PREFIX = "ksql.output.topic.name.prefix"
_JSON = {"accept": "application/vnd.ksql.v1+json"}
_PROTOBUF = {"accept": "application/vnd.ksql.v1+protobuf"}
_IDLE_S = 300.0
_ANSWER_S = 180.0
#: An error of a statement is an error, too: in ksqlDB its class is a subclass of the other.
_STATEMENT_ERROR = "KsqlStatementErrorMessage"
#: Statements whose result depends on how many partitions there are.
_PLACES = re.compile(r"\bROW(PARTITION|OFFSET)\b", re.IGNORECASE)
#: How many partitions a topic has in ksqlDB's own check if nothing is said.
_KSQLDB_PARTITIONS = 4
_numbers = count(1)
#: How many seconds all cases together have spent in each part of their runs.
_SPENT: defaultdict[str, float] = defaultdict(float)


@contextmanager
def _spent(what: str) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        _SPENT[what] += time.monotonic() - began


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


@dataclass(slots=True)
class RestServer:
    """A server with all that a case needs of it."""

    server: SqlServer
    servers: str
    admin: Admin
    producer: Producer
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        alone = httpx.Limits(max_keepalive_connections=0)
        self.client = httpx.Client(base_url=self.server.url, timeout=_ANSWER_S, limits=alone)

    def ksql(self, sql: str, properties: dict[str, Any]) -> list[dict[str, Any]]:
        body = {"ksql": sql, "streamsProperties": properties}
        return list(_answer(self.client.post("/ksql", json=body, headers=_JSON)))

    def query(self, sql: str, properties: dict[str, Any], headers: dict[str, str]) -> list[Any]:
        body = {"ksql": sql, "streamsProperties": properties}
        return list(_answer(self.client.post("/query", json=body, headers=headers)))

    def query_stream(
        self, sql: str, properties: dict[str, Any], headers: dict[str, str]
    ) -> list[Any]:
        body = {"sql": sql, "properties": properties}
        return list(_answer(self.client.post("/query-stream", json=body, headers=headers)))


def _answer(response: httpx.Response) -> Any:
    data = load(response.content) if response.content else []
    if response.status_code != 200:
        raise RefusedError(response.status_code, data)
    return data


@contextmanager
def rest_server(servers: str) -> Iterator[RestServer]:
    """Start a server on a broker."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "bootstrap.servers": servers,
            "state.dir": folder,
            "ksql.service.id": f"rest_cases_{uuid4().hex[:6]}_",
            "penstock.server.listen": "127.0.0.1:0",
            "auto.offset.reset": "earliest",
            "commit.interval.ms": "10",
            "statestore.cache.max.bytes": "0",
            "spark.ui.enabled": "false",
        }
        # A broker may refuse the first records of a new topic and take those behind them.
        ordered = {"enable.idempotence": True, "linger.ms": 1}
        producer = Producer(
            {"bootstrap.servers": servers, "partitioner": "murmur2_random", **ordered}
        )
        with new_server(settings, functions=functions(), registry=MemoryRegistry()) as server:
            yield RestServer(server, servers, Admin({"bootstrap.servers": servers}), producer)


def check_over_rest(cases: Iterable[Case]) -> Iterator[Verdict]:
    """Start a broker and a server, and give a verdict per case."""
    with (
        EmbeddedBroker(properties=UNCOMPACTED) as broker,
        rest_server(broker.bootstrap_servers) as rest,
    ):
        for case in cases:
            yield guarded(case, partial(problems_over_rest, case, rest))
        most = sorted(_SPENT.items(), key=lambda part: -part[1])
        parts = ", ".join(f"{name} {spent:.0f}" for name, spent in most)
        print(f"seconds: {parts}", flush=True)


def problems_over_rest(case: Case, rest: RestServer) -> list[str]:
    """Run one case on a server, and return what disagrees."""
    return _Run(case, rest).problems()


class _Run:
    """One case on the server."""

    def __init__(self, case: Case, rest: RestServer) -> None:
        self._prefix = f"c{next(_numbers)}_"
        self._case, self._rest = case, rest
        self._statements = [
            _TOPIC.sub(rf"\g<1>{self._prefix}\g<2>'", text) for text in case.statements
        ]
        self._properties: dict[str, Any] = {**case.settings, _PREFIX: self._prefix}
        first = [i for i, text in enumerate(self._statements) if text.startswith("SELECT ")]
        cut = first[0] if first else len(self._statements)
        self._admin, self._queries = self._statements[:cut], self._statements[cut:]
        self._script: ScriptTopics | None = None

    def problems(self) -> list[str]:
        engine = self._rest.server.node.engine
        engine.registry = MemoryRegistry()
        register_schemas(self._prefixed_case(), engine.registry)
        try:
            with _spent("making topics"):
                self._make_topics()
            return self._outcome()
        finally:
            with _spent("cleaning up"):
                self._clean_up()

    def _outcome(self) -> list[str]:
        try:
            answers = self._answers()
        except RefusedError as refused:
            return self._refusal(refused)
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            return [f"no answer: {error!r}"]
        if self._case.is_refused:
            return ["the statements are accepted, but must be refused"]
        return [*self._response_problems(answers), *self._output_problems()]

    def _answers(self) -> list[dict[str, Any]]:
        with _spent("statements"):
            entities = self._rest.ksql("\n".join(self._admin), self._properties)
        self._script = ScriptTopics(self._rest.server.node.engine)
        self._script.learn_sources()
        answers = [{"admin": entity} for entity in entities]
        conditions = self._case.data.get("inputConditions") or {}
        if conditions.get("waitForActivePushQuery"):
            return [*answers, {"query": self._rows_while_feeding(self._queries[0])}]
        self._feed()
        self._wait_idle()
        with _spent("answers"):
            return [*answers, *self._answers_to_queries()]

    def _answers_to_queries(self) -> Iterator[dict[str, Any]]:
        for sql in self._queries:
            yield {"query": self._rest.query(sql, self._properties, _JSON)}
        if self._case.data.get("testPullWithProtoFormat"):
            for sql in self._queries:
                rows = self._rest.query_stream(sql, self._properties, _PROTOBUF)
                yield {"queryProto": rows}

    def _rows_while_feeding(self, sql: str) -> list[Any]:
        """Read a push query that begins at the end: rows are fed when its header has come."""
        self._wait_idle()
        body = {"ksql": sql, "streamsProperties": self._properties}
        text = ""
        with self._rest.client.stream("POST", "/query", json=body, headers=_JSON) as response:
            if response.status_code != 200:
                response.read()
                _answer(response)
            feeding: threading.Thread | None = None
            for part in response.iter_text():
                text += part
                if feeding is None and '"header"' in text:
                    feeding = threading.Thread(target=self._feed)
                    feeding.start()
            if feeding is not None:
                feeding.join()
        return list(load(text))

    # Records

    def _feed(self) -> None:
        assert self._script is not None
        inputs = [{**data, "topic": self._prefix + data["topic"]} for data in self._case.inputs]
        for record in self._script.input_records(inputs):
            self._rest.producer.produce(
                record.topic, record.value, record.key,
                timestamp=sendable_time(record.timestamp), headers=list(record.headers),
            )  # fmt: skip
        assert self._rest.producer.flush(30.0) == 0

    def _wait_idle(self) -> None:
        """Wait until all queries run and have read everything, twice in a row."""
        with _spent("waiting for queries"):
            self._wait_until_idle()

    def _wait_until_idle(self) -> None:
        node = self._rest.server.node
        deadline = time.monotonic() + _IDLE_S
        idle = 0
        while idle < 2:
            assert time.monotonic() < deadline, f"queries are not idle: {node.own_statuses()}"
            found = [node.running(query_id) for query_id in node.engine.queries]
            is_idle = all(each is not None and _is_idle(each) for each in found)
            idle = idle + 1 if is_idle and self._is_committed() else 0
            time.sleep(0.05)

    def _is_committed(self) -> bool:
        """Tell whether readers see all that was written: markers come after the commit."""
        catalog, admin = self._rest.server.node.engine.catalog, self._rest.admin
        sinks = {query.plan.sink.topic for query in catalog.queries.values() if query.plan.sink}
        known = admin.topics()
        places = [
            (name, part.id) for name in sinks & known.keys() for part in known[name].partitions
        ]
        return admin.end_offsets(places) == admin.end_offsets(places, committed=True)

    def _output_problems(self) -> list[str]:
        assert self._script is not None
        if not self._case.outputs:
            return []
        expected = [{**data, "topic": self._prefix + data["topic"]} for data in self._case.outputs]
        for topic in {data["topic"] for data in expected}:
            found: list[ProducedRecord] = list(committed_records(self._rest.servers, topic))
            self._script.records[topic] = found
        return self._script.differences(expected)

    # Comparing

    def _refusal(self, refused: RefusedError) -> list[str]:
        expected = self._case.data.get("expectedError")
        if expected is None:
            return [f"refused: {refused}"]
        wanted = expected.get("status")
        problems = []
        if wanted is not None and int(wanted) != refused.status:
            problems.append(f"status {refused.status}, and not {wanted}: {refused.body}")
        found = refused.body.get("@type") if isinstance(refused.body, dict) else None
        if str(expected.get("type", "")).endswith(_STATEMENT_ERROR) and found != "statement_error":
            problems.append(f"the error is a {found}, and not one of a statement: {refused.body}")
        return problems

    def _response_problems(self, answers: list[dict[str, Any]]) -> list[str]:
        expected = self._case.data.get("responses") or []
        in_order = bool((self._case.data.get("outputConditions") or {}).get("verifyOrder"))
        if len(answers) < len(expected):
            return [f"{len(answers)} answers, and not {len(expected)}: {answers}"]
        found = []
        for number, (wanted, answer) in enumerate(zip(expected, answers, strict=False)):
            (kind,) = wanted
            if kind not in answer:
                found.append(f"answer {number} is no {kind}: {answer}")
            elif kind == "admin":
                found += mismatches(answer[kind], wanted[kind], f"{number}.admin")
            elif kind == "queryProto":
                schema = wanted[kind][0]["header"]["protoSchema"]
                rows = [readable_rows(parts[kind], schema) for parts in (answer, wanted)]
                place = f"{number}.queryProto"
                found += row_mismatches(rows[0], rows[1], place, in_order=in_order)
            else:
                place = f"{number}.{kind}"
                found += row_mismatches(answer[kind], wanted[kind], place, in_order=in_order)
        return found

    # Around a case

    def _prefixed_case(self) -> Case:
        topics = [{**each, "name": self._prefix + each["name"]} for each in self._case.topics]
        data = {**self._case.data, "statements": self._statements, "topics": topics}
        return Case(self._case.file, self._case.name, data)

    def _make_topics(self) -> None:
        wanted = {self._prefix + each["name"]: each.get("partitions") for each in self._case.topics}
        for text in self._admin:
            for _, name in _TOPIC.findall(text):
                given = re.search(r"PARTITIONS\s*=\s*(\d+)", text, re.IGNORECASE)
                wanted.setdefault(name, None if given is None else given[1])
        for data in self._case.inputs:
            wanted.setdefault(self._prefix + data["topic"], None)
        # One partition is quicker, and the same wherever the number does not show.
        shows_places = any(_PLACES.search(text) for text in self._statements)
        otherwise = _KSQLDB_PARTITIONS if shows_places else 1
        for name, partitions in wanted.items():
            self._rest.admin.create_topic(name, partitions=int(partitions or otherwise))

    def _clean_up(self) -> None:
        engine = self._rest.server.node.engine
        if engine.queries:
            self._rest.ksql("TERMINATE ALL;", {})
        while engine.sources:
            before = len(engine.sources)
            for source in reversed(engine.sources.values()):
                try:
                    self._rest.ksql(f"DROP {source.kind} `{source.name}`;", {})
                except RefusedError:
                    continue
            if len(engine.sources) == before:
                raise AssertionError(f"{list(engine.sources)} cannot be dropped")
        for name in list(engine.catalog.types):
            self._rest.ksql(f"DROP TYPE `{name}`;", {})
        own = [name for name in self._rest.admin.topics() if name.startswith(self._prefix)]
        with suppress(PenstockError):
            self._rest.admin.delete_topics(own, missing_ok=True)


def _is_idle(application: Any) -> bool:
    is_up = application.state.is_running_or_rebalancing
    return bool(is_up and is_idle(application._run, is_paused=application.is_paused))
