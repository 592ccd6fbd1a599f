"""TCP connections between driver and stream threads; both sides prove that they know a secret.

Messages are pickles, and a pickle can run code. So only a process that can already run code in
the application may connect. The driver makes the secret. It reaches the workers through Spark's
own channel, and is never sent over these connections.
"""

from __future__ import annotations

import logging
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any, assert_never

import cloudpickle

from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.exchange.questions import (
    Alive,
    Answer,
    Answered,
    Failed,
    Printed,
    Question,
    WantsApplication,
)
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.worker_lines import Line, show_lines

log = logging.getLogger(__name__)

_CONNECT_S = 3.0
#: A thread sends a sign of life every second. After this time without one, it is paused or gone.
SILENCE_S = 20.0
_HANDSHAKE_S = 10.0
#: How often somebody who waits for an answer looks whether it is still wanted.
_LOOK_S = 0.25

#: Receives the lines of a worker.
Hear = Callable[[Sequence[Line]], object]


class ThreadLostError(StreamsError):
    """Raised if a stream thread cannot be reached or does not answer any more."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How the driver waits for an answer.

    Args:
        silence_s: after this time without a sign of life the thread counts as lost.
        load: returns the pickled application; called if the thread does not know it yet.
        hear: receives what the program has printed and logged there.
        is_over: set when the answer is not wanted any more.
        is_awake: tells whether the thread's process runs, although it says nothing.
    """

    silence_s: float = SILENCE_S
    load: Callable[[], bytes] | None = None
    hear: Hear = show_lines
    is_over: threading.Event | None = None
    is_awake: Callable[[], bool] = lambda: False


def listen(host: str) -> socket.socket:
    """Return a socket that listens on a free port of this host's address."""
    try:
        return socket.create_server((host, 0), backlog=64)
    except OSError:
        # The name by which other machines know this host may stand for an address that the host
        # itself does not have. Then listen on all addresses.
        return socket.create_server(("", 0), backlog=64)


def accepted(opened: socket.socket, secret: bytes) -> Connection | None:
    """Return the connection if its other side knows the secret, otherwise None."""
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = Connection(opened.detach())
    try:
        if not connection.poll(_HANDSHAKE_S):
            raise AuthenticationError("no answer")
        answer_challenge(connection, secret)
        deliver_challenge(connection, secret)
    except (AuthenticationError, EOFError, OSError):
        connection.close()
        return None
    return connection


def ask(endpoint: Endpoint, secret: bytes, question: Question, waiting: Waiting = Waiting()) -> Any:
    """Send a question to a stream thread, and wait for the answer as long as the thread is alive.

    Raises:
        ThreadLostError: the thread is gone, paused, or not one of this application.
    """
    with connect(endpoint, secret, waiting.silence_s) as connection:
        return ask_over(connection, endpoint, question, waiting)


def ask_over(
    connection: Connection, endpoint: Endpoint, question: Question, waiting: Waiting = Waiting()
) -> Any:
    """Send a question over an open connection; see ``ask``.

    Raises:
        ThreadLostError: the thread is gone or paused. The connection cannot be used any more.
    """
    try:
        send(connection, question)
        return _answer(connection, endpoint, waiting)
    except (EOFError, OSError) as error:
        raise _lost(endpoint, repr(error)) from error


def connect(endpoint: Endpoint, secret: bytes, silence_s: float) -> Connection:
    """Open a connection to the other side; both sides show that they know the secret.

    Raises:
        ThreadLostError: nobody answers there, or a process of another application.
    """
    try:
        return _connected(endpoint, secret, silence_s)
    except (EOFError, OSError, AuthenticationError) as error:
        raise _lost(endpoint, repr(error)) from error


def _connected(endpoint: Endpoint, secret: bytes, silence_s: float) -> Connection:
    opened = socket.create_connection((endpoint.host, endpoint.port), timeout=_CONNECT_S)
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The operating system accepts connections even for a paused process, and the handshake has
    # no time limit of its own.
    limit = struct.pack("ll", int(silence_s), int(silence_s % 1 * 1_000_000))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        opened.setsockopt(socket.SOL_SOCKET, option, limit)
    connection = Connection(opened.detach())
    try:
        deliver_challenge(connection, secret)
        answer_challenge(connection, secret)
    except BaseException:
        connection.close()
        raise
    return connection


def _answer(connection: Connection, endpoint: Endpoint, waiting: Waiting) -> Any:
    while True:
        _await(connection, endpoint, waiting)
        answer: Answer = receive(connection)
        match answer:
            case Answered(content):
                return content
            case Failed(error):
                raise error
            case Printed(lines):
                waiting.hear(lines)
            case WantsApplication():
                assert waiting.load is not None
                send(connection, waiting.load())
            case Alive():
                pass
            case _:
                assert_never(answer)


def _await(connection: Connection, endpoint: Endpoint, waiting: Waiting) -> None:
    """Wait until something arrives; raise if the thread is silent, or the wait is given up."""
    deadline = time.monotonic() + waiting.silence_s
    while True:
        if waiting.is_over is not None and waiting.is_over.is_set():
            raise _lost(endpoint, "its answer is not waited for any more")
        if connection.poll(min(_LOOK_S, max(deadline - time.monotonic(), 0.0))):
            return
        if time.monotonic() < deadline:
            continue
        if not waiting.is_awake():
            raise _lost(endpoint, f"it has not answered for {waiting.silence_s:.0f} s")
        # A function of the user keeps the process to itself.
        deadline = time.monotonic() + waiting.silence_s


def shut(connection: Connection) -> None:
    """End a connection that another thread may be reading: that thread meets its end."""
    try:
        opened = socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return
    with opened:
        try:
            opened.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The other side has ended it already.
            return


def send(connection: Connection, message: Any) -> None:
    """Send a value; classes that are defined in the user's program are sent with it."""
    connection.send_bytes(cloudpickle.dumps(message))


def receive(connection: Connection) -> Any:
    return cloudpickle.loads(connection.recv_bytes())


def portable(error: BaseException) -> BaseException:
    """Return the error if it can be pickled, otherwise a Penstock error with the same text.

    An error that would end the driver, such as that of ``sys.exit``, is told as a failure as well.
    """
    if isinstance(error, Exception):
        try:
            cloudpickle.loads(cloudpickle.dumps(error))
            return error
        except Exception:
            log.debug("an error cannot be pickled", exc_info=True)
    text = str(error) if isinstance(error, PenstockError) else repr(error)
    return StreamsError("worker-failed", text)


def _lost(endpoint: Endpoint, why: str) -> ThreadLostError:
    return ThreadLostError(
        "worker-lost",
        f"the stream thread {endpoint.server} at {endpoint.host} is lost: {why}",
        fix="nothing of the batch was lost: it runs again; look for out-of-memory kills",
    )
