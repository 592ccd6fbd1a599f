"""A private broker with its topics, for a program whose user has not named a broker."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.status import Status

from penstock.cli.output import err, print_note
from penstock.cli.program import LoadedProgram
from penstock.config import BOOTSTRAP_SERVERS, DEAD_LETTER_TOPIC, STATE_DIR
from penstock.errors import PenstockError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.distribution import download_note, installed
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.private_brokers import noted_broker
from penstock.model.site import raising_site
from penstock.runtime.spark.driver.topics import make_topics


@contextmanager
def private_broker(program: LoadedProgram, partitions: int) -> Iterator[Mapping[str, Any]]:
    """Start a broker with the program's topics, and yield the settings to run it with.

    The broker is stopped, and broker and state are deleted, at the end of the ``with`` block.
    """
    with new_broker() as (settings, line):
        servers = settings[BOOTSTRAP_SERVERS.name]
        if program.prepare is not None:
            line.update("filling topics")
            _fill(program, servers)
        letters = program.config.get(DEAD_LETTER_TOPIC.name)
        admin = Admin({"bootstrap.servers": servers})
        make_topics(admin, program.topology.graph, partitions, letters)
        line.stop()
        yield settings


def _fill(program: LoadedProgram, servers: str) -> None:
    assert program.prepare is not None
    try:
        program.prepare(servers)
    except PenstockError:
        raise
    except Exception as error:
        raise StreamsError(
            "program-failed",
            f"prepare() of {str(program.path)!r} raised {error!r}",
            fix="correct the line, or name a broker with --bootstrap: there it is not called",
            at=raising_site(error) or str(program.path),
        ) from error


@contextmanager
def new_broker() -> Iterator[tuple[dict[str, Any], Status]]:
    """Start a broker without topics; yield the settings to run with and the status line.

    The broker is new each time, so the settings have a new state folder too: state of an earlier
    run would not fit it.
    """
    if installed() is None:
        print_note(f"{download_note()}; the next start takes seconds")
    with (
        tempfile.TemporaryDirectory(prefix="penstock-run-") as folder,
        err().status("starting a private broker") as line,
        EmbeddedBroker(progress=lambda text: line.update(f"getting Kafka, once: {text}")) as broker,
        noted_broker(broker.bootstrap_servers) as is_noted,
    ):
        servers = broker.bootstrap_servers
        named = "in this folder" if is_noted else f"with --bootstrap {servers}"
        print_note(f"private broker on {servers}, gone when this ends")
        print_note(f"  penstock topics, produce and consume find it {named}")
        yield {BOOTSTRAP_SERVERS.name: servers, STATE_DIR.name: folder}, line
