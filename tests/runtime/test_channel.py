"""Connections to stream threads: who may ask, what is sent, and when a thread is lost."""

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
    ThreadLostError,
    Waiting,
    accepted,
    ask,
    connect,
    listen,
    portable,
    receive,
    send,
    shut,
)
from penstock.runtime.spark.exchange.questions import (
    Alive,
    Answered,
    AskMeasures,
    Failed,
    Ping,
    Printed,
    SlotId,
    WantsApplication,
)
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.worker_lines import Line, PrintedLine

SECRET = b"s" * 32
ABOUT = AskMeasures(SlotId("app-1-x", 7))

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
    with serving(lambda connection: send(connection, Answered({"a": (1, b"2")}))) as server:
        assert ask(server.endpoint, SECRET, ABOUT) == {"a": (1, b"2")}
    assert server.asked == [ABOUT]


def test_a_driver_that_does_not_know_the_secret_is_refused() -> None:
    """Messages are pickles: a stranger could run code in the application."""
    yes = serving(lambda connection: send(connection, Answered(1)))
    with yes as server, pytest.raises(ThreadLostError) as raised:
        ask(server.endpoint, b"wrong" * 8, Ping())
    assert raised.value.code == "worker-lost"
    assert server.was_refused
    assert server.asked == []


def test_a_thread_that_does_not_know_the_secret_is_not_asked() -> None:
    """Another program may listen on the port by now."""
    other = serving(lambda connection: send(connection, Answered(1)), b"other" * 8)
    with other as server, pytest.raises(ThreadLostError):
        ask(server.endpoint, SECRET, Ping())
    assert server.asked == []


def test_a_thread_that_falls_silent_is_lost_after_a_while() -> None:
    """A paused process keeps its connections open."""
    over = threading.Event()
    with serving(lambda connection: over.wait(60) and None) as server:
        began = time.monotonic()
        with pytest.raises(ThreadLostError, match="has not answered"):
            ask(server.endpoint, SECRET, Ping(), Waiting(silence_s=0.3))
        assert 0.3 <= time.monotonic() - began < 15
        over.set()


def test_a_thread_that_does_not_even_shake_hands_is_lost_after_a_while() -> None:
    """The system accepts connections for a process that is paused."""
    with listen("127.0.0.1") as silent:
        endpoint = Endpoint("paused", "127.0.0.1", silent.getsockname()[1], "1")
        began = time.monotonic()
        with pytest.raises(ThreadLostError):
            ask(endpoint, SECRET, Ping(), Waiting(silence_s=0.3))
        assert time.monotonic() - began < 15


def test_a_thread_that_is_at_work_may_take_as_long_as_it_wants() -> None:
    """It says that it is alive, and only silence counts."""

    def work(connection: Connection) -> None:
        for _ in range(5):
            send(connection, Alive())
            time.sleep(0.1)
        send(connection, Answered("done"))

    with serving(work) as server:
        assert ask(server.endpoint, SECRET, Ping(), Waiting(silence_s=0.4)) == "done"


def test_a_thread_that_ends_while_it_is_asked_is_lost() -> None:
    """The batch runs again instead of ending the application."""
    ending = serving(lambda connection: connection.close())
    with ending as server, pytest.raises(ThreadLostError):
        ask(server.endpoint, SECRET, Ping())


def test_a_port_where_nobody_listens_is_a_lost_server() -> None:
    """So ends every process that was killed."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        endpoint = Endpoint("gone", "127.0.0.1", closed.getsockname()[1], "1")
    with pytest.raises(ThreadLostError, match=r"gone at 127\.0\.0\.1"):
        ask(endpoint, SECRET, Ping())


def test_an_error_is_handed_over_by_type() -> None:
    """The driver decides by type and code, and the user sees line and fix."""
    error = StoreError("store-damaged", "it is damaged", "delete it", "app.py:3")
    failing = serving(lambda connection: send(connection, Failed(error)))
    with failing as server, pytest.raises(StoreError) as raised:
        ask(server.endpoint, SECRET, Ping())
    assert raised.value.args == error.args


def test_an_application_is_sent_only_to_a_thread_that_asks_for_it() -> None:
    """It can be large, and most requests meet a server that has it."""

    def wants_it(connection: Connection) -> None:
        send(connection, WantsApplication())
        send(connection, Answered(receive(connection)))

    loaded: list[int] = []

    def load() -> bytes:
        loaded.append(1)
        return b"application"

    with serving(wants_it) as server:
        assert ask(server.endpoint, SECRET, Ping(), Waiting(load=load)) == b"application"
    with serving(lambda connection: send(connection, Answered(None))) as server:
        ask(server.endpoint, SECRET, Ping(), Waiting(load=load))
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


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()])
def test_a_program_that_exits_in_a_thread_does_not_end_the_driver(error: BaseException) -> None:
    """The driver raises the errors of threads, and its own thread would end without a word."""
    found = portable(error)
    assert isinstance(found, StreamsError)
    assert found.code == "worker-failed"
    assert type(error).__name__ in found.message


def test_a_host_name_that_is_no_address_of_this_machine_does_not_matter() -> None:
    """Containers and clouds map addresses; then the server listens on all of its own."""
    with listen("203.0.113.7") as listening:
        assert listening.getsockname()[0] == "0.0.0.0"


def test_what_the_program_prints_arrives_before_the_answer() -> None:
    """The user sees the lines of a batch while it runs, however long it takes."""

    def prints(connection: Connection) -> None:
        send(connection, Printed((PrintedLine("out", "one"),)))
        send(connection, Alive())
        send(connection, Printed((PrintedLine("err", "two"),)))
        send(connection, Answered("done"))

    heard: list[Line] = []
    with serving(prints) as server:
        assert ask(server.endpoint, SECRET, Ping(), Waiting(hear=heard.extend)) == "done"
    assert heard == [PrintedLine("out", "one"), PrintedLine("err", "two")]


def test_an_answer_that_is_not_wanted_any_more_is_not_waited_for() -> None:
    """A batch that takes too long is cancelled while the thread still says that it is alive."""
    is_over, may_end = threading.Event(), threading.Event()

    def goes_on(connection: Connection) -> None:
        while not may_end.wait(0.05):
            try:
                send(connection, Alive())
            except OSError:
                return

    with serving(goes_on) as server:
        threading.Timer(0.3, is_over.set).start()
        with pytest.raises(ThreadLostError, match="not waited for any more"):
            ask(server.endpoint, SECRET, Ping(), Waiting(is_over=is_over))
        may_end.set()


def test_a_connection_can_be_ended_while_another_thread_reads_it() -> None:
    """A driver that gives a thread up is blocked in its line."""
    may_end = threading.Event()
    with serving(lambda connection: may_end.wait(60) and None) as server:
        connection = connect(server.endpoint, SECRET, 10.0)
        send(connection, Ping())
        threading.Timer(0.2, shut, (connection,)).start()
        with pytest.raises(EOFError):
            receive(connection)
        connection.close()
        shut(connection)
        may_end.set()
