"""A service without Kafka and Spark: a command topic in memory, and queries that only pretend."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.runtime.states import State
from penstock.server.commands.log import Entry, OvertakenError
from penstock.server.hosts import Hosts
from penstock.server.node import ServerNode
from penstock.server.options import NodeOptions
from penstock.server.sql_server import _for_engine
from penstock.server.supervision.supervisor import QuerySupervisor
from penstock.sql import SqlEngine
from penstock.sql.catalog.catalog import PersistentQuery
from penstock.sql.queries.spark_queries import settings_of
from penstock.topology.topology import Topology


class MemoryTopic:
    """The records of a command topic, and who may write. After each record stands a marker."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: list[Entry] = []
        self.end = 0
        self.first = 0
        self.writer: object | None = None

    def append(self, key: bytes | None, value: bytes | None) -> int:
        offset = self.end
        self.entries.append(Entry(offset, key, value))
        self.end += 2
        return offset


class MemoryLog:
    """One node's view of the topic."""

    def __init__(self, topic: MemoryTopic) -> None:
        self.topic = topic
        self._position = 0
        #: Writes that arrive although the writer is told that they did not.
        self.doubtful_writes = 0

    @property
    def position(self) -> int:
        return self._position

    def begin(self) -> int:
        return self.topic.first

    def end(self) -> int:
        return self.topic.end

    def read(self) -> list[Entry]:
        with self.topic.lock:
            found = [entry for entry in self.topic.entries if entry.offset >= self._position]
            end = self.topic.end
        if found:
            self._position = found[0].offset + 1
            return found[:1]
        self._position = end
        threading.Event().wait(0.002)
        return []

    def become_writer(self) -> bool:
        with self.topic.lock:
            if self.topic.writer is self:
                return False
            self.topic.writer = self
            return True

    def write(self, key: bytes, value: bytes) -> int:
        with self.topic.lock:
            if self.topic.writer is not self:
                raise OvertakenError("overtaken", "another node is the writer")
            offset = self.topic.append(key, value)
            if self.doubtful_writes:
                self.doubtful_writes -= 1
                self.topic.writer = None
                raise OvertakenError("overtaken", "nobody knows whether it was written")
            return offset

    def close(self) -> None:
        pass


class Application:
    """A query that pretends to run."""

    def __init__(self) -> None:
        self.state = State.RUNNING
        self.error: Exception | None = None
        self.is_paused = False

    def fail(self, error: Exception) -> None:
        self.error, self.state = error, State.ERROR


class Runtime:
    """Starts pretended queries, and remembers what was asked of it."""

    def __init__(self) -> None:
        self.applications: dict[str, Any] = {}
        self.started: list[str] = []
        #: What each query was last started with.
        self.settings: dict[str, dict[str, str]] = {}
        self.forgotten: list[str] = []
        #: What keeps a query from its start, by id.
        self.obstacles: dict[str, Exception] = {}

    def start(self, query: PersistentQuery, topology: Topology) -> None:
        self.started.append(query.id)
        self.settings[query.id] = settings_of(query.plan)
        if query.id in self.obstacles:
            raise self.obstacles[query.id]
        self.applications[query.id] = Application()
        self.applications[query.id].is_paused = query.state == "PAUSED"

    def stop(self, query_id: str) -> None:
        self.applications.pop(query_id, None)

    def pause(self, query_id: str, *, is_paused: bool) -> None:
        self.applications[query_id].is_paused = is_paused

    def forget(self, query_id: str) -> None:
        self.forgotten.append(query_id)


def new_node(
    topic: MemoryTopic | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    host: str = "localhost:8088",
    backup: Path | None = None,
    log: MemoryLog | None = None,
    hosts: Hosts | None = None,
) -> tuple[ServerNode, Runtime]:
    """Return a node that has not been started, and what pretends to run its queries."""
    runtime = Runtime()
    settings = dict(settings or {})
    options = NodeOptions(settings=settings, host=host, backup_file=backup, start_s=10.0)
    supervisor = QuerySupervisor(runtime, settings)
    log = log or MemoryLog(topic or MemoryTopic())
    engine = SqlEngine(_for_engine(settings))
    return ServerNode(options, engine, supervisor, log, hosts=hosts), runtime
