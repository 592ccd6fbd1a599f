"""Processes are the same only if they also began at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from penstock.runtime.spark.worker.processes.process_tree import (
    Process,
    began,
    find_executor,
    this_process,
)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_a_running_process_is_alive_and_still_the_same() -> None:
    """This one, for instance."""
    assert this_process().is_alive
    assert this_process() == Process(os.getpid(), began(os.getpid()))


def test_a_pid_that_was_used_again_is_not_alive(child: subprocess.Popen[bytes]) -> None:
    """Another process that happens to have the number is none of ours."""
    assert not Process(child.pid, "12345").is_alive


def test_a_process_that_was_never_found_is_not_alive() -> None:
    """An empty beginning must not be equal to that of a process that is gone."""
    assert not Process(2**22 + 1, "").is_alive
    assert began(2**22 + 1) == ""


def test_only_the_same_process_is_killed(child: subprocess.Popen[bytes]) -> None:
    """A kill by number alone could hit any program of the user."""
    Process(child.pid, "12345").kill()
    assert child.poll() is None
    Process(child.pid, began(child.pid)).kill()
    assert child.wait(60) < 0


def test_a_process_that_ended_is_not_alive_before_it_is_waited_for(
    child: subprocess.Popen[bytes],
) -> None:
    """A zombie keeps its number and its beginning, but runs nothing any more."""
    process = Process(child.pid, began(child.pid))
    process.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not process.is_alive
    process.kill()


def test_without_a_jvm_above_there_is_no_executor_to_watch() -> None:
    """A server that watched nothing must not end at once."""
    executor = find_executor()
    assert (executor.process, executor.host) == (None, "127.0.0.1")


def test_the_executor_is_the_jvm_above_with_its_own_name_and_host() -> None:
    """Spark tells Python workers nothing; its command line does."""
    code = (
        "from penstock.runtime.spark.worker.processes.process_tree import find_executor as f;"
        "print(*f().process, *f()[1:])"
    )
    # A shell that goes by the name of Java, as its own command line says.
    script = f'"{sys.executable}" -c "{code}"; :'
    command = ["java", "-c", script, "x", "--executor-id", "7", "--hostname", "node-3"]
    with subprocess.Popen(command, executable="/bin/sh", stdout=subprocess.PIPE) as jvm:
        expected = began(jvm.pid)
        found, _ = jvm.communicate(timeout=60)
    assert found.decode().split() == [str(jvm.pid), expected, "7", "node-3"]
