"""Forward TCP connections, and hold everything back while the network is said to be cut."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

_PIECE = 64 * 1024


class Relay:
    """Listens at one address and forwards to another, until the process ends.

    While it is cut, nothing passes and nothing is closed: to both sides it looks as if packets
    were lost. What was sent meanwhile arrives afterwards.
    """

    def __init__(self, address: str, port: int, target: str) -> None:
        self._target = target, port
        self._passes = threading.Event()
        self._passes.set()
        self._socket = socket.create_server((address, port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._passes.clear()

    def join(self) -> None:
        self._passes.set()

    def close(self) -> None:
        self._passes.set()
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._passes.wait()
        try:
            server = socket.create_connection(self._target, timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                self._passes.wait()
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
