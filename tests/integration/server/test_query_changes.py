"""What happens to queries that run: other settings for all of them, and a function that hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("granian", reason="needs penstock[server]")

from penstock.errors import PenstockError
from penstock.server.sql_server import SqlServer
from tests.integration.server.processes import Rest
from tests.integration.server.test_commands import wait_for
from tests.integration.server.test_queries import script, summing, wait_for_sums

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]
Start = Callable[..., SqlServer]
THREADS = "ksql.streams.num.stream.threads"
STUCK = """
import time
from pathlib import Path
from penstock.sql import udf

@udf
def stuck(n: int, marker: str) -> int:
    Path(marker).touch()
    time.sleep(100_000)
    return n
"""


def threads_of(server: SqlServer, query_id: str) -> int:
    """Return how many stream threads a running query has; 0 while it does not run."""
    application = server.node.running(query_id)
    if application is None or not application.state.is_running_or_rebalancing:
        return 0
    try:
        return len(application.metadata_for_local_threads())
    except PenstockError:
        return 0


def has_topics(server: SqlServer, application_id: str) -> bool:
    """Tell whether an application has any topics of its own."""
    assert server.node.admin is not None
    return any(name.startswith(application_id) for name in server.node.admin.topics())


def test_alter_system_reaches_running_queries(
    start: Start, service: str, kafka_broker: str
) -> None:
    """They go on with their state and the new setting, which outlives the server."""
    server, rest = summing(start, service, kafka_broker)
    (query_id,) = server.node.engine.queries
    before = server.node.running(query_id)
    assert threads_of(server, query_id) == 1
    rest.ksql(f"ALTER SYSTEM '{THREADS}' = '2';")
    wait_for(lambda: threads_of(server, query_id) == 2, "the query has no second thread", 120.0)
    assert server.node.running(query_id) is not before
    assert rest.status(query_id) == "RUNNING"
    rest.ksql("INSERT INTO clicks VALUES ('a', 2); INSERT INTO clicks VALUES ('b', 7);")
    wait_for_sums(kafka_broker, service, {"a": 3, "b": 7})
    (listed,) = rest.ksql("SHOW PROPERTIES;")
    (shown,) = [each for each in listed["properties"] if each["name"] == THREADS]
    assert shown["value"] == "2"
    server.close()
    again = start()
    wait_for(lambda: threads_of(again, query_id) == 2, "the setting is lost", 120.0)
    Rest(again.url).ksql("INSERT INTO clicks VALUES ('a', 4);")
    wait_for_sums(kafka_broker, service, {"a": 7, "b": 7})


def test_query_whose_function_hangs_holds_up_no_other(
    start: Start, service: str, kafka_broker: str, tmp_path: Path
) -> None:
    """TERMINATE answers soon, and another query begins long before that one has ended."""
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "stuck.py").write_text(STUCK, encoding="utf-8")
    server = start(**{"ksql.extension.dir": str(tmp_path / "functions")})
    rest = Rest(server.url)
    clicks, rest_of = script(service).split(";", 1)
    rest.ksql(f"{clicks};")
    marker = tmp_path / "is-stuck"
    rest.ksql(f"CREATE STREAM hung AS SELECT page, STUCK(n, '{marker}') AS n FROM clicks;")
    (query_id,) = server.node.engine.queries
    rest.ksql("INSERT INTO clicks VALUES ('a', 1);")
    wait_for(marker.exists, "the function is not called", 120.0)
    began = time.monotonic()
    rest.ksql(f"TERMINATE {query_id};")
    assert time.monotonic() - began < 10.0
    rest.ksql(rest_of)
    (other,) = server.node.engine.queries
    wait_for(
        lambda: server.node.running(other) is not None, "the other query does not start", 120.0
    )
    own = server.node.application_id(query_id)
    # Its state is deleted when it has ended.
    assert has_topics(server, own)
    wait_for_sums(kafka_broker, service, {"a": 1})
    wait_for(lambda: not has_topics(server, own), "topics of the query that hung are left", 120.0)
