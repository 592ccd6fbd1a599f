"""TCP connections to slot servers; both sides prove that they know the application's secret.

Messages are pickles, and a pickle can run code. So only a process that can already run code in
the application may connect. The driver makes the secret. It reaches the workers through Spark's
own channel, and is never sent over these connections.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

import cloudpickle

from penstock.errors import PenstockError, StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.worker_lines import Line, show_lines

_CONNECT_S = 3.0
#: A server sends a sign of life every second. After this time without one, it is paused or gone.
SILENCE_S = 20.0
_HANDSHAKE_S = 10.0

#: Receives the lines of a worker.
Hear = Callable[[list[Line]], object]

#: Kinds of answers.
ALIVE, OK, ERROR, WHO, LINES = "alive", "ok", "error", "which-application", "lines"


class ServerLostError(StreamsError):
    """Raised if a slot server cannot be reached or does not answer any more."""


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


def ask(
    endpoint: Endpoint,
    secret: bytes,
    question: tuple[Any, ...],
    load: Callable[[], bytes] | None = None,
    silence_s: float = SILENCE_S,
    hear: Hear = show_lines,
    is_busy: Callable[[], bool] = lambda: False,
) -> Any:
    """Send a request to a slot server, and wait for the answer as long as the server is alive.

    Args:
        load: returns the pickled application; called if the server does not know it yet.
        hear: receives what the program has printed and logged there.
        is_busy: called after a silence; returns whether the server may still answer.

    Raises:
        ServerLostError: the server is gone, paused, or not one of this application.
    """
    with connect(endpoint, secret, silence_s) as connection:
        return ask_over(connection, endpoint, question, load, silence_s, hear, is_busy)


def ask_over(
    connection: Connection,
    endpoint: Endpoint,
    question: tuple[Any, ...],
    load: Callable[[], bytes] | None = None,
    silence_s: float = SILENCE_S,
    hear: Hear = show_lines,
    is_busy: Callable[[], bool] = lambda: False,
) -> Any:
    """Send a request over an open connection; see ``ask``.

    Raises:
        ServerLostError: the server is gone or paused. The connection cannot be used any more.
    """
    try:
        send(connection, question)
        return _answer(connection, endpoint, load, silence_s, hear, is_busy)
    except (EOFError, OSError) as error:
        raise _lost(endpoint, repr(error)) from error


def connect(endpoint: Endpoint, secret: bytes, silence_s: float) -> Connection:
    """Open a connection to a slot server; both sides show that they know the secret.

    Raises:
        ServerLostError: no server answers there, or one of another application.
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


def _answer(
    connection: Connection,
    endpoint: Endpoint,
    load: Callable[[], bytes] | None,
    silence_s: float,
    hear: Hear,
    is_busy: Callable[[], bool],
) -> Any:
    while True:
        if not connection.poll(silence_s):
            if is_busy():
                continue
            raise _lost(endpoint, f"it has not answered for {silence_s:.0f} s")
        kind, content = receive(connection)
        if kind == OK:
            return content
        if kind == ERROR:
            raise content
        if kind == LINES:
            hear(content)
        if kind == WHO:
            assert load is not None
            send(connection, load())


def send(connection: Connection, message: Any) -> None:
    """Send a value; classes that are defined in the user's program are sent with it."""
    connection.send_bytes(cloudpickle.dumps(message))


def receive(connection: Connection) -> Any:
    return cloudpickle.loads(connection.recv_bytes())


def portable(error: BaseException) -> BaseException:
    """Return the error if it can be pickled, otherwise a Penstock error with the same text."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
        return error
    except Exception:  # noqa: BLE001 - pickling a user's error may raise anything
        text = str(error) if isinstance(error, PenstockError) else repr(error)
        return StreamsError("worker-failed", text)


def _lost(endpoint: Endpoint, why: str) -> ServerLostError:
    return ServerLostError(
        "worker-lost",
        f"the process that runs the slot, {endpoint.server} at {endpoint.host}, is lost: {why}",
        fix="nothing of the batch was lost: it runs again; look for out-of-memory kills",
    )
