"""Questions over kept connections: one handshake for many, and none of them gets a wrong answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import pytest

from penstock.errors import StoreError
from penstock.runtime.spark.exchange.channel import (
    ThreadLostError,
    Waiting,
    accepted,
    listen,
    receive,
    send,
)
from penstock.runtime.spark.exchange.kept_connections import KeptConnections
from penstock.runtime.spark.exchange.questions import Answered, Failed
from penstock.runtime.spark.exchange.stage_request import Endpoint

SECRET = b"s" * 32

Reply = Callable[[Any], Answered | Failed]


class Server:
    """Answers every question of every connection, and counts the connections."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._socket = listen("127.0.0.1")
        self.opened: list[Connection] = []
        #: Set when a client has closed its connection.
        self.has_ended = threading.Event()
        port = self._socket.getsockname()[1]
        self.endpoint = Endpoint("server", "127.0.0.1", port, "1")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._socket.accept()
            except OSError:
                return
            connection = accepted(opened, SECRET)
            assert connection is not None
            self.opened.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        try:
            while True:
                send(connection, self._reply(receive(connection)))
        except (EOFError, OSError):
            self.has_ended.set()

    def close(self) -> None:
        # A thread waits in ``accept``: closing alone would let one more client in.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.hang_up()

    def hang_up(self) -> None:
        for connection in self.opened:
            # The thread of the connection waits in it: only a shutdown reaches the other side.
            held = socket.socket(fileno=connection.fileno())
            with contextlib.suppress(OSError):  # the other side may have left already
                held.shutdown(socket.SHUT_RDWR)
            held.detach()
        self.opened.clear()


@contextlib.contextmanager
def asked(reply: Reply) -> Iterator[tuple[Server, Callable[[Any], Any], KeptConnections]]:
    server, kept = Server(reply), KeptConnections(SECRET)

    def ask(question: Any) -> Any:
        return kept.ask(server.endpoint, question, Waiting(silence_s=5.0))

    try:
        yield server, ask, kept
    finally:
        kept.close()
        server.close()


def same(question: Any) -> Answered | Failed:
    return Answered(question)


def test_questions_one_after_the_other_use_one_connection() -> None:
    """The handshake is done once."""
    with asked(same) as (server, ask, _):
        assert [ask(("get", n)) for n in range(50)] == [("get", n) for n in range(50)]
        assert len(server.opened) == 1


def test_questions_at_the_same_time_get_their_own_answers() -> None:
    """No connection carries two questions at once."""

    def slow(question: Any) -> Answered | Failed:
        time.sleep(0.002)
        return Answered(question)

    with asked(slow) as (server, ask, _), ThreadPoolExecutor(8) as threads:
        wanted = [("get", n) for n in range(200)]
        assert list(threads.map(ask, wanted)) == wanted
        assert len(server.opened) <= 8


def test_a_closed_connection_is_replaced() -> None:
    """A server that was started again at the same address answers."""
    with asked(same) as (server, ask, _):
        ask(("get", 1))
        server.hang_up()
        assert ask(("get", 2)) == ("get", 2)
        assert len(server.opened) == 1


def test_an_error_is_raised_and_the_next_question_is_answered() -> None:
    """What one question meets does not reach another."""

    def reply(question: Any) -> Answered | Failed:
        if question == "bad":
            return Failed(StoreError("store-damaged", "it is damaged"))
        return Answered(question)

    with asked(reply) as (_, ask, _kept):
        with pytest.raises(StoreError, match="it is damaged"):
            ask("bad")
        assert ask("good") == "good"


def test_a_late_answer_never_belongs_to_the_next_question() -> None:
    """After a question without an answer in time, its connection is not used again."""

    def reply(question: Any) -> Answered | Failed:
        if question == ("slow",):
            time.sleep(0.6)
        return Answered(question)

    with asked(reply) as (server, ask, kept):
        with pytest.raises(ThreadLostError):
            kept.ask(server.endpoint, ("slow",), Waiting(silence_s=0.2))
        assert ask("quick") == "quick"


def test_a_silent_thread_is_not_waited_for_twice() -> None:
    """A paused process keeps its connections open, and a new one would hang as well."""
    over = threading.Event()
    asked_for: list[Any] = []

    def reply(question: Any) -> Answered | Failed:
        asked_for.append(question)
        if question == ("slow",):
            over.wait(10)
        return Answered(question)

    with asked(reply) as (server, ask, kept):
        ask(("once",))
        with pytest.raises(ThreadLostError, match="has not answered"):
            kept.ask(server.endpoint, ("slow",), Waiting(silence_s=0.3))
        over.set()
        assert asked_for == [("once",), ("slow",)]


def test_a_thread_that_is_gone_is_lost() -> None:
    """The kept connection and a new one both fail."""
    with asked(same) as (server, ask, _):
        ask("once")
        server.close()
        with pytest.raises(ThreadLostError):
            ask("again")


def test_nothing_is_kept_after_the_end() -> None:
    """A question that was under way closes its connection itself."""
    with asked(same) as (server, ask, kept):
        kept.close()
        assert ask("late") == "late"
        assert server.has_ended.wait(30)


def test_a_question_that_was_given_up_is_not_sent_again() -> None:
    """A cancelled stage must not begin once more over a new connection."""
    over, is_over = threading.Event(), threading.Event()
    asked_for: list[Any] = []

    def reply(question: Any) -> Answered | Failed:
        asked_for.append(question)
        if question == ("slow",):
            is_over.set()
            over.wait(10)
        return Answered(question)

    with asked(reply) as (server, ask, kept):
        ask(("once",))
        with pytest.raises(ThreadLostError, match="not waited for any more"):
            kept.ask(server.endpoint, ("slow",), Waiting(is_over=is_over))
        over.set()
        assert asked_for == [("once",), ("slow",)]
