"""What a node knows of the other nodes of its service: who is there, and what their queries do."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import orjson

_log = logging.getLogger("penstock.server")
#: A host that was not heard of for so long is not alive.
_ALIVE_S = 10.0
_SEND_S = 1.0
#: Hosts that are remembered: whoever may ask can name as many as he likes.
_MOST_HOSTS = 256


@dataclass(frozen=True, slots=True)
class HostReport:
    """The last word of a host."""

    host: str
    #: When it was heard, by this node's clock.
    heard_ms: int
    statuses: Mapping[str, str] = field(default_factory=dict)


class _Word(msgspec.Struct):
    """What a host says of itself, as a record of the topic has it."""

    host: str
    statuses: dict[str, str]


_decode = msgspec.json.Decoder(_Word).decode


class HostTopic(Protocol):
    """How hosts tell each other; in a server it is a topic."""

    def send(self, value: bytes) -> None: ...
    def read(self) -> list[bytes]:
        """Return what has come since; empty after a short while without anything."""

    def close(self) -> None: ...


class Hosts:
    """Sends this node's word once a second, and keeps the last word of every other node.

    Args:
        host: This node.
        topic: How to reach the others; None for a node that is alone.
        clock: The time in milliseconds, for tests.
    """

    def __init__(
        self,
        host: str,
        topic: HostTopic | None = None,
        *,
        clock: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self.host, self._topic, self._clock = host, topic, clock
        self._known: dict[str, HostReport] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, statuses: Callable[[], Mapping[str, str]]) -> None:
        """Begin to tell what ``statuses`` returns, and to listen."""
        if self._topic is None:
            return
        jobs: list[tuple[str, Callable[[], None]]] = [
            ("penstock-hosts-send", lambda: self._send(statuses)),
            ("penstock-hosts-read", self._read),
        ]
        for name, job in jobs:
            thread = threading.Thread(target=job, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join(5.0)
        if self._topic is not None:
            self._topic.close()

    def hear(self, host: str, statuses: Mapping[str, str] | None = None) -> None:
        """Take the word of a host.

        Args:
            host: Host and port.
            statuses: What its queries do; None if it only said that it is alive.
        """
        with self._lock:
            known = self._known.pop(host, None)
            if statuses is None:
                statuses = {} if known is None else known.statuses
            self._known[host] = HostReport(host, self._clock(), dict(statuses))
            while len(self._known) > _MOST_HOSTS:
                # The one that was not heard of for the longest time.
                del self._known[next(iter(self._known))]

    def reports(self) -> dict[str, tuple[HostReport, bool]]:
        """Return the last word of every other host, and whether it is alive."""
        now = self._clock()
        with self._lock:
            return {
                host: (report, now - report.heard_ms < _ALIVE_S * 1000)
                for host, report in self._known.items()
                if host != self.host
            }

    def statuses(self, query_id: str) -> dict[str, str]:
        """Return what a query does on the other hosts; one that is silent is UNRESPONSIVE."""
        return {
            host: report.statuses[query_id] if is_alive else "UNRESPONSIVE"
            for host, (report, is_alive) in self.reports().items()
            if query_id in report.statuses
        }

    def _send(self, statuses: Callable[[], Mapping[str, str]]) -> None:
        assert self._topic is not None
        while not self._closing.is_set():
            word: dict[str, Any] = {"host": self.host, "statuses": dict(statuses())}
            try:
                self._topic.send(orjson.dumps(word))
            except Exception as error:  # noqa: BLE001 - the next second tries again
                _log.warning("other servers cannot be told: %s", error)
            self._closing.wait(_SEND_S)

    def _read(self) -> None:
        assert self._topic is not None
        while not self._closing.is_set():
            for value in self._topic.read():
                try:
                    word = _decode(value)
                    self.hear(word.host, word.statuses)
                except msgspec.MsgspecError:
                    _log.warning("a record of the topic of hosts cannot be read: %r", value[:80])
