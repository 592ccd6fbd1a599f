"""Any instance answers for any key, or says that no instance can answer now."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving import store_reader
from penstock.serving.application import Instance, Row
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import Cluster, MemoryApplication, store_info
from tests.unit.serving.test_server import Client

NAMES = ("one", "two", "three")
KEYS = [f"key-{number:03d}" for number in range(60)]


class Running:
    """Three instances of one application, each with its own server."""

    def __init__(self, options: ServerOptions) -> None:
        info = store_info("counts")
        self.cluster = Cluster({"counts": info})
        self.cluster.put("counts", *(Row(key, number) for number, key in enumerate(KEYS)))
        self.applications = {name: MemoryApplication(self.cluster, name) for name in NAMES}
        for name in NAMES:
            self.cluster.instances[name] = Instance(id=name)
        self.servers = {}
        for name, application in self.applications.items():
            server = ServingServer(application, options).start()
            self.servers[name] = server
            address = f"127.0.0.1:{server.port}"
            self.cluster.instances[name] = Instance(id=name, address=address)
        self.clients = {name: Client(server.port) for name, server in self.servers.items()}

    def stop(self) -> None:
        for server in self.servers.values():
            server.stop()


@pytest.fixture(scope="module")
def started() -> Iterator[Running]:
    running = Running(ServerOptions())
    yield running
    running.stop()


@pytest.fixture
def running(started: Running) -> Running:
    """Partitions 0 to 3: two at "one", one at "two", one at "three", copies at the next one."""
    cluster = started.cluster
    for partition, name in enumerate(("one", "one", "two", "three")):
        cluster.owners["counts", partition] = name
        cluster.copies["counts", partition] = [NAMES[(NAMES.index(name) + 1) % 3]]
    cluster.lags = dict.fromkeys(NAMES, 5)
    for name in NAMES:
        address = f"127.0.0.1:{started.servers[name].port}"
        cluster.instances[name] = Instance(id=name, address=address)
    return started


def test_every_instance_answers_every_key(running: Running) -> None:
    for name, client in running.clients.items():
        for number, key in enumerate(KEYS):
            status, body, headers = client.get(f"/stores/counts/{key}")
            owner = running.cluster.owners["counts", running.cluster.partition("counts", key)]
            assert (status, body["value"]) == (200, number), (name, key)
            assert headers["penstock-instance"] == body["source"]["instance"] == owner
            assert headers["penstock-source"] == "owner"


def test_a_page_is_gathered_from_all_owners(running: Running) -> None:
    for client in running.clients.values():
        status, body, headers = client.get("/stores/counts?limit=25")
        assert status == 200
        assert [row["key"] for row in body["rows"]] == KEYS[:25]
        assert {source["instance"] for source in body["sources"]} == set(NAMES)
        assert headers["penstock-instance"] == "one,three,two"
        assert all("cursor" not in row for row in body["rows"])
        _, body, _ = client.get(body["next"])
        assert [row["key"] for row in body["rows"]] == KEYS[25:50]
        _, body, _ = client.get("/stores/counts?reverse=true&limit=3")
        assert [row["key"] for row in body["rows"]] == KEYS[:-4:-1]


def test_while_a_partition_moves_the_answer_is_503(running: Running) -> None:
    del running.cluster.owners["counts", 2]
    key = next(key for key in KEYS if running.cluster.partition("counts", key) == 2)
    for client in running.clients.values():
        for path in (f"/stores/counts/{key}", "/stores/counts"):
            status, body, headers = client.get(path)
            assert (status, body["code"]) == (503, "partition-moving")
            assert headers["retry-after"] == "1"
        # Other partitions are not touched by that.
        other = next(key for key in KEYS if running.cluster.partition("counts", key) == 0)
        assert client.get(f"/stores/counts/{other}")[0] == 200


def test_a_caller_that_accepts_staleness_is_told_of_it(running: Running) -> None:
    del running.cluster.owners["counts", 2]
    key = next(key for key in KEYS if running.cluster.partition("counts", key) == 2)
    for client in running.clients.values():
        status, body, headers = client.get(f"/stores/counts/{key}?stale=true")
        assert (status, body["value"]) == (200, KEYS.index(key))
        assert (headers["penstock-source"], headers["penstock-lag"]) == ("standby", "5")
        assert (headers["penstock-instance"], body["source"]["lag"]) == ("three", 5)
        status, body, _ = client.get("/stores/counts?stale=true&limit=60")
        assert [row["key"] for row in body["rows"]] == KEYS
        assert body["sources"][2]["role"] == "standby"


def test_a_copy_that_is_too_far_behind_is_not_used(running: Running) -> None:
    del running.cluster.owners["counts", 2]
    key = next(key for key in KEYS if running.cluster.partition("counts", key) == 2)
    for client in running.clients.values():
        assert client.get(f"/stores/counts/{key}?max_lag=4")[0] == 503
        assert client.get(f"/stores/counts/{key}?max_lag=5")[0] == 200


def test_a_local_copy_saves_the_way_to_the_owner(running: Running) -> None:
    key = next(key for key in KEYS if running.cluster.partition("counts", key) == 0)
    _, _, headers = running.clients["two"].get(f"/stores/counts/{key}?stale=true")
    assert (headers["penstock-instance"], headers["penstock-source"]) == ("two", "standby")
    # Too far behind: the owner is asked after all.
    _, _, headers = running.clients["two"].get(f"/stores/counts/{key}?max_lag=1")
    assert (headers["penstock-instance"], headers["penstock-source"]) == ("one", "owner")


def test_an_owner_that_is_gone_is_503_or_a_copy(running: Running) -> None:
    gone = replace(running.cluster.instances["two"], address="127.0.0.1:9")
    running.cluster.instances["two"] = gone
    key = next(key for key in KEYS if running.cluster.partition("counts", key) == 2)
    status, body, _ = running.clients["one"].get(f"/stores/counts/{key}")
    assert (status, body["code"]) == (503, "instance-unreachable")
    status, _, headers = running.clients["one"].get(f"/stores/counts/{key}?stale=true")
    assert (status, headers["penstock-instance"]) == (200, "three")
    assert running.clients["one"].get("/stores/counts")[0] == 503
    assert running.clients["one"].get("/stores/counts?stale=true")[0] == 200


def test_instances_that_disagree_do_not_send_a_question_to_and_fro(running: Running) -> None:
    """A forwarded question is answered by the one that gets it, or not at all."""
    key = next(key for key in KEYS if running.cluster.partition("counts", key) == 2)
    before = {name: each.reads for name, each in running.applications.items()}
    status, body, _ = running.clients["one"].get(
        f"/stores/counts/{key}", Penstock_Forwarded_By="three"
    )
    assert (status, body["code"]) == (503, "partition-moving")
    assert {name: each.reads for name, each in running.applications.items()} == before


def test_credentials_go_along_with_a_forwarded_question() -> None:
    running = Running(ServerOptions(credentials=Credentials.of(read_tokens=("secret",))))
    try:
        running.cluster.give("two")
        client = running.clients["one"]
        assert client.get("/stores/counts/key-001")[0] == 401
        status, body, _ = client.get("/stores/counts/key-001", Authorization="Bearer secret")
        assert (status, body["value"]) == (200, 1)
    finally:
        running.stop()


def test_a_paused_owner_does_not_keep_a_copy_from_answering(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the connection and says nothing, because its system does that for it."""
    monkeypatch.setattr(store_reader, "_PEER_S", 0.2)
    cluster, key = running.cluster, KEYS[0]
    place = "counts", cluster.partition("counts", key)
    cluster.owners[place], cluster.copies[place] = "two", ["three"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        cluster.instances["two"] = Instance(id="two", address=address)
        status, body, headers = running.clients["one"].get(f"/stores/counts/{key}?stale=true")
    assert (status, body["value"]) == (200, 0)
    assert (headers["penstock-instance"], headers["penstock-source"]) == ("three", "standby")
