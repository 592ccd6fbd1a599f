"""``/info`` while long statements are planned, over real HTTP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import pytest

pytest.importorskip("granian", reason="needs penstock[server]")

import httpx

from penstock.server.planning import Collector
from penstock.serving.options import Limits, ServerOptions
from tests.unit.server.rest.test_routes import Served
from tests.unit.server.test_node import STREAM

STORM = (
    f"CREATE STREAM many AS SELECT k, {', '.join(f'v + {i} AS c{i}' for i in range(300))} FROM s;",
    f"INSERT INTO s VALUES (1, '{'aB3+/' * 10_000}');",
    f"CREATE STREAM long AS SELECT '{'aB3+/' * 10_000}' FROM s;",
    "x y " * 5_000,
    "(" * 20_000,
)


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served(ServerOptions(limits=Limits(request_bytes=1 << 20)))
    made.ksql(STREAM).raise_for_status()
    collector = Collector(made.node.planning).start()
    yield made
    collector.close()
    made.close()


@contextmanager
def storm(served: Served) -> Iterator[None]:
    """Send long statements from several clients, again and again."""
    ended = threading.Event()

    def send(sql: str) -> None:
        with httpx.Client(base_url=served.server.url, timeout=60.0) as client:
            while not ended.is_set():
                answer = client.post("/ksql", json={"ksql": sql})
                assert answer.status_code in (200, 400), answer.text

    threads = [threading.Thread(target=send, args=(each,)) for each in STORM]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        ended.set()
        for each in threads:
            each.join()


def test_the_server_answers_while_statements_are_planned(served: Served) -> None:
    """Five clients plan without a pause, and a health check does not wait for them."""
    times = []
    with storm(served):
        time.sleep(0.5)
        for _ in range(25):
            before = time.perf_counter()
            assert served.client.get("/info").status_code == 200
            times.append(time.perf_counter() - before)
            time.sleep(0.02)
    assert median(times) < 0.1, sorted(times)


def test_only_some_statements_are_planned_at_a_time(served: Served) -> None:
    """All places are free again after errors."""
    for sql in STORM:
        served.ksql(sql)
    assert served.node.planning.is_free
    assert served.client.get("/info").json()["KsqlServerInfo"]["serverStatus"] == "RUNNING"
