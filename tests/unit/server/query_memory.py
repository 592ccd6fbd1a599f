"""Queries without Kafka: topics in memory, a host over a real engine, and a caller of ASGI."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from penstock.config import StreamsConfig
from penstock.errors import StreamsError
from penstock.kafka.topic_reader import Positions
from penstock.kernel.record_queue import RawRecord
from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.server.planning import Planning
from penstock.server.querying import QueryServices
from penstock.server.reading import Place
from penstock.server.request_properties import checked_properties
from penstock.server.rest.query_routes import QueryRoutes
from penstock.server.security.topic_rules import TopicRules
from penstock.sql.engine import SqlEngine
from penstock.sql.results import OutgoingRecord


class MemoryTopics:
    """Topics as lists of records, for readers in any thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.partitions: dict[str, list[list[RawRecord]]] = {}
        #: The readers that are open.
        self.readers: list[MemoryReader] = []
        #: How many readers were opened, by topic.
        self.opened: list[frozenset[str]] = []
        #: Whether each of them was to notice the end soon.
        self.eager: list[bool] = []

    def create(self, topic: str, partitions: int = 1) -> None:
        self.partitions.setdefault(topic, [[] for _ in range(partitions)])

    def add(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = 0,
        headers: Headers = (),
    ) -> None:
        with self.changed:
            parts = self.partitions[topic]
            number = 0 if key is None else partition_for(key, len(parts))
            offset = len(parts[number])
            parts[number].append(RawRecord(topic, number, offset, timestamp, key, value, headers))
            self.changed.notify_all()

    def send(self, record: OutgoingRecord) -> None:
        """Take the rows of INSERT VALUES."""
        self.create(record.topic)
        self.add(record.topic, record.key, record.value, record.timestamp or 0)

    def places(self, topics: Iterable[str]) -> list[Place]:
        found = []
        for topic in topics:
            if topic not in self.partitions:
                raise StreamsError("unknown-topic", f"there is no topic {topic!r}")
            found += [(topic, number) for number in range(len(self.partitions[topic]))]
        return found

    def begins(self, places: Iterable[Place]) -> Positions:
        return dict.fromkeys(places, 0)

    def ends(self, places: Iterable[Place]) -> Positions:
        return {(topic, part): len(self.partitions[topic][part]) for topic, part in places}

    def written(self, places: Iterable[Place]) -> Positions:
        return self.ends(places)

    def reader(self, starts: Mapping[Place, int], *, is_eager: bool = False) -> MemoryReader:
        made = MemoryReader(self, starts, is_eager=is_eager)
        self.readers.append(made)
        self.opened.append(frozenset(topic for topic, _ in starts))
        self.eager.append(is_eager)
        return made


class MemoryReader:
    """Reads partitions of topics in memory."""

    def __init__(
        self, topics: MemoryTopics, starts: Mapping[Place, int], *, is_eager: bool
    ) -> None:
        self._topics = topics
        self.is_eager = is_eager
        self.positions: Positions = dict(starts)
        self.failure: Exception | None = None

    def read(self, timeout_s: float) -> list[RawRecord]:
        with self._topics.changed:
            self._topics.changed.wait_for(lambda: self._unread() or self.failure, timeout_s)
            if self.failure is not None:
                raise self.failure
            records = self._unread()
        for record in records:
            self.positions[record.topic, record.partition] = record.offset + 1
        return records

    def _unread(self) -> list[RawRecord]:
        return [
            record
            for (topic, part), at in self.positions.items()
            for record in self._topics.partitions[topic][part][at:]
        ]

    def ends(self) -> Positions:
        return self._topics.ends(self.positions)

    def forget(self, places: Iterable[Place]) -> None:
        for place in list(places):
            self.positions.pop(place, None)

    def close(self) -> None:
        self._topics.readers.remove(self)


class MemoryHost:
    """A server's catalog and nothing else."""

    def __init__(self, topics: MemoryTopics, settings: Mapping[str, Any] | None = None) -> None:
        self.engine = SqlEngine(settings, send=topics.send)
        self.topic_rules = TopicRules.of(self.engine.config)
        self.config = StreamsConfig({"application.id": "test", "bootstrap.servers": "nowhere:1"})
        self.waited: list[int | None] = []
        self.planning = Planning()

    def session(self, properties: Mapping[str, Any], variables: Mapping[str, str]) -> SqlEngine:
        return self.engine.session(checked_properties(properties, ()), variables)

    def running(self, query_id: str) -> None:
        return None

    async def caught_up(self, sequence: int | None) -> None:
        self.waited.append(sequence)


class MemorySender:
    """Writes the rows of /inserts-stream to topics in memory."""

    def __init__(self, topics: MemoryTopics) -> None:
        self._topics = topics
        self.error: str | None = None

    def start(self) -> None:
        pass

    def send(self, record: OutgoingRecord, done: Callable[[Any], None]) -> None:
        if self.error is None:
            self._topics.send(record)
        threading.Thread(target=done, args=(self.error,)).start()

    def close(self) -> None:
        pass


class QueryWorld:
    """Topics, a host, services and routes, put together as a server does."""

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.topics = MemoryTopics()
        self.host = MemoryHost(self.topics, settings)
        self.services = QueryServices(self.host, self.topics, folder)
        self.sender = MemorySender(self.topics)
        self.routes = QueryRoutes(self.services, self.sender)

    def execute(self, sql: str, *, partitions: int = 1) -> None:
        """Run statements and make the topics of new streams and tables."""
        pieces = [piece for piece in sql.split(";") if piece.strip()]
        for piece in pieces:
            if not piece.strip().upper().startswith("INSERT"):
                self.host.engine.execute(f"{piece};", answers=False)
                for source in self.host.engine.sources.values():
                    self.topics.create(source.topic, partitions)
            else:
                self.host.engine.execute(f"{piece};")

    def close(self) -> None:
        self.routes.close()


class Call:
    """One HTTP request: what is sent in while the answer comes out."""

    def __init__(
        self,
        world: QueryWorld,
        path: str,
        body: bytes | None = b"",
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
        query: str = "",
        **scope: Any,
    ) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self._in: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue()
        if body is not None:
            self.send(body, more=False)
        given = {"type": "http", "method": method, "path": path, "query_string": query.encode()}
        given |= {"headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()]}
        app = next(route for route in world.routes.routes() if route.path == path).endpoint
        self.task = asyncio.ensure_future(app(given | scope, self._in.get, self._take))

    def send(self, body: bytes, *, more: bool = True) -> None:
        self._in.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def leave(self) -> None:
        """Close the connection, as a client does that has seen enough."""
        self._in.put_nowait({"type": "http.disconnect"})

    async def _take(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = dict(message["headers"])
            return
        await self._out.put(message.get("body", b""))
        if not message.get("more_body"):
            await self._out.put(None)

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the body as they come."""
        while (part := await asyncio.wait_for(self._out.get(), 20)) is not None:
            yield part

    async def until(self, text: bytes) -> bytes:
        """Return the body up to the piece that completes a text."""
        seen = b""
        while text not in seen:
            part = await asyncio.wait_for(self._out.get(), 20)
            assert part is not None, seen
            seen += part
        return seen

    async def text(self) -> bytes:
        body = b"".join([part async for part in self.parts()])
        await asyncio.wait_for(self.task, 20)
        return body

    async def json(self) -> Any:
        return orjson.loads(await self.text())


def query(sql: str, **more: Any) -> bytes:
    """Return the body of a request to /query."""
    return orjson.dumps({"ksql": sql, **more})


def stream(sql: str, **more: Any) -> bytes:
    """Return the body of a request to /query-stream."""
    return orjson.dumps({"sql": sql, **more})
