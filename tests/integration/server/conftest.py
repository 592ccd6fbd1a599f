"""Fixtures of the tests with real SQL servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock.server.composition import new_server
from penstock.server.sql_server import SqlServer
from tests.integration.server.processes import ServerProcess


@pytest.fixture
def service() -> str:
    """A service of its own, so that tests do not see each other's streams."""
    return f"t{uuid4().hex[:8]}_"


@pytest.fixture
def settings(kafka_broker: str, service: str, tmp_path: Path) -> dict[str, str]:
    return {
        "bootstrap.servers": kafka_broker,
        "ksql.service.id": service,
        "state.dir": str(tmp_path / "state"),
        "penstock.server.listen": "127.0.0.1:0",
        "commit.interval.ms": "20",
        "auto.offset.reset": "earliest",
        "spark.ui.enabled": "false",
        "ksql.query.retry.backoff.initial.ms": "200",
    }


@pytest.fixture
def start(settings: dict[str, str]) -> Iterator[Callable[..., SqlServer]]:
    """Start servers in this process; what a test leaves open is closed."""
    made: list[SqlServer] = []

    def make(**more: Any) -> SqlServer:
        given = {**settings, **{name.replace("_", "."): value for name, value in more.items()}}
        server = new_server(given).start()
        made.append(server)
        return server

    yield make
    for server in made:
        server.close()


@pytest.fixture
def start_process(
    settings: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., ServerProcess]]:
    """Make servers that are processes of their own."""
    made: list[ServerProcess] = []

    def make(name: str = "server") -> ServerProcess:
        process = ServerProcess(settings, tmp_path / name)
        made.append(process)
        return process

    yield make
    for process in made:
        process.stop()
