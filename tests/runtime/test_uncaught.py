"""User code that ends the process from the thread of the batches."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import atexit, sys, threading
from penstock.runtime.uncaught import Uncaught

uncaught = Uncaught()
atexit.register(lambda: print("exit function"))

def batches():
    try:
        sys.exit({code})
    except SystemExit as request:
        uncaught.end_process(request, lambda: print("torn down"))

threading.Thread(target=batches, daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.parametrize(("code", "status"), [("", 0), ("3", 3), ("'why'", 1)])
def test_exit_ends_a_process_whose_main_thread_waits_for_something_else(
    code: str, status: int
) -> None:
    """As Java's System.exit: exit functions run, and no thread has to notice."""
    program = _PROGRAM.format(code=code)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines() == ["torn down", "exit function"]
    assert ("why" in done.stderr) is (status == 1)
