"""The endpoints over real HTTP: ksqlDB's JSON, codes, media types, and who may do what.

Exercises ``server.application``, ``rest.replies``, ``rest.statement_routes``, ``rest.info_routes``,
``security.guard``, ``server.metrics`` and ``serving.http_server``.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock[server]")

import httpx

import penstock
from penstock.errors import StreamsError
from penstock.server.application import serve
from penstock.server.node import ServerNode
from penstock.server.security.guard import SqlGuard
from penstock.serving.credentials import Credentials
from penstock.serving.options import Limits, ServerOptions
from penstock.sql import execution
from penstock.sql.planner.query import Planner
from penstock.sql.syntax import parser
from tests.unit.server.memory import MemoryTopic, new_node
from tests.unit.server.test_node import STREAM, wait_until

V1 = "application/vnd.ksql.v1+json"


class Served:
    def __init__(self, options: ServerOptions, *, is_headless: bool = False) -> None:
        self.topic = MemoryTopic()
        self.node: ServerNode = new_node(self.topic)[0].start()
        self.server = serve(self.node, options, is_headless=is_headless).start()
        self.client = httpx.Client(base_url=self.server.url, timeout=20.0)

    def ksql(self, sql: str, **more: Any) -> httpx.Response:
        return self.client.post("/ksql", json={"ksql": sql, **more})

    def close(self) -> None:
        self.client.close()
        self.server.stop()
        self.node.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served(ServerOptions(limits=Limits(request_bytes=20_000)))
    made.ksql(STREAM).raise_for_status()
    yield made
    made.close()


def test_a_fault_in_front_of_the_routes_is_answered_and_logged(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise the connection would end without an answer, and without a line in the log."""

    async def fail(*call: Any) -> None:
        raise KeyError("roles")

    monkeypatch.setattr(SqlGuard, "__call__", fail)
    answer = served.client.get("/info")
    assert (answer.status_code, answer.json()["error_code"]) == (500, 50000)
    assert "KeyError: 'roles'" in caplog.text


def test_a_query_is_parsed_and_planned_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of the request, the command and the node that runs it share what was found."""
    calls: list[str] = []

    def count(module: Any, name: str) -> None:
        work = getattr(module, name)

        def counted(*given: Any, **named: Any) -> Any:
            calls.append(name)
            return work(*given, **named)

        monkeypatch.setattr(module, name, counted)

    # Behind the command before stands a marker, and the number of the next one is behind that.
    wait_until(lambda: served.node.runner.next_number == served.topic.end)
    count(parser, "_parse")
    count(Planner, "create_as")
    count(execution, "topology_of")
    answer = served.ksql("CREATE TABLE once AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;")
    assert answer.json()[0]["commandStatus"]["status"] == "SUCCESS"
    assert calls == ["_parse", "create_as", "topology_of"]
    served.ksql("DROP TABLE once;").raise_for_status()


def test_statements_are_run(served: Served) -> None:
    """The answer is a list of entities, with the sequence number of each command."""
    answer = served.ksql("CREATE STREAM a AS SELECT * FROM s; SHOW STREAMS;")
    assert answer.status_code == 200
    status, listed = answer.json()
    assert status["commandStatus"]["status"] == "SUCCESS"
    assert [stream["name"] for stream in listed["streams"]] == ["A", "S"]
    again = served.ksql("DROP STREAM a;", commandSequenceNumber=status["commandSequenceNumber"])
    assert again.json()[0]["commandId"] == "stream/A/drop"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (V1, V1),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        (f"text/html, {V1};q=0.5", V1),
        (f"application/json; q=0.5, {V1}; q=0.9", V1),
        (f"{V1};q=0, */*;q=0.1", "application/json"),
        (f"{V1}; q=strange, application/json", V1),
    ],
)
def test_media_type_is_the_accepted_one(served: Served, accept: str, wanted: str) -> None:
    """Clients of ksqlDB ask for the versioned type, people for plain JSON."""
    answer = served.client.get("/info", headers={"accept": accept})
    assert answer.headers["content-type"] == wanted


def test_media_type_that_nobody_has_is_refused(served: Served) -> None:
    """406 says that the answer would be in no form that the caller understands."""
    assert served.client.get("/info", headers={"accept": "text/html"}).status_code == 406


def test_statements_that_wait_hold_up_no_other(served: Served) -> None:
    """More ASSERTs than the server has threads wait for something that does not come."""
    asserting = "ASSERT TOPIC never TIMEOUT 20 SECONDS;"

    async def test() -> None:
        async with httpx.AsyncClient(base_url=served.server.url, timeout=60.0) as client:
            waiting = [
                asyncio.ensure_future(client.post("/ksql", json={"ksql": asserting}))
                for _ in range(40)
            ]
            await asyncio.sleep(1.0)
            listed = await client.post("/ksql", json={"ksql": "SHOW STREAMS;"}, timeout=5.0)
            assert listed.status_code == 200
            assert not any(each.done() for each in waiting)
            for each in waiting:
                each.cancel()

    asyncio.run(test())


def test_statement_behind_one_that_waits_is_run(served: Served) -> None:
    """A script goes on when what it waits for is there, or ends when the time is over."""
    sql = "ASSERT NOT EXISTS TOPIC later TIMEOUT 1 SECOND; ASSERT TOPIC s; SHOW STREAMS;"
    kinds = [each["@type"] for each in served.ksql(sql).json()]
    assert kinds == ["assert_topic", "assert_topic", "streams"]
    refused = served.ksql("ASSERT TOPIC later TIMEOUT 200 MILLISECONDS;")
    assert (refused.status_code, refused.json()["error_code"]) == (417, 41700)
    assert "after 200 ms" in refused.json()["message"]


def test_info_names_version_and_service(served: Served) -> None:
    """ksqlDB's clients read this first."""
    assert served.client.get("/info").json() == {
        "KsqlServerInfo": {
            "version": penstock.__version__,
            "kafkaClusterId": "",
            "ksqlServiceId": "default_",
            "serverStatus": "RUNNING",
        }
    }
    root = served.client.get("/")
    assert (root.status_code, root.headers["location"]) == (307, "/info")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"ksql": "SELECT * FROM s EMIT CHANGES;"}, 40002),
        ({"ksql": "CREATE NONSENSE;"}, 40001),
        ({"ksql": "DROP STREAM nope;"}, 40001),
        ({"ksql": ""}, 40000),
        ({"ksql": 1}, 40000),
        ({}, 40000),
        ({"ksql": "SHOW STREAMS;", "streamsProperties": 1}, 40000),
        ({"ksql": "SHOW STREAMS;", "streamsProperties": {"ksql.nope": 1}}, 40000),
        ({"ksql": "SHOW STREAMS;", "commandSequenceNumber": "x"}, 40000),
    ],
)
def test_bad_requests_have_ksqldbs_codes(served: Served, body: Any, code: int) -> None:
    """The code tells clients what is wrong; errors of statements have the statement."""
    answer = served.client.post("/ksql", json=body)
    assert answer.status_code == 400
    error = answer.json()
    assert error["error_code"] == code
    assert error["@type"] == ("generic_error" if code == 40000 else "statement_error")
    assert ("statementText" in error) == (code != 40000)


@pytest.mark.parametrize("content", [b"", b"rubbish", b"[]", b"\xff\xfe"])
def test_body_that_is_no_object_is_refused(served: Served, content: bytes) -> None:
    assert served.client.post("/ksql", content=content).status_code == 400


def test_unknown_path_and_method_are_refused(served: Served) -> None:
    """Errors that the framework finds have ksqlDB's form, too."""
    missing = served.client.get("/nope")
    assert (missing.status_code, missing.json()["error_code"]) == (404, 40400)
    wrong = served.client.get("/ksql")
    assert (wrong.status_code, wrong.json()["error_code"]) == (405, 40500)


def test_status_of_commands_can_be_asked(served: Served) -> None:
    """By the id of the answer, with and without backticks."""
    assert served.client.get("/status/stream/S/create").json() == {
        "status": "SUCCESS", "message": "Stream created", "queryId": None,
    }  # fmt: skip
    assert served.client.get("/status/stream/`S`/create").status_code == 200
    assert served.client.get("/status/stream/nope/create").status_code == 404
    every = served.client.get("/status").json()["commandStatuses"]
    assert every["stream/`S`/create"] == "SUCCESS"


def test_properties_can_be_checked(served: Served) -> None:
    """The CLI asks before SET."""
    assert served.client.get("/is_valid_property/auto.offset.reset").json() is True
    assert served.client.get("/is_valid_property/nope.nope").status_code == 400
    assert served.client.get("/is_valid_property/ksql.functions.python.enabled").status_code == 400


def test_health_is_that_of_the_node(served: Served) -> None:
    """Load balancers ask, and other servers."""
    health = served.client.get("/healthcheck").json()
    assert health["isHealthy"] is True
    assert health["details"]["commandRunner"] == {"isHealthy": True}
    for path in ("/chc/live", "/chc/ready"):
        assert served.client.get(path).status_code == 200


def test_cluster_status_lists_hosts(served: Served) -> None:
    """This node, and those that were heard of."""
    beat = {"hostInfo": "other:8088", "timestamp": 1}
    assert served.client.post("/heartbeat", json=beat).json() == {"isOk": True}
    assert served.client.post("/lag", json={}).json() == {"isOk": True}
    status = served.client.get("/clusterStatus").json()["clusterStatus"]
    assert set(status) == {"localhost:8088", "other:8088"}
    assert status["other:8088"]["hostAlive"] is True


def test_metadata_names_clusters(served: Served) -> None:
    found = served.client.get("/v1/metadata").json()
    assert found["version"] == penstock.__version__
    assert found["clusterId"]["scope"]["clusters"]["ksql-cluster"] == "default_"
    assert served.client.get("/v1/metadata/id").json() == found["clusterId"]


def test_metrics_are_prometheus(served: Served) -> None:
    """Counts of queries by state, and the state of the command topic."""
    answer = served.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.text
    assert "num_persistent_queries" in text
    assert 'value="RUNNING"' in text


def test_large_requests_are_refused(served: Served) -> None:
    """Also those that do not say how large they are."""
    body = b'{"ksql": "' + b"x" * 30_000 + b'"}'
    assert served.client.post("/ksql", content=body).status_code == 413

    def parts() -> Iterator[bytes]:
        yield body[:10_000]
        yield body[10_000:]

    answer = served.client.post("/ksql", content=parts())
    assert (answer.status_code, answer.json()["error_code"]) == (413, 41300)
    assert served.client.get(f"/status/{'x' * 30_000}").status_code in (414, 431)


def test_foreign_pages_are_refused(served: Served) -> None:
    """A page in somebody's browser must not run statements on this machine's server."""
    foreign = {"origin": "http://evil.example"}
    answer = served.client.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers=foreign)
    assert answer.status_code == 403
    assert served.client.get("/info", headers={"host": "evil.example"}).status_code == 403


def test_late_command_is_told(served: Served) -> None:
    """A client that waits for a command of the future gets ksqlDB's code, after a while."""
    served.node.options = _impatient(served.node)
    answer = served.ksql("SHOW STREAMS;", commandSequenceNumber=10_000)
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50301)


def _impatient(node: ServerNode) -> Any:
    from dataclasses import replace  # noqa: PLC0415

    return replace(node.options, catch_up_s=0.05)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Served]:
    credentials = Credentials.of(
        full_tokens=("full",), write_tokens=("write",), read_users=(("ann", "word"),)
    )
    made = Served(ServerOptions(credentials=credentials))
    yield made
    made.close()


def test_credentials_decide(guarded: Served) -> None:
    """Bearer tokens and basic users have roles; without any there is no answer."""
    basic = {"authorization": "Basic " + b64encode(b"ann:word").decode()}
    write, full = ({"authorization": f"Bearer {name}"} for name in ("write", "full"))
    ask, drop = {"ksql": "SHOW STREAMS;"}, {"ksql": "DROP STREAM s DELETE TOPIC;"}
    anonymous = guarded.client.post("/ksql", json=ask)
    assert (anonymous.status_code, anonymous.json()["error_code"]) == (401, 40100)
    assert "Basic" in anonymous.headers["www-authenticate"]
    assert guarded.client.get("/info").status_code == 401
    assert guarded.client.get("/chc/live").status_code == 200
    assert guarded.client.post("/ksql", json=ask, headers=basic).status_code == 200
    assert guarded.client.post("/ksql", json={"ksql": STREAM}, headers=basic).status_code == 403
    assert guarded.client.post("/ksql", json={"ksql": STREAM}, headers=write).status_code == 200
    assert guarded.client.post("/ksql", json=drop, headers=write).status_code == 403
    assert guarded.client.post("/ksql", json=drop, headers=full).status_code == 200
    refused = guarded.client.post("/ksql/terminate", json={}, headers=write)
    assert refused.status_code == 403


def test_headless_server_takes_no_statements() -> None:
    """Only questions about the server itself have an answer."""
    made = Served(ServerOptions(), is_headless=True)
    try:
        assert made.ksql("SHOW STREAMS;").status_code == 404
        assert made.client.post("/query", json={"ksql": "SELECT 1;"}).status_code == 404
        assert made.client.get("/healthcheck").status_code == 200
        assert made.client.get("/metrics").status_code == 200
    finally:
        made.close()


def test_degraded_server_says_so() -> None:
    """The health check fails, statements get 503, questions are answered."""
    made = Served(ServerOptions())
    try:
        made.ksql(STREAM).raise_for_status()
        with made.topic.lock:
            made.topic.append(None, b"rubbish")
        wait_until(lambda: made.node.server_status == "DEGRADED")
        assert made.client.get("/healthcheck").status_code == 503
        assert made.client.get("/chc/ready").status_code == 503
        assert made.client.get("/info").json()["KsqlServerInfo"]["serverStatus"] == "DEGRADED"
        answer = made.ksql("DROP STREAM s;")
        assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)
        assert "restore-commands" in answer.json()["message"]
        assert made.ksql("SHOW STREAMS;").status_code == 200
    finally:
        made.close()


def test_kafka_that_is_away_is_not_the_fault_of_the_caller(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status is one that clients try again."""

    def away() -> int:
        raise StreamsError("broker-unreachable", "no broker answers")

    monkeypatch.setattr(served.node.runner._commands, "become_writer", away)
    answer = served.ksql("CREATE STREAM away AS SELECT * FROM s;")
    assert (answer.status_code, answer.json()["error_code"]) == (500, 50000)
    assert "no broker answers" in answer.json()["message"]


def test_terminated_cluster_takes_nothing_more() -> None:
    """All queries end, and later requests are told why."""
    made = Served(ServerOptions())
    try:
        made.ksql(STREAM + "CREATE STREAM a AS SELECT * FROM s;").raise_for_status()
        bad = made.client.post("/ksql/terminate", json={"deleteTopicList": ["("]})
        assert bad.status_code == 400
        (status,) = made.client.post("/ksql/terminate", json={"deleteTopicList": ["A"]}).json()
        assert status["commandId"] == "cluster/TerminateCluster/terminate"
        assert made.node.engine.queries == {}
        answer = made.ksql("SHOW STREAMS;")
        assert (answer.status_code, answer.json()["error_code"]) == (503, 50304)
    finally:
        made.close()
