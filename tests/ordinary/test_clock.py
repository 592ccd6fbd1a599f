"""The clock that tests move."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ordinary.clock import MovableClock

PROGRAM = "import time, threading; threading.Event().wait(0.1); print(time.time())"
#: Prints how long a poll of one second takes; nothing listens at the address.
POLLS = """
import time
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0})
began_s = time.monotonic()
consumer.poll(1.0)
print(time.monotonic() - began_s)
"""


def test_shifted_clock_is_seen_by_the_process_that_preloads_it(tmp_path: Path) -> None:
    """The library moves the wall clock, and waiting takes as long as before."""
    clock = MovableClock(tmp_path)
    if not clock.is_there:
        pytest.skip("there is no C compiler")
    clock.shift(7200)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **clock.variables},
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert abs(float(done.stdout) - time.time() - 7200) < 30


def test_a_kafka_client_waits_as_long_as_it_says_with_a_shifted_clock(tmp_path: Path) -> None:
    """librdkafka's waits end by the wall clock; a shifted one must not make them hours long."""
    clock = MovableClock(tmp_path)
    if not clock.is_there:
        pytest.skip("there is no C compiler")
    for shift_s in (7200, -7200):
        clock.shift(shift_s)
        done = subprocess.run(
            [sys.executable, "-c", POLLS],
            env={**os.environ, **clock.variables},
            capture_output=True,
            check=True,
            timeout=30,
        )
        assert 0.9 < float(done.stdout) < 10
