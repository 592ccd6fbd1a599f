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
from penstock.kafka.embedded import EmbeddedBroker
from penstock.runtime.spark.driver.topics import make_topics


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
