"""Connections to slot servers: who may ask, what is handed over, and when a server is lost."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import pytest

from penstock.errors import StoreError, StreamsError
from penstock.runtime.spark.exchange.channel import (
    ALIVE,
    ERROR,
    OK,
    WHO,
    ServerLostError,
    accepted,
    ask,
    listen,
    portable,
    receive,
    send,
)
from penstock.runtime.spark.exchange.stage_request import Endpoint

SECRET = b"s" * 32

Answer = Callable[[Connection], None]


class Server:
    """Accepts one connection and answers as a test wants."""

    def __init__(self, answer: Answer, secret: bytes = SECRET) -> None:
        self._answer = answer
        self._secret = secret
        self._socket = listen("127.0.0.1")
        self.asked: list[Any] = []
        self.was_refused = False
        self.endpoint = Endpoint("server", "127.0.0.1", self._socket.getsockname()[1], "1")
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._socket:
            opened, _ = self._socket.accept()
        connection = accepted(opened, self._secret)
        if connection is None:
            self.was_refused = True
            return
        with connection:
            try:
                self.asked.append(receive(connection))
                self._answer(connection)
            except EOFError:
                return

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


@contextmanager
def serving(answer: Answer, secret: bytes = SECRET) -> Iterator[Server]:
    server = Server(answer, secret)
    yield server
    server.join()


def test_an_answer_is_a_value_of_any_kind() -> None:
    """Messages are pickles."""
    with serving(lambda connection: send(connection, (OK, {"a": (1, b"2")}))) as server:
        assert ask(server.endpoint, SECRET, ("ping", 7)) == {"a": (1, b"2")}
    assert server.asked == [("ping", 7)]


def test_whoever_does_not_know_the_secret_is_refused() -> None:
    """Messages are pickles: a stranger could run code in the application."""
    yes = serving(lambda connection: send(connection, (OK, 1)))
    with yes as server, pytest.raises(ServerLostError) as raised:
        ask(server.endpoint, b"wrong" * 8, ("ping",))
    assert raised.value.code == "worker-lost"
    assert server.was_refused
    assert server.asked == []


def test_a_server_that_does_not_know_the_secret_is_not_asked() -> None:
    """Another program may listen on the port by now."""
    other = serving(lambda connection: send(connection, (OK, 1)), b"other" * 8)
    with other as server, pytest.raises(ServerLostError):
        ask(server.endpoint, SECRET, ("ping",))
    assert server.asked == []


def test_a_server_that_falls_silent_is_lost_after_a_while() -> None:
    """A paused process keeps its connections open."""
    over = threading.Event()
    with serving(lambda connection: over.wait(60) and None) as server:
        began = time.monotonic()
        with pytest.raises(ServerLostError, match="has not answered"):
            ask(server.endpoint, SECRET, ("run",), silence_s=0.3)
        assert 0.3 <= time.monotonic() - began < 15
        over.set()


def test_a_server_that_does_not_even_shake_hands_is_lost_after_a_while() -> None:
    """The system accepts connections for a process that is paused."""
    with listen("127.0.0.1") as silent:
        endpoint = Endpoint("paused", "127.0.0.1", silent.getsockname()[1], "1")
        began = time.monotonic()
        with pytest.raises(ServerLostError):
            ask(endpoint, SECRET, ("ping",), silence_s=0.3)
        assert time.monotonic() - began < 15


def test_a_server_that_is_at_work_may_take_as_long_as_it_wants() -> None:
    """It says that it is alive, and only silence counts."""

    def work(connection: Connection) -> None:
        for _ in range(5):
            send(connection, (ALIVE, None))
            time.sleep(0.1)
        send(connection, (OK, "done"))

    with serving(work) as server:
        assert ask(server.endpoint, SECRET, ("run",), silence_s=0.4) == "done"


def test_a_server_that_ends_while_it_is_asked_is_lost() -> None:
    """The batch runs again instead of ending the application."""
    ending = serving(lambda connection: connection.close())
    with ending as server, pytest.raises(ServerLostError):
        ask(server.endpoint, SECRET, ("run",))


def test_a_port_where_nobody_listens_is_a_lost_server() -> None:
    """So ends every process that was killed."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        endpoint = Endpoint("gone", "127.0.0.1", closed.getsockname()[1], "1")
    with pytest.raises(ServerLostError, match=r"gone at 127\.0\.0\.1"):
        ask(endpoint, SECRET, ("ping",))


def test_an_error_is_handed_over_by_type() -> None:
    """The driver decides by type and code, and the user sees line and fix."""
    error = StoreError("store-damaged", "it is damaged", "delete it", "app.py:3")
    failing = serving(lambda connection: send(connection, (ERROR, error)))
    with failing as server, pytest.raises(StoreError) as raised:
        ask(server.endpoint, SECRET, ("run",))
    assert raised.value.args == error.args


def test_an_application_is_sent_only_to_a_server_that_asks_for_it() -> None:
    """It can be large, and most requests meet a server that has it."""

    def wants_it(connection: Connection) -> None:
        send(connection, (WHO, None))
        send(connection, (OK, receive(connection)))

    loaded: list[int] = []

    def load() -> bytes:
        loaded.append(1)
        return b"application"

    with serving(wants_it) as server:
        assert ask(server.endpoint, SECRET, ("run",), load) == b"application"
    with serving(lambda connection: send(connection, (OK, None))) as server:
        ask(server.endpoint, SECRET, ("run",), load)
    assert loaded == [1]


class UserError(Exception):
    """Pickles by its message, which its constructor does not take."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")


class HoldingError(StreamsError):
    """Holds what cannot be pickled."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.lock = threading.Lock()


def test_an_error_that_cannot_travel_becomes_one_that_can() -> None:
    """Its text is what the user needs; an error about pickling would hide it."""
    for error in (UserError(7, "no such user"), HoldingError("x", "no such user")):
        found = portable(error)
        assert isinstance(found, StreamsError)
        assert found.code == "worker-failed"
        assert "no such user" in found.message
        assert portable(found) is found


def test_an_error_that_can_travel_stays_as_it_is() -> None:
    """The type matters to the driver."""
    error = ZeroDivisionError("x")
    assert portable(error) is error


def test_a_host_name_that_is_no_address_of_this_machine_does_not_matter() -> None:
    """Containers and clouds map addresses; then the server listens on all of its own."""
    with listen("203.0.113.7") as listening:
        assert listening.getsockname()[0] == "0.0.0.0"
