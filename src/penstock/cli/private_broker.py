"""Where a program runs for which no broker was named: a private one, with its topics made."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.status import Status

from penstock.cli.output import err
from penstock.cli.program import LoadedProgram
from penstock.config import BOOTSTRAP_SERVERS, STATE_DIR
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.embedded import EmbeddedBroker
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink, Source


@contextmanager
def private_broker(program: LoadedProgram, partitions: int) -> Iterator[Mapping[str, Any]]:
    """Gives the settings to run a program with; broker and state end with the block."""
    with new_broker() as (settings, line):
        servers = settings[BOOTSTRAP_SERVERS.name]
        if program.prepare is not None:
            line.update("filling topics")
            program.prepare(servers)
        make_topics(Admin({"bootstrap.servers": servers}), program.topology.graph, partitions)
        line.stop()
        yield settings


@contextmanager
def new_broker() -> Iterator[tuple[dict[str, Any], Status]]:
    """Starts a broker without topics, and gives the settings to run with and the line it shows.

    The broker is new each time, so state of an earlier run would not fit it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="penstock-run-") as folder,
        err().status("starting a private broker") as line,
        EmbeddedBroker(progress=lambda text: line.update(f"getting Kafka, once: {text}")) as broker,
    ):
        settings = {BOOTSTRAP_SERVERS.name: broker.bootstrap_servers, STATE_DIR.name: folder}
        yield settings, line


def make_topics(admin: Admin, graph: Graph, partitions: int) -> None:
    """Makes the topics that the program reads and writes, all of one size: they can be joined."""
    there = admin.topics()
    wanted = [name for name in external_topics(graph) if name not in there]
    sizes = [len(there[name].partitions) for name in external_topics(graph) if name in there]
    admin.create_topics(TopicSpec(name, max([partitions, *sizes])) for name in wanted)


def external_topics(graph: Graph) -> list[str]:
    """The topics that the graph names and does not own, sources first."""
    sources = [
        topic
        for node in graph.nodes.values()
        if isinstance(node, Source)
        for topic in node.topics
        if topic not in graph.internal_topics
    ]
    sinks = [
        node.topic
        for node in graph.nodes.values()
        if isinstance(node, Sink)
        and node.topic is not None
        and node.topic not in graph.internal_topics
    ]
    return list(dict.fromkeys((*sources, *sinks)))
