"""``/status`` over a real socket. Exercises ``sample_routes`` and ``serving.status.models``."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import MemoryApplication
from tests.unit.serving.test_server import Client, application


@pytest.fixture(scope="module")
def made() -> MemoryApplication:
    return application()


@pytest.fixture(scope="module")
def client(made: MemoryApplication) -> Iterator[Client]:
    with ServingServer(made) as server:
        yield Client(server.port)


def test_the_status_says_whether_it_is_well(client: Client) -> None:
    """With lag by partition, and the instances."""
    code, body, headers = client.get("/status")
    assert (code, headers["cache-control"]) == (200, "no-store")
    assert body["verdict"]["level"] == "well"
    assert body["lag"]["topics"] == {"orders": {"0": 3, "1": 4}}
    assert [each["id"] for each in body["instances"]] == ["one"]


def test_the_history_has_the_points_after_a_moment(client: Client) -> None:
    """A page asks for what it does not have yet."""
    client.get("/status")
    points = client.get("/status/history")[1]["points"]
    assert points[-1]["lag"] == 7
    last = points[-1]["at_ms"]
    assert all(p["at_ms"] > last for p in client.get(f"/status/history?since={last}")[1]["points"])


def test_the_heat_map_has_a_row_for_each_partition(client: Client) -> None:
    """And as many columns as moments."""
    client.get("/status")
    body = client.get("/status/heat")[1]
    assert sorted(body["lags"]) == ["orders-0", "orders-1"]
    assert len(body["lags"]["orders-1"]) == len(body["at_ms"])


def test_the_program_says_which_parts_run_over_columns(client: Client) -> None:
    """It does not change, so it is asked once."""
    assert client.get("/topology/program")[1]["columnar"] == [0]


def test_the_feed_begins_with_the_present(client: Client) -> None:
    """Nobody waits a second for the first picture."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    connection.request("GET", "/status/feed")
    response = connection.getresponse()
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.readline() == b"event: status\n"
    body = json.loads(response.readline().removeprefix(b"data: "))
    assert body["application"] == "app"
    # And goes on with the next sample.
    assert (response.readline(), response.readline()) == (b"\n", b"event: status\n")
    response.close()
    connection.close()


@pytest.mark.parametrize(
    "path", ["/status?x=1", "/status/history?since=x", "/status/heat?since=-1", "/status/feed?a=b"]
)
def test_a_wrong_parameter_is_named(client: Client, path: str) -> None:
    """Bad input has a clear error."""
    code, body, _ = client.get(path)
    assert (code, body["code"]) == (400, "bad-request")


def test_the_server_says_what_it_is(client: Client) -> None:
    """The console asks which pages it can show, and what its user may do."""
    body = client.get("/about")[1]
    assert (body["kind"], body["name"], body["access"]) == ("application", "app", "read")
    assert "now" in body["pages"]
