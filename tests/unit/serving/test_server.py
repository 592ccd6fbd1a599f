"""A real server on loopback, asked over a real socket.

Exercises ``status_routes`` and ``store_routes``.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.errors import ConfigError, UnavailableError
from penstock.serde.serdes import Serdes
from penstock.serving.application import Row
from penstock.serving.options import Limits, ServerOptions
from penstock.serving.server import ServingServer
from penstock.state.spec import StoreKind
from tests.unit.serving.memory_application import (
    MemoryApplication,
    one_instance,
    store_info,
    until,
)


class Client:
    def __init__(self, port: int) -> None:
        self.port = port

    def get(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, headers=named)
            response = connection.getresponse()
            data = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            found = {name.lower(): text for name, text in response.headers.items()}
            return response.status, json.loads(data) if is_json and data else data, found
        finally:
            connection.close()


def application() -> MemoryApplication:
    made = one_instance(
        store_info("counts"),
        store_info("fast"),
        store_info("by-number", key=Serdes.long()),
        store_info("windows", StoreKind.TIMESTAMPED_WINDOW, window_size_ms=1000),
        store_info("sessions", StoreKind.SESSION),
        store_info("history", StoreKind.VERSIONED_KEY_VALUE),
        store_info("everywhere", partitions=1, is_global=True),
        store_info("join", StoreKind.OUTER_JOIN),
    )
    put = made.cluster.put
    for number in range(25):
        put("counts", Row(f"user-{number:02d}", {"n": number}, 1000 + number))
        put("by-number", Row(number - 5, number))
    put("fast", Row("a/b ä", [1, None]), Row("", "empty"))
    for start in range(0, 5000, 1000):
        put("windows", *(Row(key, start, start, start, start + 1000) for key in ("ann", "bob")))
    put("sessions", Row("ann", 1, None, 100, 200), Row("ann", 2, None, 500, 900))
    put("history", Row("ann", "old", 100, valid_to=200), Row("ann", "new", 200))
    put("everywhere", Row("de", "Germany"))
    made.cluster.commit(1)
    made.cluster.write("counts", ("user-01", {"n": 1}))
    made.cluster.commit(2)
    return made


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[MemoryApplication, Client]]:
    made = application()
    options = ServerOptions(limits=Limits(default_rows=10, max_rows=20, request_s=30.0))
    with ServingServer(made, options) as server:
        yield made, Client(server.port)


def test_a_key_is_answered_with_where_it_came_from(
    served: tuple[MemoryApplication, Client],
) -> None:
    made, client = served
    status, body, headers = client.get("/stores/counts/user-07")
    partition = made.cluster.partition("counts", "user-07")
    assert status == 200
    assert (body["key"], body["value"], body["timestamp"]) == ("user-07", {"n": 7}, 1007)
    assert body["source"]["partition"] == partition
    assert (body["source"]["role"], body["source"]["instance"]) == ("owner", "one")
    assert (headers["penstock-source"], headers["penstock-lag"]) == ("owner", "0")
    assert json.loads(headers["penstock-position"]) == body["source"]["position"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/stores/counts/nobody", "no-such-key"),
        ("/stores/nothing/a", "unknown-store"),
        ("/stores/nothing", "unknown-store"),
        ("/nothing", "not-found"),
        ("/stores/counts/../../etc/passwd", "bad-request"),
        ("/metadata/nothing/a", "unknown-store"),
        ("/feeds/nothing", "unknown-store"),
    ],
)
def test_what_is_not_there_is_404_or_400(
    served: tuple[MemoryApplication, Client], path: str, code: str
) -> None:
    status, body, _ = served[1].get(path)
    assert (status, body["code"]) == (400 if code == "bad-request" else 404, code)


@pytest.mark.parametrize(
    "path",
    [
        "/stores/counts/user-01?limit=3",
        "/stores/counts/user-01?as_of=3",
        "/stores/counts?limit=0",
        "/stores/counts?limit=21",
        "/stores/counts?limit=ten",
        "/stores/counts?limit=3&limit=4",
        "/stores/counts?colour=red",
        "/stores/counts?after=!",
        "/stores/counts?prefix=a&from=b",
        "/stores/counts?partitions=4",
        "/stores/counts?partitions=0,x",
        "/stores/counts?time_from=0",
        "/stores/counts?reverse=yes",
        "/stores/counts?key_format=hex",
        "/stores/by-number/ten",
        "/stores/by-number/99999999999999999999",
        "/stores/by-number/9223372036854775808",
        "/stores/by-number/1?key_format=base64",
        "/stores/by-number?from=x",
        "/stores/windows?prefix=a",
        "/stores/history",
        "/stores/history/ann?as_of=1&time_from=0",
        "/stores/join",
        "/stores/counts/%ff",
        "/stores/counts?from=%ff",
        "/feeds/counts?since=x",
        "/feeds/counts?since=9:1",
    ],
)
def test_wrong_requests_are_400_and_say_why(
    served: tuple[MemoryApplication, Client], path: str
) -> None:
    status, body, _ = served[1].get(path)
    assert status == 400
    assert body["code"]
    assert body["message"]


def test_keys_with_slashes_and_without_letters_are_found(
    served: tuple[MemoryApplication, Client],
) -> None:
    made, client = served
    status, body, _ = client.get("/stores/fast/" + quote("a/b ä", safe=""))
    assert (status, body["key"], body["value"]) == (200, "a/b ä", [1, None])
    assert client.get("/stores/fast/")[1]["value"] == "empty"
    assert "penstock-server" in made.threads


def test_numbers_are_keys_too(served: tuple[MemoryApplication, Client]) -> None:
    client = served[1]
    assert client.get("/stores/by-number/-3")[1]["value"] == 2
    assert client.get("/stores/by-number/AAAAAAAAAAE?key_format=base64")[1]["key"] == 1


def test_pages_go_on_until_everything_is_there(
    served: tuple[MemoryApplication, Client],
) -> None:
    client = served[1]
    path, found, pages = "/stores/counts", [], 0
    while path:
        status, body, headers = client.get(path)
        assert status == 200
        assert body["limit"] == 10
        assert body["truncated"] == (body["next"] is not None)
        assert [source["partition"] for source in body["sources"]] == [0, 1, 2, 3]
        assert headers["penstock-source"] == "owner"
        found += [row["key"] for row in body["rows"]]
        path, pages = body["next"], pages + 1
    assert found == [f"user-{number:02d}" for number in range(25)]
    assert pages == 3


def test_ranges_prefixes_and_the_reverse(served: tuple[MemoryApplication, Client]) -> None:
    client = served[1]

    def keys(query: str) -> list[str]:
        return [row["key"] for row in client.get(f"/stores/counts?{query}")[1]["rows"]]

    assert keys("from=user-03&to=user-05") == ["user-03", "user-04", "user-05"]
    assert keys("from=user-23") == ["user-23", "user-24"]
    assert keys("to=user-01&reverse=true") == ["user-01", "user-00"]
    assert keys("prefix=user-2") == [f"user-2{n}" for n in range(5)]
    assert keys("prefix=user-2&limit=2&reverse=true") == ["user-24", "user-23"]
    _, body, _ = client.get("/stores/counts?prefix=user-2&limit=2&reverse=true")
    assert [row["key"] for row in client.get(body["next"])[1]["rows"]] == ["user-22", "user-21"]


def test_single_partitions_can_be_read(served: tuple[MemoryApplication, Client]) -> None:
    made, client = served
    found = []
    for partition in range(4):
        _, body, _ = client.get(f"/stores/counts?partitions={partition}&cursors=true&limit=20")
        keys = [row["key"] for row in body["rows"]]
        assert {made.cluster.partition("counts", key) for key in keys} <= {partition}
        assert all(row["cursor"] for row in body["rows"])
        found += keys
    assert len(found) == 25


def test_windows_of_a_key_and_of_a_span(served: tuple[MemoryApplication, Client]) -> None:
    client = served[1]
    _, body, _ = client.get("/stores/windows/ann?time_from=1000&time_to=2500")
    assert [(row["window_start"], row["window_end"]) for row in body["rows"]] == [
        (1000, 2000),
        (2000, 3000),
    ]
    _, body, _ = client.get("/stores/windows?time_from=4000")
    assert [(row["key"], row["window_start"]) for row in body["rows"]] == [
        ("ann", 4000),
        ("bob", 4000),
    ]
    _, body, _ = client.get("/stores/windows/ann?limit=2&reverse=true")
    assert [row["window_start"] for row in body["rows"]] == [4000, 3000]
    assert [row["window_start"] for row in client.get(body["next"])[1]["rows"]] == [2000, 1000]


def test_sessions_and_versions(served: tuple[MemoryApplication, Client]) -> None:
    client = served[1]
    assert [row["value"] for row in client.get("/stores/sessions/ann")[1]["rows"]] == [1, 2]
    _, body, _ = client.get("/stores/sessions/ann?time_from=300")
    assert [row["window_start"] for row in body["rows"]] == [500]
    assert client.get("/stores/history/ann")[1]["value"] == "new"
    _, body, _ = client.get("/stores/history/ann?as_of=150")
    assert (body["value"], body["valid_to"]) == ("old", 200)
    _, body, _ = client.get("/stores/history/ann?time_from=0&time_to=500")
    assert [row["value"] for row in body["rows"]] == ["old", "new"]


def test_global_stores_are_answered_here(served: tuple[MemoryApplication, Client]) -> None:
    assert served[1].get("/stores/everywhere/de")[1]["value"] == "Germany"


def test_a_bound_that_is_not_reached_is_503(served: tuple[MemoryApplication, Client]) -> None:
    client = served[1]
    bound = json.dumps({"app-counts-changelog": {"0": 99, "1": 99, "2": 99, "3": 99}})
    status, body, headers = client.get("/stores/counts/user-01", Penstock_Position_Bound=bound)
    assert (status, body["code"], headers["retry-after"]) == (503, "not-up-to-bound", "1")
    assert client.get("/stores/counts/user-01", Penstock_Position_Bound="{")[0] == 400


def test_the_application_describes_itself(served: tuple[MemoryApplication, Client]) -> None:
    client = served[1]
    stores = {store["name"]: store for store in client.get("/stores")[1]["stores"]}
    assert stores["by-number"]["key_form"] == "long"
    assert stores["windows"]["window_size_ms"] == 1000
    assert client.get("/metadata")[1]["instances"][0]["id"] == "one"
    status, body, _ = client.get("/metadata/counts/user-01")
    assert (status, body["owner"]["id"]) == (200, "one")
    assert client.get("/topology")[1]["topology"]["version"] == 1
    assert client.get("/topology", Accept="image/svg+xml")[1].startswith(b"<svg")
    assert client.get("/topology.svg")[2]["content-type"].startswith("image/svg+xml")


def test_health_follows_the_facts(served: tuple[MemoryApplication, Client]) -> None:
    made, client = served
    status, body, _ = client.get("/health/ready")
    assert (status, body["status"], body["state"], body["total_lag"]) == (200, "UP", "RUNNING", 7)
    made.is_ready = False
    try:
        assert client.get("/health/ready")[0] == 503
        assert client.get("/health/live")[0] == 200
        made.state = "ERROR"
        assert client.get("/health/live")[1]["status"] == "DOWN"
    finally:
        made.is_ready, made.state = True, "RUNNING"


def test_head_has_headers_and_no_body(served: tuple[MemoryApplication, Client]) -> None:
    status, body, headers = served[1].get("/stores/counts/user-01", method="HEAD")
    assert (status, body) == (200, b"")
    assert headers["penstock-source"] == "owner"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_written(served: tuple[MemoryApplication, Client], method: str) -> None:
    assert served[1].get("/stores/counts/user-01", method=method)[0] == 403


def test_a_read_that_takes_too_long_is_504() -> None:
    made = application()
    made.may_read.clear()
    with ServingServer(made, ServerOptions(limits=Limits(request_s=0.2))) as server:
        client = Client(server.port)
        status, body, _ = client.get("/stores/counts/user-01")
        assert (status, body["code"]) == (504, "timed-out")
        made.may_read.set()
        until(lambda: client.get("/stores/counts/user-01")[0] == 200)


def test_health_is_answered_while_all_readers_are_busy(
    served: tuple[MemoryApplication, Client],
) -> None:
    made, client = served
    made.may_read.clear()
    before = made.reads
    readers = [threading.Thread(target=client.get, args=("/stores/counts",)) for _ in range(12)]
    try:
        for reader in readers:
            reader.start()
        until(lambda: made.reads == before + Limits().threads)
        assert client.get("/health/live")[0] == 200
        assert client.get("/metrics")[0] == 200
        assert all(reader.is_alive() for reader in readers)
    finally:
        made.may_read.set()
        for reader in readers:
            reader.join()


def test_an_unexpected_error_tells_nothing(
    served: tuple[MemoryApplication, Client], caplog: pytest.LogCaptureFixture
) -> None:
    made, client = served
    made.failure = RuntimeError("password=hunter2")
    try:
        status, body, _ = client.get("/stores/counts/user-01")
        assert (status, body["code"]) == (500, "internal-error")
        assert "hunter2" not in json.dumps(body)
    finally:
        made.failure = None
    assert "could not be answered" in caplog.text


def test_a_port_that_is_taken_is_named(served: tuple[MemoryApplication, Client]) -> None:
    made, client = served
    with pytest.raises(UnavailableError, match=f"cannot listen on 127.0.0.1:{client.port}"):
        ServingServer(made, ServerOptions(port=client.port)).start()


def test_a_server_that_is_stopped_leaves_no_thread() -> None:
    def own() -> set[threading.Thread]:
        return {each for each in threading.enumerate() if each.name.startswith("penstock-s")}

    before = own()
    server = ServingServer(application()).start()
    assert Client(server.port).get("/stores/counts/user-01")[0] == 200
    server.stop()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        Client(server.port).get("/stores")
    until(lambda: own() - before == set())


def test_without_the_extra_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "granian.server.embed", None)
    with pytest.raises(ConfigError, match=r"penstock-streams\[server\]"):
        ServingServer(application())
