"""Runs the type checker over this folder: ``assert_type`` says nothing by itself.

With ``strict`` an ignored error that mypy does not find is an error, so the lines that are
ignored here are those it must refuse.
"""

import subprocess
import sys

from tests.architecture.source import ROOT


def test_public_types_are_as_asserted() -> None:
    """What an editor shows of the API is part of the API."""
    command = [sys.executable, "-m", "mypy", "tests/typing"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
