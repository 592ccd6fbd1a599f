"""Where stream threads come in: only those that know the secret, and each end is noticed."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from penstock.runtime.spark.exchange.channel import ThreadLostError, connect, receive, send
from penstock.runtime.spark.exchange.questions import End, Hello, Printed, SparkTask, Worked
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.exchange.worker_lines import PrintedLine
from tests.runtime.slot_processes import SECRET, Threads, happens

HELLO = Hello(endpoint=Endpoint("thread", "127.0.0.1", 1, "7"), task=SparkTask(3, 1), job="job")


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads()
    yield made
    made.close()


def test_a_thread_that_knows_the_secret_comes_in(threads: Threads) -> None:
    """Its first message says who it is; it stays until its line ends."""
    with connect(threads.door.endpoint, SECRET, 10.0) as line:
        send(line, HELLO)
        assert threads.first().hello == HELLO
        assert threads.first().endpoint == HELLO.endpoint
        assert not threads.is_left(within_s=0.2)
    assert threads.is_left()
    assert threads.gone == threads.came


def test_a_program_that_does_not_know_the_secret_stays_outside(threads: Threads) -> None:
    """Messages are pickles: a stranger could run code in the driver."""
    with pytest.raises(ThreadLostError):
        connect(threads.door.endpoint, b"wrong" * 8, 10.0)
    with socket.create_connection(("127.0.0.1", threads.door.endpoint.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        stranger.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            while stranger.recv(4096):
                pass
    assert (threads.came, threads.gone) == ([], [])


def test_a_line_that_ends_before_its_first_message_is_no_thread(threads: Threads) -> None:
    """A process may be killed at any moment."""
    connect(threads.door.endpoint, SECRET, 10.0).close()
    time.sleep(0.2)
    assert (threads.came, threads.gone) == ([], [])


def test_a_slow_stranger_does_not_keep_others_out(threads: Threads) -> None:
    """The handshake has a time limit, and each line a thread of its own."""
    with (
        socket.create_connection(("127.0.0.1", threads.door.endpoint.port)),
        connect(threads.door.endpoint, SECRET, 10.0) as line,
    ):
        send(line, HELLO)
        assert threads.first(within_s=8.0).hello == HELLO


def test_a_thread_is_told_to_end(threads: Threads) -> None:
    with connect(threads.door.endpoint, SECRET, 10.0) as line:
        send(line, HELLO)
        thread = threads.first()
        thread.end()
        assert receive(line) == End()
    assert threads.is_left()
    # Telling it again is no error.
    thread.end()
    thread.hang_up()


def test_a_thread_that_is_given_up_meets_the_end_of_its_line(threads: Threads) -> None:
    with connect(threads.door.endpoint, SECRET, 10.0) as line:
        send(line, HELLO)
        threads.first().hang_up()
        with pytest.raises(EOFError):
            receive(line)
        assert threads.is_left()


def test_printed_lines_are_shown_here(threads: Threads, capfd: pytest.CaptureFixture[str]) -> None:
    """The user looks at the output of the driver, not at that of an executor."""
    seen = ["", ""]

    def both() -> bool:
        out, err = capfd.readouterr()
        seen[0], seen[1] = seen[0] + out, seen[1] + err
        return "one" in seen[0] and "two" in seen[1]

    with connect(threads.door.endpoint, SECRET, 10.0) as line:
        send(line, HELLO)
        send(line, Printed((PrintedLine("out", "one"), PrintedLine("err", "two"))))
        assert happens(both, within_s=30)


def test_a_closed_door_lets_no_one_in_and_keeps_the_lines_there_are(threads: Threads) -> None:
    """Threads that are inside are ended one by one."""
    with connect(threads.door.endpoint, SECRET, 10.0) as line:
        send(line, HELLO)
        thread = threads.first()
        threads.door.close()
        with pytest.raises(ThreadLostError):
            connect(threads.door.endpoint, SECRET, 2.0)
        thread.end()
        assert receive(line) == End()


def test_a_thread_says_what_it_has_done(threads: Threads) -> None:
    """Between lines that its program has printed; Spark's pages show it."""
    worked = Worked(work=Work(records_read=3, bytes_read=40), cpu_ns=1_000_000, run_ms=900)
    with connect(threads.door.endpoint, SECRET, 10.0) as line:
        send(line, HELLO)
        send(line, Printed(()))
        send(line, worked)
        assert happens(lambda: threads.done == [worked], within_s=30)
