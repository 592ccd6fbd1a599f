"""Shows other instances that this one is alive, and watches whether the leader is.

The consumer group finds out that an instance is gone when its session ends, after 15 seconds. An
instance whose process was killed is known to be gone at once, by whoever has a connection to it:
the operating system closes it. Only silence, of a machine that lost its network say, has to be
waited for.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from enum import Enum

from penstock.runtime.spark.exchange.channel import listen

log = logging.getLogger(__name__)

_BEAT_S = 0.5
_CONNECT_S = 2.0
#: An instance that has not shown itself for so long may be paused.
_SILENCE_S = 3.0
_LEADS, _FOLLOWS = b"L", b"F"


class Beacon:
    """Listens on a port and writes to every connection, twice a second, whether this one leads.

    It says nothing that needs protection: the first line names the instance, so that another
    process that got the port later is not taken for it.
    """

    def __init__(self, host: str, instance: str, leads: Callable[[], bool]) -> None:
        self._instance = instance
        self._leads = leads
        self._closing = threading.Event()
        self._socket = listen(host)
        self.host, self.port = host, self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="penstock-beacon", daemon=True).start()

    def close(self) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            # Wakes the thread that accepts.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                opened, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._show, args=(opened,), daemon=True).start()

    def _show(self, opened: socket.socket) -> None:
        with opened, contextlib.suppress(OSError):
            opened.settimeout(_SILENCE_S)
            opened.sendall(json.dumps({"instance": self._instance}).encode() + b"\n")
            while not self._closing.is_set():
                opened.sendall(_LEADS if self._leads() else _FOLLOWS)
                self._closing.wait(_BEAT_S)


class Life(Enum):
    """What is known of another instance."""

    UNKNOWN = "unknown"
    LEADS = "leads"
    FOLLOWS = "follows"
    SILENT = "silent"
    GONE = "gone"


class Watch:
    """Looks at one instance until ``close``; ``life`` says what it saw last.

    Args:
        changed: called from another thread when ``life`` has changed.
    """

    def __init__(self, instance: str, host: str, port: int, changed: Callable[[], None]) -> None:
        self.instance = instance
        self.life = Life.UNKNOWN
        self._address = host, port
        self._changed = changed
        self._closing = threading.Event()
        threading.Thread(target=self._run, name="penstock-watch", daemon=True).start()

    def close(self) -> None:
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with socket.create_connection(self._address, timeout=_CONNECT_S) as opened:
                    self._look(opened)
            except ConnectionRefusedError:
                # Nothing listens there any more: the process has ended.
                self._see(Life.GONE)
            except OSError:
                # No route, or no answer: it may be alive, and only not to be reached from here.
                self._see(Life.SILENT)
            else:
                # It has closed the connection; the next try tells whether it is still there.
                continue
            self._closing.wait(_BEAT_S)

    def _look(self, opened: socket.socket) -> None:
        opened.settimeout(_SILENCE_S)
        if self._name(opened) != self.instance:
            self._see(Life.GONE)
            return
        while not self._closing.is_set():
            seen = opened.recv(64)
            if not seen:
                return
            self._see(Life.LEADS if seen[-1:] == _LEADS else Life.FOLLOWS)

    @staticmethod
    def _name(opened: socket.socket) -> str:
        line = b""
        deadline = time.monotonic() + _SILENCE_S
        while not line.endswith(b"\n") and time.monotonic() < deadline and len(line) < 1000:
            read = opened.recv(1)
            if not read:
                break
            line += read
        try:
            return str(json.loads(line)["instance"])
        except (ValueError, KeyError, TypeError):
            return ""

    def _see(self, life: Life) -> None:
        if life is not self.life:
            self.life = life
            self._changed()
