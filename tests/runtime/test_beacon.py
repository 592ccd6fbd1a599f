"""Instances that show themselves, and what others see of them."""

from __future__ import annotations

import socket

import pytest

from penstock.runtime.spark.driver.instances import beacon as module
from penstock.runtime.spark.driver.instances.beacon import Beacon, Life, Watch
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
