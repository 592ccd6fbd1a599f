"""Measure queries of the SQL server over HTTP, against a real broker.

The server is a process of its own, bound to one core where the system allows that. The load and
the records come from this process.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import selectors
import socket
import statistics
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

import httpx
import orjson
from confluent_kafka import Producer
from starlette.applications import Starlette

from bench.serving import load
from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.server.planning import Planning
from penstock.server.querying import QueryServices
from penstock.server.rest.query_routes import QueryRoutes
from penstock.server.security.topic_rules import TopicRules
from penstock.serving.http_server import HttpServer
from penstock.serving.options import ServerOptions
from penstock.sql import SqlEngine
from penstock.sql.session import SqlSession

_SOURCES = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, country VARCHAR, amount DOUBLE)
        WITH (KAFKA_TOPIC='bench-users', PARTITIONS=4, VALUE_FORMAT='JSON');
    CREATE STREAM orders (id VARCHAR KEY, seq BIGINT, amount DOUBLE)
        WITH (KAFKA_TOPIC='bench-orders', PARTITIONS=4, VALUE_FORMAT='JSON');
"""
_FILTER = "SELECT seq, id FROM orders WHERE amount > 1 EMIT CHANGES;"
_AGGREGATE = "SELECT id, MAX(seq) AS seq, COUNT(*) AS n FROM orders GROUP BY id EMIT CHANGES;"


@dataclass(frozen=True, slots=True)
class PullFigure:
    """Lookups by key over HTTP; the client measures the milliseconds."""

    path: str
    connections: int
    per_second: float
    p50_ms: float
    p99_ms: float
    server_cpu: float
    load_average: float

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PushFigure:
    """From ``produce`` to the row at the client."""

    query: str
    subscribers: int
    rows: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    server_cpu: float
    load_average: float

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class _Host:
    """A server's catalog without a command topic: only queries are measured."""

    def __init__(self, bootstrap: str) -> None:
        self.engine = SqlEngine({"ksql.max.push.queries": "2000"})
        self.engine.execute(_SOURCES)
        self.topic_rules = TopicRules.of(self.engine.config)
        self.planning = Planning()
        self.config = StreamsConfig(
            {"application.id": "bench-sql-server", "bootstrap.servers": bootstrap}
        )

    def session(self, properties: Mapping[str, Any], variables: Mapping[str, str]) -> SqlSession:
        return self.engine.session({k: str(v) for k, v in properties.items()}, variables)

    def running(self, query_id: str) -> None:
        return None

    async def caught_up(self, sequence: int | None) -> None:
        return None


class _Application:
    """The routes of queries alone."""

    def __init__(self, host: _Host) -> None:
        self._routes = QueryRoutes(QueryServices(host))
        self._app = Starlette(routes=self._routes.routes())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    def end_feeds(self) -> None:
        self._routes.end_feeds()

    def close(self) -> None:
        self._routes.close()


def _serve(bootstrap: str, core: int | None, pipe: Connection) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    host = _Host(bootstrap)
    server = HttpServer(lambda: _Application(host), ServerOptions(), "bench").start()
    pipe.send(server.port)
    while pipe.recv() == "cpu":
        pipe.send(time.process_time())
    server.stop()


class Server:
    """The server's process; a context manager."""

    def __init__(self, bootstrap: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        core = self._cores[0] if len(self._cores) > 1 else None
        self._process = context.Process(target=_serve, args=(bootstrap, core, far), daemon=True)
        self._process.start()
        far.close()
        self.port = 0

    def __enter__(self) -> Server:
        self.port = int(self._pipe.recv())
        if len(self._cores) > 1:
            os.sched_setaffinity(0, set(self._cores[1:]))
        return self

    def __exit__(self, *exc: object) -> None:
        self._pipe.send("stop")
        self._process.join(15)
        if self._cores:
            os.sched_setaffinity(0, set(self._cores))

    def cpu(self) -> float:
        """Return the processor seconds that the server has used."""
        self._pipe.send("cpu")
        return float(self._pipe.recv())


def fill(bootstrap: str, keys: int) -> None:
    """Make the topics, and the rows of the table."""
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in ("bench-users", "bench-orders"):
        admin.create_topic(topic, partitions=4)
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for number in range(keys):
        value = {"COUNTRY": "DE", "AMOUNT": number / 4}
        producer.produce("bench-users", orjson.dumps(value), f"user-{number:07d}")
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def measure_pull(server: Server, keys: int, seconds: float, connections: int) -> list[PullFigure]:
    """Measure lookups by key over both endpoints."""
    figures = []
    for path, name in (("/query", "ksql"), ("/query-stream", "sql")):
        requests = [_post(path, name, _lookup(keys)) for _ in range(20_000)]
        # The first question waits until the table has been copied.
        body = orjson.dumps({name: _lookup(keys)})
        httpx.post(f"http://127.0.0.1:{server.port}{path}", content=body, timeout=120.0)
        load(server.port, requests, connections, 1.0)
        cpu, began = server.cpu(), time.perf_counter()
        taken = load(server.port, requests, connections, seconds)
        elapsed = time.perf_counter() - began
        cuts = statistics.quantiles(taken, n=100)
        figures.append(
            PullFigure(
                path,
                connections,
                round(len(taken) / elapsed, 1),
                round(cuts[49] * 1e3, 3),
                round(cuts[98] * 1e3, 3),
                round((server.cpu() - cpu) / elapsed, 2),
                round(os.getloadavg()[0], 2),
            )
        )
    return figures


def _lookup(keys: int) -> str:
    return f"SELECT * FROM users WHERE id = 'user-{random.randrange(keys):07d}';"


def _post(path: str, name: str, sql: str) -> bytes:
    body = orjson.dumps({name: sql})
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def measure_push(
    server: Server, bootstrap: str, query: str, subscribers: int, rows: int, pause_s: float
) -> PushFigure:
    """Measure the time from ``produce`` until each subscriber has the row."""
    sql = {"filter": _FILTER, "aggregate": _AGGREGATE}[query]
    readers = _Readers(server.port, sql, subscribers)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 0, "partitioner": "murmur2_random"}
    )
    first = random.randrange(1 << 40)
    try:
        readers.wait_open(120.0)
        _warm_up(producer)
        cpu, began = server.cpu(), time.perf_counter()
        for number in range(first, first + rows):
            readers.sent[number] = time.perf_counter()
            value = orjson.dumps({"SEQ": number, "AMOUNT": 5.0})
            producer.produce("bench-orders", value, f"user-{number % 50}")
            producer.poll(0)
            time.sleep(pause_s)
        producer.flush()
        readers.wait_rows(rows * subscribers, 60.0)
        used = (server.cpu() - cpu) / (time.perf_counter() - began)
    finally:
        readers.close()
    cuts = statistics.quantiles(readers.taken, n=100)
    return PushFigure(
        query, subscribers, len(readers.taken), round(cuts[49] * 1e3, 2),
        round(cuts[98] * 1e3, 2), round(max(readers.taken) * 1e3, 1), round(used, 2),
        round(os.getloadavg()[0], 2),
    )  # fmt: skip


def _warm_up(producer: Producer, most_s: float = 20.0) -> None:
    """Write records until the broker takes them quickly: a new one is slow for some seconds."""
    deadline, quick = time.monotonic() + most_s, 0
    while quick < 20 and time.monotonic() < deadline:
        began = time.perf_counter()
        producer.produce("bench-orders", orjson.dumps({"SEQ": 0, "AMOUNT": 5.0}), "user-0")
        producer.flush()
        quick = quick + 1 if time.perf_counter() - began < 0.02 else 0


class _Readers:
    """Many connections to /query-stream, read by one thread."""

    def __init__(self, port: int, sql: str, count: int) -> None:
        self.sent: dict[int, float] = {}
        self.taken: list[float] = []
        self._open = 0
        self._place = 1 if "COUNT" in sql else 0
        self._count = count
        self._selector = selectors.DefaultSelector()
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(_post("/query-stream", "sql", sql))
            self._selector.register(one, selectors.EVENT_READ, bytearray())
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            for ready, _ in self._selector.select(0.2):
                one: Any = ready.fileobj
                self._take(ready.data, one.recv(1 << 16))

    def _take(self, rest: bytearray, data: bytes) -> None:
        rest += data
        *lines, last = bytes(rest).split(b"\n")
        rest[:] = last
        now = time.perf_counter()
        for line in lines:
            # Between rows stand the sizes of chunks, and the headers of HTTP before all.
            if line.startswith(b"["):
                seq = orjson.loads(line)[self._place]
                if seq in self.sent:
                    self.taken.append(now - self.sent[seq])
            elif line.startswith(b'{"queryId"'):
                self._open += 1

    def wait_open(self, timeout_s: float) -> None:
        self._wait(lambda: self._open >= self._count, timeout_s, "subscribers are open")

    def wait_rows(self, rows: int, timeout_s: float) -> None:
        self._wait(lambda: len(self.taken) >= rows, timeout_s, "rows have come")

    def _wait(self, is_done: Any, timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not is_done():
            if time.monotonic() > deadline:
                counts = f"{self._open} open, {len(self.taken)} rows"
                raise RuntimeError(f"not all {what} after {timeout_s:.0f} s: {counts}")
            time.sleep(0.05)

    def close(self) -> None:
        self._closing.set()
        self._thread.join(5)
        for key in list(self._selector.get_map().values()):
            one: Any = key.fileobj
            one.close()
        self._selector.close()
