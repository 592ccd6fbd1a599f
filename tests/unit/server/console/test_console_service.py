"""The console of an SQL server: its queries, each asked as an application.

Exercises ``server.console.applications`` and ``server.console.models``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.server.application import serve
from penstock.server.console.console_service import ConsoleService
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from tests.unit.server.memory import Runtime, new_node
from tests.unit.server.test_node import STREAM
from tests.unit.serving.memory_application import MemoryApplication, until
from tests.unit.serving.test_server import Client, application


class Served:
    """A server with one query, whose application is made up."""

    def __init__(self) -> None:
        self.node, self.runtime = new_node()
        self.opened: list[MemoryApplication] = []
        options = ServerOptions(credentials=Credentials.of(read_tokens=("r",), full_tokens=("f",)))
        self.console = ConsoleService(self.node, options, self.open_one)
        self.server = serve(self.node, options, [self.console])

    def open_one(self, streams: Any) -> MemoryApplication:
        self.opened.append(application())
        return self.opened[-1]

    def get(self, path: str, token: str = "r") -> tuple[int, Any]:
        status, body, _ = Client(self.server.port).get(path, Authorization=f"Bearer {token}")
        return status, body


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    made = Served()
    with made.node:
        made.node.execute(STREAM + "CREATE STREAM copies AS SELECT * FROM s;")
        runtime: Runtime = made.runtime
        until(lambda: bool(runtime.applications))
        made.server.start()
        yield made
        made.server.stop()


def query(served: Served) -> str:
    return next(iter(served.runtime.applications))


def test_the_server_says_what_its_console_can_show(served: Served) -> None:
    """And what the caller may do."""
    status, body = served.get("/about", "f")
    assert (status, body["kind"], body["access"]) == (200, "sql-server", "full")
    assert body["pages"][:2] == ["sql", "queries"]
    assert served.get("/about")[1]["access"] == "read"


def test_the_page_needs_no_credentials_and_its_questions_do(served: Served) -> None:
    """As over an application."""
    client = Client(served.server.port)
    assert client.get("/console/")[0] == 200
    for path in ("/about", "/applications", f"/applications/{query(served)}/status"):
        assert client.get(path)[0] == 401


def test_queries_are_listed_with_what_they_do(served: Served) -> None:
    """Statement, state, and what waits."""
    status, body = served.get("/applications")
    [found] = body["applications"]
    assert (status, found["id"], found["status"]) == (200, query(served), "RUNNING")
    assert (found["sources"], found["sinks"], found["lag"]) == (["S"], ["COPIES"], 7)
    assert found["runs_here"]


def test_a_query_is_asked_as_an_application(served: Served) -> None:
    """With all of its paths, keys with a slash among them."""
    base = f"/applications/{query(served)}"
    assert served.get(f"{base}/status")[1]["verdict"]["level"] == "well"
    assert served.get(f"{base}/stores/counts/user-07")[1]["value"] == {"n": 7}
    assert served.get(f"{base}/stores/fast/a%2Fb%20%C3%A4")[1]["value"] == [1, None]
    assert served.get(f"{base}/commits")[1]["commits"][0]["number"] == 1


@pytest.mark.parametrize(
    "path",
    [
        "/applications/NOTHING/status",
        "/applications/",
        "/applications/x",
        "/applications/a%0Ab/status",
    ],
)
def test_a_query_that_does_not_run_is_refused(served: Served, path: str) -> None:
    """With a code, whatever the rest of the path is."""
    status, body = served.get(path)
    assert (status, body["code"]) == (404, "no-such-query")


def started_again(served: Served, name: str) -> None:
    served.runtime.stop(name)
    until(lambda: name in served.runtime.applications)


def test_a_query_that_was_started_again_is_asked_anew(served: Served) -> None:
    """What was opened for the run before is closed."""
    name = query(served)
    base = f"/applications/{name}"
    started_again(served, name)
    served.get(f"{base}/status")
    before = served.opened[-1]
    started_again(served, name)
    until(lambda: served.get(f"{base}/status")[0] == 200 and before.is_closed)
    assert served.opened[-1] is not before
