"""What a started process prints: known lines of Java and Spark are left out, others stay."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import subprocess, sys, time
from penstock.runtime.spark.driver.quiet_spark import quiet_start

child = "import sys; sys.stderr.write(sys.argv[1])"
with quiet_start():
    started = subprocess.Popen([sys.executable, "-c", child, sys.argv[1]])
print("own line", file=sys.stderr)
started.wait()
# The thread that passes lines on needs a moment after the child has ended.
time.sleep(0.5)
"""


def printed(lines: str) -> list[str]:
    command = [sys.executable, "-c", _PROGRAM, lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: Using incubator modules: jdk.incubator.vector",
        "Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties",
        'Setting Spark log level to "ERROR".',
        "26/11/18 20:29:39 WARN Utils: Your hostname, vm, resolves to a loopback address",
    ],
)
def test_a_line_of_every_start_is_left_out(line: str) -> None:
    assert sorted(printed(f"{line}\nkept\n")) == ["kept", "own line"]


def test_an_error_and_a_line_without_end_are_passed_on() -> None:
    """What users need to see, such as Java's own errors, must not be lost."""
    found = printed("Error: could not create the Java Virtual Machine.\nno end")
    assert sorted(found) == [
        "Error: could not create the Java Virtual Machine.",
        "no end",
        "own line",
    ]
