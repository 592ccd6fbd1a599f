"""An instance that stands by shows what the leader does: samples, commits, feeds."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import replace

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.application import Instance, Row
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import Cluster, MemoryApplication, store_info, until
from tests.unit.serving.test_server import Client

TOKEN = "secret"


class Pair:
    """An instance that leads, and one that stands by; each knows its own cluster."""

    def __init__(self, options: ServerOptions) -> None:
        self.leads, self.stands_by = (self._one(name) for name in ("one", "two"))
        self.leads.cluster.put("counts", Row("ann", 1))
        self.leads.cluster.write("counts", ("ann", 2))
        self.leads.cluster.commit(7)
        self.servers = [
            ServingServer(each, options).start() for each in (self.leads, self.stands_by)
        ]
        self.know(*(f"127.0.0.1:{server.port}" for server in self.servers))
        self.leader, self.follower = (Client(server.port) for server in self.servers)

    def know(self, leader: str, follower: str) -> None:
        for each in (self.leads, self.stands_by):
            each.cluster.instances["one"] = Instance(id="one", address=leader, is_leader=True)
            each.cluster.instances["two"] = Instance(id="two", address=follower)

    @staticmethod
    def _one(name: str) -> MemoryApplication:
        cluster = Cluster({"counts": store_info("counts")})
        cluster.give("one")
        return MemoryApplication(cluster, name)

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair(ServerOptions())
    yield made
    made.stop()


def test_the_leader_answers_for_an_instance_that_stands_by(pair: Pair) -> None:
    status, body, headers = pair.follower.get("/status")
    assert (status, body["instance"]) == (200, "one")
    assert headers["penstock-answered-by"] == f"127.0.0.1:{pair.leader.port}"
    for path in ("/commits", "/status/history", "/journeys", "/stores/counts/ann?commit=7"):
        status, body, _ = pair.follower.get(path)
        assert (status, body) == pair.leader.get(path)[:2], path
    assert pair.follower.get("/commits")[1]["commits"][0]["number"] == 7
    # What an instance knows by itself it answers by itself.
    assert pair.follower.get("/metadata")[1]["instance"] == "two"
    # Errors of the leader are answers, too.
    assert pair.follower.get("/status?what=1")[0] == 400


def test_a_feed_is_passed_on_and_ends_with_its_reader(pair: Pair) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", pair.follower.port, timeout=60)
    connection.request("GET", "/status/feed")
    feed = connection.getresponse()
    lines = [feed.readline() for _ in range(2)]
    assert lines[0] == b"event: status\n"
    assert b'"instance":"one"' in lines[1]
    until(lambda: pair.leads.watched)
    feed.close()
    connection.close()
    until(lambda: not pair.leads.watched)


def test_without_its_leader_an_instance_answers_by_itself(pair: Pair) -> None:
    pair.know("127.0.0.1:9", "127.0.0.1:9")
    assert pair.follower.get("/status")[1]["instance"] == "two"
    gone = pair.stands_by.cluster.instances["one"]
    pair.stands_by.cluster.instances["one"] = replace(gone, is_leader=False)
    assert pair.follower.get("/status")[1]["instance"] == "two"


def test_instances_that_each_take_the_other_for_the_leader_answer(pair: Pair) -> None:
    own = pair.leads.cluster.instances
    own["one"] = replace(own["one"], is_leader=False)
    own["two"] = replace(own["two"], is_leader=True)
    assert pair.follower.get("/status")[1]["instance"] == "one"
    assert pair.leader.get("/status")[1]["instance"] == "two"


def test_the_leader_decides_who_may_read() -> None:
    made = Pair(ServerOptions(credentials=Credentials.of(read_tokens=(TOKEN,))))
    try:
        assert made.follower.get("/status")[0] == 401
        status, body, _ = made.follower.get("/status", Authorization=f"Bearer {TOKEN}")
        assert (status, body["instance"]) == (200, "one")
    finally:
        made.stop()
