"""A stream thread in a process of its own: it comes in, stays, and ends as it is told.

Exercises ``pulse`` and ``pulse_process``, too.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from penstock.runtime.spark.exchange.channel import ThreadLostError, Waiting, ask
from penstock.runtime.spark.exchange.questions import Ping, SlotId, WarmUp
from penstock.runtime.spark.exchange.stage_request import StageRequest
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.exchange.worker_lines import Line, PrintedLine
from tests.runtime.slot_processes import (
    EXECUTOR,
    SECRET,
    Started,
    happens,
    is_running,
    stream_thread,
)

WARM_UP = WarmUp(SlotId("app-1-x", 0), StageRequest(batch=1, stage=0, slots=1, clock_ms=0))


class Code:
    """Runs a program where it is unpickled, as a class of an application may at its import."""

    def __init__(self, program: str) -> None:
        self._program = program

    def __reduce__(self) -> Any:
        return exec, (self._program, {})


def run_there(started: Started, program: str) -> list[Line]:
    """Run code in the thread's process; return what it printed meanwhile."""
    heard: list[Line] = []
    waiting = Waiting(load=lambda: cloudpickle.dumps(Code(program)), hear=heard.extend)
    with pytest.raises(Exception, match="NoneType"):
        # None is not an application.
        ask(started.endpoint, SECRET, WARM_UP, waiting)
    return heard


def test_a_thread_comes_in_and_says_who_it_is() -> None:
    """The driver learns where it is, how to kill it, and which job has started it."""
    environment = {"PENSTOCK_CLIENT_TAG_ZONE": "a"}
    tags = {"zone": "PENSTOCK_CLIENT_TAG_ZONE", "row": "PENSTOCK_CLIENT_TAG_ROW"}
    with stream_thread(tags=tags, environment=environment) as started:
        hello = started.thread.hello
        assert (hello.endpoint.executor, hello.endpoint.host) == (EXECUTOR, "127.0.0.1")
        assert (hello.job, hello.task, hello.tags) == ("job", None, {"zone": "a"})
        assert ask(started.endpoint, SECRET, Ping()) == started.endpoint
        assert Path(f"/proc/{started.pid}/comm").read_text() == "stream-thread-3"[:15] + "\n"


def test_a_thread_that_is_ended_leaves_its_process_as_it_was() -> None:
    """Spark gives the process to other tasks: name, outputs and log handlers are its own again."""
    with stream_thread() as started:
        endpoint, pid = started.endpoint, started.pid
        began = time.monotonic()
        started.thread.end()
        assert started.next_line() == "ended as python"
        assert time.monotonic() - began < 20
        assert started.threads.is_left()
        assert is_running(pid)
        with pytest.raises(ThreadLostError):
            ask(endpoint, SECRET, Ping())


def test_a_thread_whose_driver_is_gone_ends() -> None:
    """Its slots must not work beside those of the next driver, and Spark learns of it."""
    with stream_thread() as started:
        pid = started.pid
        started.thread.hang_up()
        assert started.next_line() == "exit 1"
        assert not is_running(pid)


def test_a_thread_on_another_executor_than_wanted_does_not_stay() -> None:
    """Spark had no room there, and puts tasks elsewhere after a while."""
    with stream_thread(executor="other") as started:
        assert started.next_line() == "ended as python"
        assert started.threads.came == []


def test_a_process_that_is_killed_is_lost_at_once() -> None:
    """The system ends its line; nobody waits for a silence of 20 s."""
    with stream_thread() as started:
        endpoint = started.endpoint
        began = time.monotonic()
        os.kill(started.pid, signal.SIGKILL)
        assert started.threads.is_left()
        assert time.monotonic() - began < 10
        assert started.threads.gone == [started.thread]
        with pytest.raises(ThreadLostError):
            ask(endpoint, SECRET, Ping())


def test_a_paused_thread_is_lost_and_found_again() -> None:
    """An executor that swaps, or a debugger, may hold a process for a while."""
    with stream_thread() as started:
        os.kill(started.pid, signal.SIGSTOP)
        with pytest.raises(ThreadLostError):
            ask(started.endpoint, SECRET, Ping(), Waiting(silence_s=0.5))
        os.kill(started.pid, signal.SIGCONT)
        assert ask(started.endpoint, SECRET, Ping()) == started.endpoint


def test_a_thread_ends_with_the_daemon_that_has_started_it() -> None:
    """Spark ends its daemon with the executor. A paused or busy worker would not notice."""
    with stream_thread(has_daemon=True) as started:
        pid = started.pid
        _, daemon = started.next_line().split()
        os.kill(pid, signal.SIGSTOP)
        os.kill(int(daemon), signal.SIGKILL)
        assert happens(lambda: not is_running(pid), within_s=60)


def test_what_the_program_prints_reaches_the_driver(capfd: pytest.CaptureFixture[str]) -> None:
    """During a request over its connection, and otherwise over the line of the thread."""
    later = "import threading, time\ndef say():\n  time.sleep(1)\n  print('later')\n"
    program = f"print('now')\n{later}threading.Thread(target=say).start()"
    with stream_thread() as started:
        assert run_there(started, program) == [PrintedLine("out", "now")]
        seen = ""
        deadline = time.monotonic() + 60
        while "later" not in seen and time.monotonic() < deadline:
            time.sleep(0.1)
            seen += capfd.readouterr().out
        assert seen.splitlines() == ["later"]


def test_a_process_ends_if_a_function_of_the_user_does_not_return() -> None:
    """It must not go on in a process that Spark gives to another task."""
    busy = (
        "import time\n"
        "from penstock.runtime.spark.worker import slot_server, thread_task\n"
        "thread_task._CLOSE_S = 0.5\n"
        "slot_server.SlotServer._close_all = lambda self: time.sleep(600)\n"
    )
    with stream_thread() as started:
        pid = started.pid
        run_there(started, busy)
        started.thread.end()
        assert started.next_line() == "exit 1"
        assert not is_running(pid)


def test_a_process_beside_the_thread_says_in_which_state_it_is() -> None:
    """A function that keeps Python's lock lets no thread answer, and is not a paused process."""
    keeps = "import ctypes; ctypes.PyDLL(None).sleep(3)"
    with stream_thread() as started:
        threads = started.threads
        assert happens(lambda: bool(set(threads.states) & {"S", "R"}), within_s=60)
        threads.states.clear()
        run_there(started, keeps)
        assert len(threads.states) >= 2
        os.kill(started.pid, signal.SIGSTOP)
        assert happens(lambda: "T" in threads.states, within_s=60)
        os.kill(started.pid, signal.SIGCONT)


def test_a_thread_says_what_it_has_done_although_it_is_idle() -> None:
    """Its process uses processor time all the same, a little, and the task gets older."""
    with stream_thread() as started:
        threads = started.threads
        assert happens(lambda: bool(threads.done), within_s=60)
        first = threads.done[0]
        assert first.work == Work()
        assert first.cpu_ns > 0
        assert first.run_ms >= 1_000
