"""Work in a thread of its own: its result, its error, and the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.runtime.background import begun


def test_the_result_of_the_work_is_returned() -> None:
    assert begun(lambda: 7, "test").result(60) == 7


def test_the_error_of_the_work_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        begun(fail, "test").result(60)


def test_work_that_does_not_end_does_not_keep_the_process() -> None:
    """The work may wait for a broker that is away."""
    program = (
        "import threading; from penstock.runtime.background import begun;"
        " begun(threading.Event().wait, 'test')"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
