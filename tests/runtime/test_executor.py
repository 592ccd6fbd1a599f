"""A stream thread finds the executor it belongs to among the processes above it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.runtime.spark.worker.process.executor import Executor, find_executor

_FIND = (
    "from penstock.runtime.spark.worker.process.executor import find_executor as f,"
    " is_below_python as b;"
    "print(*f(), b())"
)


def test_without_a_jvm_above_there_is_no_executor() -> None:
    """The thread then listens on this machine alone."""
    assert find_executor() == Executor("unknown", "127.0.0.1")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--executor-id", "7", "--hostname", "node-3"], "7 node-3 False"),
        ([], "driver 127.0.0.1 False"),
        # An option without a value at the very end is not an option.
        (["--hostname"], "driver 127.0.0.1 False"),
    ],
)
def test_the_executor_is_the_jvm_above_with_its_own_name_and_host(
    options: list[str], expected: str
) -> None:
    """Spark tells Python workers nothing; its command line does."""
    # A shell that goes by the name of Java, as its own command line says.
    script = f'"{sys.executable}" -c "{_FIND}"; :'
    command = ["java", "-c", script, "x", *options]
    with subprocess.Popen(command, executable="/bin/sh", stdout=subprocess.PIPE) as jvm:
        found, _ = jvm.communicate(timeout=60)
    assert found.decode().strip() == expected


def test_a_worker_below_sparks_daemon_knows_it() -> None:
    """Only then is the end of its parent the end of its executor's Python processes."""
    daemon = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    run = subprocess.run(
        [sys.executable, "-c", daemon, _FIND], capture_output=True, text=True, check=True
    )
    assert run.stdout.split()[-1] == "True"
