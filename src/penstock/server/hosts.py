"""The other nodes of a service, as one node knows them: which are alive, and their queries."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import orjson

from penstock.errors import PenstockError

_log = logging.getLogger("penstock.server")
#: A host that has sent nothing for this many seconds is not alive.
_ALIVE_S = 10.0
_SEND_S = 1.0
#: How many hosts are remembered. There is a limit, since a request may name any host.
_MOST_HOSTS = 256


@dataclass(frozen=True, slots=True)
class HostReport:
    """The last message of a host."""

    host: str
    #: When it arrived, by this node's clock.
    heard_ms: int
    statuses: Mapping[str, str] = field(default_factory=dict)


class _Word(msgspec.Struct):
    """The message of a host, as a record of the topic contains it."""

    host: str
    statuses: dict[str, str]


_decode = msgspec.json.Decoder(_Word).decode


class HostTopic(Protocol):
    """How hosts send messages to each other; in a server it is a Kafka topic."""

    def send(self, value: bytes) -> None: ...
    def read(self) -> list[bytes]:
        """Return the next messages; an empty list if none arrives within a moment."""

    def close(self) -> None: ...


class Hosts:
    """Send this node's message once a second, and keep the last message of every other node.

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
        """Begin to send what ``statuses`` returns, and to read the messages of others."""
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
        """Store the message of a host.

        Args:
            host: Host and port.
            statuses: The status of each of its queries; None if it only said that it is alive.
        """
        with self._lock:
            known = self._known.pop(host, None)
            if statuses is None:
                statuses = {} if known is None else known.statuses
            self._known[host] = HostReport(host, self._clock(), dict(statuses))
            while len(self._known) > _MOST_HOSTS:
                # The first one is the host that has been silent for the longest time.
                del self._known[next(iter(self._known))]

    def reports(self) -> dict[str, tuple[HostReport, bool]]:
        """Return the last message of every other host, and whether it is alive."""
        now = self._clock()
        with self._lock:
            return {
                host: (report, now - report.heard_ms < _ALIVE_S * 1000)
                for host, report in self._known.items()
                if host != self.host
            }

    def statuses(self, query_id: str) -> dict[str, str]:
        """Return the status of a query on the other hosts; a silent host is UNRESPONSIVE."""
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
            try:
                values = self._topic.read()
            except PenstockError as error:
                _log.warning("the topic of hosts cannot be read now: %s", error)
                self._closing.wait(_SEND_S)
                continue
            for value in values:
                try:
                    word = _decode(value)
                    self.hear(word.host, word.statuses)
                except (msgspec.MsgspecError, ValueError):
                    _log.warning("a record of the topic of hosts cannot be read: %r", value[:80])
