"""Run a program as if on another machine: its 127.0.0.1 is not ours, but it reaches the broker.

``unshare --net python -m tests.failover.elsewhere PORT SOCKET COMMAND …`` brings the loopback
interface of a new network namespace up, forwards PORT there to the Unix socket SOCKET, and becomes
COMMAND.
``Bridge`` is the other end: it forwards the Unix socket to the same port of this machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_PR_SET_PDEATHSIG = 1


class Bridge:
    """Forwards connections to a Unix socket to a port of this machine."""

    def __init__(self, path: Path, port: int) -> None:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        forward = _forwarder(lambda: socket.create_connection(("127.0.0.1", port)))
        threading.Thread(target=forward, args=(self._listening,), daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


def _forwarder(connect: Callable[[], socket.socket]) -> Callable[[socket.socket], None]:
    """Return what accepts connections and copies bytes between each one and a new one."""

    def forward(listening: socket.socket) -> None:
        while True:
            try:
                opened, _ = listening.accept()
                other = connect()
            except OSError:
                return
            for source, target in ((opened, other), (other, opened)):
                threading.Thread(target=_copy, args=(source, target), daemon=True).start()

    return forward


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _bring_loopback_up() -> None:
    with socket.socket() as any_socket:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))


def _connect_to(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.connect(path)
    return made


def main(port: str, path: str, *command: str) -> None:
    _bring_loopback_up()
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    if os.fork() == 0:
        # The forwarder ends with the program.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _forwarder(lambda: _connect_to(path))(listening)
        os._exit(0)
    listening.close()
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
