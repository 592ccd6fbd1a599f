"""What nodes tell each other: who is alive, and what queries do elsewhere.

Exercises ``server.host_topic`` by its name.
"""

from __future__ import annotations

import queue
import threading

import pytest

from penstock.server.host_topic import hosts_topic
from penstock.server.hosts import Hosts
from tests.unit.server.memory import new_node
from tests.unit.server.test_node import wait_until


class Wire:
    """What one host says, all hosts read."""

    def __init__(self) -> None:
        self.ends: list[queue.Queue[bytes]] = []

    def end(self) -> End:
        made = End(self)
        self.ends.append(made.inbox)
        return made


class End:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.inbox: queue.Queue[bytes] = queue.Queue()
        self.is_closed = threading.Event()

    def send(self, value: bytes) -> None:
        for inbox in self._wire.ends:
            inbox.put(value)

    def read(self) -> list[bytes]:
        try:
            return [self.inbox.get(timeout=0.05)]
        except queue.Empty:
            return []

    def close(self) -> None:
        self.is_closed.set()


def test_hosts_learn_what_queries_do_elsewhere() -> None:
    """The status of a query is known per host."""
    wire = Wire()
    one, two = Hosts("a:1", wire.end()), Hosts("b:2", wire.end())
    one.start(lambda: {"Q": "RUNNING"})
    two.start(lambda: {"Q": "ERROR"})
    try:
        wait_until(lambda: one.statuses("Q") == {"b:2": "ERROR"})
        wait_until(lambda: two.statuses("Q") == {"a:1": "RUNNING"})
        assert one.statuses("OTHER") == {}
    finally:
        one.close()
        two.close()


def test_silent_host_is_unresponsive() -> None:
    """A host that was killed says nothing more, and nobody believes its last word for long."""
    now = 0
    hosts = Hosts("a:1", clock=lambda: now)
    hosts.hear("b:2", {"Q": "RUNNING"})
    assert hosts.statuses("Q") == {"b:2": "RUNNING"}
    now = 60_000
    assert hosts.statuses("Q") == {"b:2": "UNRESPONSIVE"}
    ((report, is_alive),) = hosts.reports().values()
    assert (report.host, is_alive) == ("b:2", False)


@pytest.mark.parametrize(
    "rubbish", [b"rubbish", b"[]", b'{"host": "b:2", "statuses": {"Q": ["RUNNING"]}}']
)
def test_rubbish_is_left_alone(rubbish: bytes) -> None:
    """A record that nobody understands does not stop the reader, nor the listings of queries."""
    wire = Wire()
    end = wire.end()
    hosts = Hosts("a:1", end)
    hosts.start(dict)
    try:
        end.inbox.put(rubbish)
        end.inbox.put(b'{"host": "c:3", "statuses": {"Q": "PAUSED"}}')
        wait_until(lambda: hosts.statuses("Q") == {"c:3": "PAUSED"})
    finally:
        hosts.close()
    assert end.is_closed.is_set()


def test_topic_is_named_after_the_service() -> None:
    """Services on one cluster do not hear each other."""
    assert hosts_topic("shop_") == "_penstock-sql-shop_-hosts"


def test_node_is_known_by_the_port_that_it_got() -> None:
    """A server that takes any free port learns it when it listens, and only then tells others."""
    wire = Wire()
    other = Hosts("b:2", wire.end())
    node, _ = new_node(host="127.0.0.1:0", hosts=Hosts("127.0.0.1:0", wire.end()))
    other.start(dict)
    with node:
        node.announce("127.0.0.1:4711")
        assert node.host == "127.0.0.1:4711"
        wait_until(lambda: set(other.reports()) == {"127.0.0.1:4711"})
        wait_until(lambda: set(node.hosts.reports()) == {"b:2"})
    other.close()


def test_hosts_are_not_remembered_without_end() -> None:
    """Whoever may ask can name hosts; a beat without a word about queries keeps the last one."""
    hosts = Hosts("a:1")
    hosts.hear("b:2", {"Q": "RUNNING"})
    hosts.hear("b:2")
    assert hosts.statuses("Q") == {"b:2": "RUNNING"}
    for number in range(1_000):
        hosts.hear(f"h:{number}")
    assert len(hosts.reports()) == 256
    assert "h:999" in hosts.reports()
