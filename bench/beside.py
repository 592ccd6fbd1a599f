"""Measure what questions cost a running application: w2 with and without gets over HTTP."""

from __future__ import annotations

import random
import selectors
import socket
import statistics
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.alone import Alone, measure_alone
from bench.data import USERS

_CONNECTIONS = 16
_STORE = "counts"


@dataclass(slots=True)
class Gets:
    """What a client has seen: answers by status, and how long each took, in seconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    taken: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.taken) / self.seconds if self.seconds else 0.0

    def ms(self, percent: int) -> float:
        return statistics.quantiles(self.taken, n=100)[percent - 1] * 1000


def measure_beside(bootstrap: str, records: int, gets: int) -> tuple[Alone, Gets]:
    """Run w2 to the end of its input while a client asks ``gets`` times a second."""
    port = _free_port()
    settings = {"PENSTOCK_CONF_application.server": f"127.0.0.1:{port}"}
    found, is_over = Gets(), threading.Event()
    client = threading.Thread(target=_ask, args=(port, gets, found, is_over))
    client.start()
    try:
        run = measure_alone(bootstrap, "w2", records, style="expressions", environment=settings)
    finally:
        is_over.set()
        client.join()
    return run, found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ask(port: int, per_second: int, found: Gets, is_over: threading.Event) -> None:
    """Ask at a steady pace from the first answer of the store until the run is over."""
    if not per_second or not _wait_for(port, is_over):
        is_over.wait()
        return
    idle, selector = [], selectors.DefaultSelector()
    for _ in range(_CONNECTIONS):
        idle.append(socket.create_connection(("127.0.0.1", port)))
    began = time.perf_counter()
    sent = 0
    while not is_over.is_set():
        now = time.perf_counter()
        while idle and sent < (now - began) * per_second:
            connection = idle.pop()
            connection.sendall(_get(f"u{random.randrange(USERS)}"))
            selector.register(connection, selectors.EVENT_READ, time.perf_counter())
            sent += 1
        for key, _ in selector.select(0.001):
            opened: Any = key.fileobj
            answer = opened.recv(1 << 16)
            if not answer:
                found.seconds = time.perf_counter() - began
                return
            found.statuses[int(answer[9:12])] += 1
            found.taken.append(time.perf_counter() - key.data)
            selector.unregister(opened)
            idle.append(opened)
    found.seconds = time.perf_counter() - began


def _wait_for(port: int, is_over: threading.Event) -> bool:
    """Wait for the first answer: before the first batch the store says 503, ask again."""
    while not is_over.wait(0.05):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(_get("u0"))
                answer = connection.recv(1 << 16)
        except OSError:
            continue
        if answer and int(answer[9:12]) in (200, 404):
            return True
    return False


def _get(user: str) -> bytes:
    return f"GET /stores/{_STORE}/{user} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
