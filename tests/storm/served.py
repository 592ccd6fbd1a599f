"""The server under the storm: real HTTP over topics in memory. It ends when its input ends."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from penstock.config import StreamsConfig
from penstock.server.application import serve
from penstock.server.node import ServerNode
from penstock.server.options import NodeOptions
from penstock.server.planning import Collector
from penstock.server.querying import QueryServices
from penstock.server.reading import Place
from penstock.server.rest.query_routes import QueryRoutes
from penstock.server.supervision.supervisor import QuerySupervisor
from penstock.serving.options import Limits, ServerOptions
from penstock.sql.engine import SqlEngine
from tests.unit.server.memory import MemoryLog, MemoryTopic, Runtime
from tests.unit.server.query_memory import MemorySender, MemoryTopics

SOURCES = """
CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)
    WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM s (k VARCHAR KEY, a INT, b VARCHAR, d DOUBLE, c ARRAY<INT>, m MAP<VARCHAR, INT>,
    p STRUCT<x INT, y VARCHAR>, t TIMESTAMP, e DECIMAL(9, 2))
    WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM u (k VARCHAR KEY, a INT, f BIGINT)
    WITH (KAFKA_TOPIC='u', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
CREATE TABLE t (k VARCHAR PRIMARY KEY, a INT, b VARCHAR)
    WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO users VALUES ('ann', 30);
INSERT INTO t VALUES ('a', 1, 'x');
"""


class CreatedTopics(MemoryTopics):
    """Topics that are there as soon as they are asked for, as those of CREATE are."""

    def places(self, topics: Iterable[str]) -> list[Place]:
        names = list(topics)
        for name in names:
            self.create(name)
        return super().places(names)


def run(folder: Path) -> None:
    """Serve until standard input ends; the first line of output is the address."""
    topics = CreatedTopics()
    config = StreamsConfig(
        {
            "application.id": "storm",
            "bootstrap.servers": "nowhere:1",
            "state.dir": str(folder),
            "auto.offset.reset": "earliest",
        }
    )
    engine = SqlEngine({"auto.offset.reset": "earliest"}, send=topics.send)
    supervisor = QuerySupervisor(Runtime(), {})
    node = ServerNode(NodeOptions(config=config), engine, supervisor, MemoryLog(MemoryTopic()))
    collector = Collector(node.planning)
    with node:
        services = QueryRoutes(QueryServices(node, topics, folder), MemorySender(topics))
        node.execute(SOURCES)
        options = ServerOptions(limits=Limits(request_bytes=1 << 20))
        server = serve(node, options, [services]).start()
        collector.start()
        print(server.url, flush=True)
        sys.stdin.read()
        server.stop()
        collector.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    with tempfile.TemporaryDirectory() as temporary:
        run(Path(temporary))
