"""Fixtures of the tests in a browser over a made-up application."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.server import ServingServer
from tests.console.browser import browser, open_page
from tests.console.fake_application import FakeApplication

__all__ = ["browser", "open_page"]


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Serves an application, and returns the address of its console."""
    servers: list[ServingServer] = []

    def serve_one(application: FakeApplication, *options: Any) -> str:
        servers.append(ServingServer(application, *options).start())
        return f"{servers[-1].url}/console/"

    yield serve_one
    for server in servers:
        server.stop()
