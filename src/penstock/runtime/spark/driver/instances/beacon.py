"""Shows other instances that this one is alive, and watches whether the leader is.

The consumer group finds out that an instance is gone when its session ends, after 15 seconds. If
its process was killed, every instance with a connection to it knows at once, because the operating
system closes the connection. Only the silence of a machine, for example one without network, takes
longer to notice.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import os
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from enum import Enum
from functools import cache
from pathlib import Path

from penstock.runtime.spark.exchange.channel import listen

log = logging.getLogger(__name__)

_BEAT_S = 0.5
_CONNECT_S = 2.0
#: An instance that has sent nothing for this time may be paused.
_SILENCE_S = 3.0
_LEADS, _FOLLOWS = b"L", b"F"
#: How many instances can watch one at the same time.
_MOST_WATCHERS = 100


#: The sockets of this process's beacons.
_SOCKETS: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_in_child() -> None:
    """Close the copies that a forked child has: they would outlive a parent that is killed."""
    for each in list(_SOCKETS):
        each.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


class Beacon:
    """Sends to every connection, twice a second, whether this instance leads.

    It sends nothing secret. The first line names the instance, so that another process which uses
    the same port later is not mistaken for it.
    """

    def __init__(self, host: str, instance: str, leads: Callable[[], bool]) -> None:
        self._instance = instance
        self._leads = leads
        self._closing = threading.Event()
        self._free = threading.Semaphore(_MOST_WATCHERS)
        self._socket = listen(host)
        _SOCKETS.add(self._socket)
        self.host, self.port = host, self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="penstock-beacon", daemon=True).start()

    def close(self) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            # This wakes the thread that waits in accept().
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                opened, _ = self._socket.accept()
            except OSError:
                # Closed; or the process has too many files open, which may pass.
                self._closing.wait(_BEAT_S)
                continue
            if not self._free.acquire(blocking=False):
                # Each connection costs a thread, and any program may connect.
                opened.close()
                continue
            _SOCKETS.add(opened)
            threading.Thread(target=self._show, args=(opened,), daemon=True).start()

    def _show(self, opened: socket.socket) -> None:
        try:
            with opened, contextlib.suppress(OSError):
                opened.settimeout(_SILENCE_S)
                opened.sendall(json.dumps({"instance": self._instance}).encode() + b"\n")
                while not self._closing.is_set():
                    opened.sendall(_LEADS if self._leads() else _FOLLOWS)
                    self._closing.wait(_BEAT_S)
        finally:
            self._free.release()


class Life(Enum):
    """What is known of another instance."""

    UNKNOWN = "unknown"
    LEADS = "leads"
    FOLLOWS = "follows"
    SILENT = "silent"
    GONE = "gone"


_SAID = {_LEADS: Life.LEADS, _FOLLOWS: Life.FOLLOWS}


class Watch:
    """Watches one instance until ``close``; ``life`` is its last known state.

    Args:
        changed: called from another thread when ``life`` has changed.
        is_near: whether the instance is on this machine. Then a refused connection proves that the
            process has ended, even if another one uses its port later. A connection to another
            machine may be refused by a firewall. So there a refusal proves it only if the instance
            was reached before.
    """

    def __init__(
        self,
        instance: str,
        host: str,
        port: int,
        changed: Callable[[], None],
        *,
        is_near: bool = True,
    ) -> None:
        self.instance = instance
        self.life = Life.UNKNOWN
        #: When ``life`` last changed, by the monotonic clock.
        self.since = time.monotonic()
        self._is_near = self._is_proof = is_near
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
                self._see(Life.GONE if self._is_proof else Life.SILENT)
                if self._is_near:
                    return
            except OSError:
                # No route or no answer: it may be alive, but it cannot be reached from here.
                self._see(Life.SILENT)
            else:
                # It has closed the connection; the next try tells whether it is still there.
                continue
            self._closing.wait(_BEAT_S)

    def _look(self, opened: socket.socket) -> None:
        opened.settimeout(_SILENCE_S)
        line = _first_line(opened)
        if _name_in(line) != self.instance:
            # If nothing was sent, it may be a proxy that accepts connections for others.
            self._see(Life.GONE if line else Life.SILENT)
            self._closing.wait(_BEAT_S)
            return
        self._is_proof = True
        while not self._closing.is_set():
            seen = opened.recv(64)
            if not seen:
                return
            self._see(Life.LEADS if seen[-1:] == _LEADS else Life.FOLLOWS)

    def _see(self, life: Life) -> None:
        if life is not self.life:
            self.since = time.monotonic()
            self.life = life
            self._changed()


def look_at(instance: str, host: str, port: int, *, is_near: bool, timeout_s: float) -> Life:
    """Look at an instance once: what it says of itself, ``GONE``, or ``SILENT``.

    Args:
        is_near: whether the instance is on this machine, where a refused connection is a proof.
    """
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as opened:
            line = _first_line(opened)
            if _name_in(line) != instance:
                return Life.GONE if line and is_near else Life.SILENT
            return _SAID.get(opened.recv(1), Life.SILENT)
    except ConnectionRefusedError:
        return Life.GONE if is_near else Life.SILENT
    except OSError:
        return Life.SILENT


def _first_line(opened: socket.socket) -> bytes:
    line = b""
    deadline = time.monotonic() + _SILENCE_S
    while not line.endswith(b"\n") and time.monotonic() < deadline and len(line) < 1000:
        read = opened.recv(1)
        if not read:
            break
        line += read
    return line


def _name_in(line: bytes) -> str:
    try:
        return str(json.loads(line)["instance"])
    except (ValueError, KeyError, TypeError):
        return ""


@cache
def this_machine() -> str:
    """Return a name of the machine, or of the container: what shares its loopback addresses."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:
        return f"{socket.gethostname()}-{uuid.getnode():x}"


def is_loopback(host: str) -> bool:
    """Tell whether an address leads back to the machine that uses it."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        # A connection to 0.0.0.0 goes to the own machine.
        return address.is_loopback or address.is_unspecified
    except ValueError:
        return host.lower() == "localhost"
