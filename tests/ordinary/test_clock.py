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
