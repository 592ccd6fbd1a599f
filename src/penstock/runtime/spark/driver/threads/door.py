"""Where stream threads come in: the driver listens, and each thread opens one line."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Protocol, assert_never

import cloudpickle

from penstock.runtime.spark.exchange.channel import accepted, listen, receive, send, shut
from penstock.runtime.spark.exchange.questions import (
    End,
    FromThread,
    Hello,
    Printed,
    Worked,
)
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.worker_lines import show_lines

log = logging.getLogger(__name__)

#: So begins the line of the process beside a thread (``worker.process.pulse_process``).
PULSE = b"pulse "


@dataclass(frozen=True, slots=True, eq=False)
class LiveThread:
    """A stream thread whose line is open."""

    hello: Hello
    line: Connection
    #: Set when the line has ended.
    has_left: threading.Event = field(default_factory=threading.Event)

    @property
    def endpoint(self) -> Endpoint:
        return self.hello.endpoint

    def end(self) -> None:
        """Tell the thread to close what it has and to let its Spark task end."""
        try:
            send(self.line, End())
        except (OSError, ValueError) as error:
            log.debug("stream thread %s is gone already: %s", self.endpoint.server, error)

    def hang_up(self) -> None:
        """End the line: the thread learns that the driver has given it up."""
        shut(self.line)


class Hosting(Protocol):
    """Is told which threads come and go."""

    def arrived(self, thread: LiveThread) -> None: ...

    def left(self, thread: LiveThread) -> None: ...

    def beat(self, server: str, state: str) -> None: ...

    def worked(self, server: str, worked: Worked) -> None: ...


class Door:
    """Accept the lines of stream threads, and show what their programs print.

    Args:
        host: the address of the driver that executors know.
    """

    def __init__(self, host: str, secret: bytes, hosting: Hosting) -> None:
        self._secret = secret
        self._hosting = hosting
        self._socket = listen(host)
        self.endpoint = Endpoint("driver", host, self._socket.getsockname()[1], "driver")
        threading.Thread(target=self._accept, name="penstock-door", daemon=True).start()

    def close(self) -> None:
        """Let no more threads in."""
        # Closing alone would not wake the thread that accepts connections.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._socket.accept()
            except OSError:
                # The door was closed.
                return
            threading.Thread(
                target=self._serve, args=(opened,), name="penstock-line", daemon=True
            ).start()

    def _serve(self, opened: socket.socket) -> None:
        line = accepted(opened, self._secret)
        if line is None:
            return
        with line:
            thread: LiveThread | None = None
            try:
                first = line.recv_bytes()
                if first.startswith(PULSE):
                    self._hear(line, first.removeprefix(PULSE).decode())
                hello: Hello = cloudpickle.loads(first)
                thread = LiveThread(hello, line)
                self._hosting.arrived(thread)
                while True:
                    self._take(thread, receive(line))
            except (EOFError, OSError):
                log.debug("a stream thread has ended its line")
            finally:
                if thread is not None:
                    thread.has_left.set()
                    self._hosting.left(thread)

    def _take(self, thread: LiveThread, message: FromThread) -> None:
        match message:
            case Printed(lines):
                show_lines(lines)
            case Worked():
                self._hosting.worked(thread.endpoint.server, message)
            case _:
                assert_never(message)

    def _hear(self, line: Connection, server: str) -> None:
        """Take the beats of the process beside a thread, until its line ends."""
        while True:
            self._hosting.beat(server, line.recv_bytes().decode())
