"""Instances that show themselves, and what others see of them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest

from penstock.runtime.spark.driver.instances import beacon as module
from penstock.runtime.spark.driver.instances.beacon import (
    Beacon,
    Life,
    Watch,
    is_loopback,
    look_at,
    this_machine,
)
from tests.runtime.slot_processes import happens


def test_a_watch_sees_who_leads() -> None:
    """And that it does no longer."""
    leads = [True]
    beacon = Beacon("127.0.0.1", "one", lambda: leads[0])
    changes: list[Life] = []
    watch = Watch("one", beacon.host, beacon.port, lambda: changes.append(watch.life))
    assert happens(lambda: watch.life is Life.LEADS, within_s=60)
    leads[0] = False
    assert happens(lambda: watch.life is Life.FOLLOWS, within_s=60)
    assert changes == [Life.LEADS, Life.FOLLOWS]
    watch.close()
    beacon.close()


def test_an_instance_that_has_ended_is_gone() -> None:
    """Its port is closed, and that is known at once."""
    beacon = Beacon("127.0.0.1", "one", lambda: True)
    watch = Watch("one", beacon.host, beacon.port, lambda: None)
    assert happens(lambda: watch.life is Life.LEADS, within_s=60)
    beacon.close()
    assert happens(lambda: watch.life is Life.GONE, within_s=60)
    watch.close()


def test_another_process_on_the_same_port_is_not_the_instance() -> None:
    """A port that is free again may be given to anybody."""
    beacon = Beacon("127.0.0.1", "two", lambda: True)
    watch = Watch("one", beacon.host, beacon.port, lambda: None)
    assert happens(lambda: watch.life is Life.GONE, within_s=60)
    watch.close()
    beacon.close()


def test_a_stranger_that_speaks_otherwise_is_not_the_instance() -> None:
    """It may be any server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        watch = Watch("one", *server.getsockname(), lambda: None)
        opened, _ = server.accept()
        opened.sendall(b"HTTP/1.1 400 Bad Request\r\n\n")
        assert happens(lambda: watch.life is Life.GONE, within_s=60)
        watch.close()
        opened.close()


def test_a_paused_instance_is_silent_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may wake up: only the group may decide that somebody else leads."""
    monkeypatch.setattr(module, "_SILENCE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        watch = Watch("one", *server.getsockname(), lambda: None)
        opened, _ = server.accept()
        opened.sendall(b'{"instance": "one"}\nL')
        assert happens(lambda: watch.life is Life.SILENT, within_s=60)
        watch.close()
        opened.close()


def test_a_refused_connection_to_a_machine_that_was_never_reached_proves_nothing() -> None:
    """It may be a firewall that refuses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    watch = Watch("one", *address, lambda: None, is_near=False)
    assert happens(lambda: watch.life is Life.SILENT, within_s=5)
    watch.close()


def test_an_instance_of_another_machine_that_was_reached_and_refuses_is_gone() -> None:
    beacon = Beacon("127.0.0.1", "one", lambda: True)
    watch = Watch("one", beacon.host, beacon.port, lambda: None, is_near=False)
    assert happens(lambda: watch.life is Life.LEADS, within_s=5)
    beacon.close()
    assert happens(lambda: watch.life is Life.GONE, within_s=5)
    watch.close()


def test_a_connection_that_is_closed_without_a_word_proves_nothing() -> None:
    """Proxies accept connections for processes that they cannot reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        watch = Watch("one", *server.getsockname(), lambda: None)
        server.accept()[0].close()
        assert happens(lambda: watch.life is Life.SILENT, within_s=5)
        watch.close()


def test_an_end_on_this_machine_is_final(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent process that gets the port later is not taken for the instance."""
    monkeypatch.setattr(module, "_BEAT_S", 0.01)
    monkeypatch.setattr(module, "_SILENCE_S", 0.05)
    beacon = Beacon("127.0.0.1", "one", lambda: True)
    watch = Watch("one", beacon.host, beacon.port, lambda: None)
    assert happens(lambda: watch.life is Life.LEADS, within_s=60)
    beacon.close()
    assert happens(lambda: watch.life is Life.GONE, within_s=60)
    with socket.create_server((beacon.host, beacon.port)):
        assert not happens(lambda: watch.life is not Life.GONE, within_s=0.5)
    watch.close()


_FORKING = """
import os, sys, time
from penstock.runtime.spark.driver.instances.beacon import Beacon
beacon = Beacon("127.0.0.1", "one", lambda: True)
print(beacon.port, flush=True)
sys.stdin.readline()
child = os.fork()
if child == 0:
    time.sleep(600)
print(child, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="there is no fork")
def test_a_child_of_an_instance_does_not_keep_it_alive() -> None:
    """A program may fork, for a pool of processes say. The child has copies of all open sockets."""
    process = subprocess.Popen(
        [sys.executable, "-c", _FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    watch = Watch("one", "127.0.0.1", int(process.stdout.readline()), lambda: None)
    assert happens(lambda: watch.life is Life.LEADS, within_s=60)
    process.stdin.write("fork\n")
    process.stdin.flush()
    child = int(process.stdout.readline())
    try:
        assert not happens(lambda: watch.life is not Life.LEADS, within_s=1)
        process.kill()
        assert happens(lambda: watch.life is Life.GONE, within_s=60)
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()
        watch.close()


@pytest.mark.parametrize(
    ("name", "is_near", "seen"),
    [
        ("leads", True, Life.LEADS), ("follows", True, Life.FOLLOWS), ("other", True, Life.GONE),
        ("other", False, Life.SILENT), ("ended", True, Life.GONE), ("ended", False, Life.SILENT),
        ("silent", True, Life.SILENT),
    ],
)  # fmt: skip
def test_one_look_tells_what_an_instance_says(name: str, is_near: bool, seen: Life) -> None:
    """What does not answer, or answers for another one, says nothing of another machine."""
    said = name if name in ("leads", "follows") else "another"
    beacon = Beacon("127.0.0.1", said, lambda: name == "leads")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if name == "silent" else beacon.port
        if name == "ended":
            beacon.close()
        timeout_s = 0.3 if name == "silent" else 30.0
        assert look_at(name, beacon.host, port, is_near=is_near, timeout_s=timeout_s) is seen
    beacon.close()


def test_a_beacon_outlives_a_failure_to_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has too many files open for a moment is not gone for ever."""
    monkeypatch.setattr(module, "_BEAT_S", 0.01)
    failing = FailingSocket(socket.create_server(("127.0.0.1", 0)), failures=3)
    monkeypatch.setattr(module, "listen", lambda host: failing)
    beacon = Beacon("127.0.0.1", "one", lambda: True)
    watch = Watch("one", beacon.host, beacon.port, lambda: None)
    assert happens(lambda: watch.life is Life.LEADS, within_s=10)
    assert failing.failures == 0
    watch.close()
    beacon.close()


class FailingSocket:
    def __init__(self, real: socket.socket, failures: int) -> None:
        self._real, self.failures = real, failures

    def accept(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise OSError(24, "Too many open files")
        return self._real.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize(
    ("host", "leads_back"),
    [
        ("127.0.0.1", True), ("127.0.1.1", True), ("::1", True), ("[::1]", True),
        ("localhost", True), ("0.0.0.0", True), ("10.1.2.3", False), ("kafka-1", False),
    ],
)  # fmt: skip
def test_some_addresses_lead_back_to_whoever_uses_them(host: str, leads_back: bool) -> None:
    assert is_loopback(host) is leads_back


def test_a_machine_has_a_name_of_its_own() -> None:
    assert this_machine() == this_machine() != ""


def test_many_connections_do_not_cost_a_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody who reaches the port may connect."""
    monkeypatch.setattr(module, "_MOST_WATCHERS", 3)
    monkeypatch.setattr(module, "_BEAT_S", 0.01)
    beacon = Beacon("127.0.0.1", "one", lambda: True)
    address = beacon.host, beacon.port
    opened = [socket.create_connection(address, timeout=5) for _ in range(10)]
    heard = [_first_byte(each) for each in opened]
    assert heard.count(b"{") == 3
    for each in opened:
        each.close()
    watch = Watch("one", *address, lambda: None)
    assert happens(lambda: watch.life is Life.LEADS, within_s=10)
    watch.close()
    beacon.close()


def _first_byte(opened: socket.socket) -> bytes:
    try:
        return opened.recv(1)
    except ConnectionError:
        return b""
