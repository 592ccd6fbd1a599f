"""Finds the line of user code that made a node or that raised, so that errors can name it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import CodeType

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
#: Where code lies that is not the user's program: Python's own modules and installed packages.
_INSTALLED = tuple(
    path + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
#: Modules of Python through which this package calls itself.
_HELPERS = (dataclasses.__file__, contextlib.__file__)


def caller_site() -> str | None:
    """Return ``file.py:12`` of the nearest caller outside this package, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_between(frame.f_code):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def raising_site(error: BaseException) -> str | None:
    """Return ``file.py:12`` of the last line of the user's program that an exception passed."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((_PACKAGE, "<", *_INSTALLED)):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return None


def _is_between(code: CodeType) -> bool:
    """Tell whether the frame belongs to this package, or to Python between two parts of it."""
    if code.co_filename.startswith(_PACKAGE) or code.co_filename in _HELPERS:
        return True
    return code.co_filename == "<string>" and code.co_name == "__init__"
