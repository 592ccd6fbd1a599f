"""Finds the line of user code that made a node, so that every error can name it."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from types import CodeType

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


def caller_site() -> str | None:
    """Return ``file.py:12`` of the nearest caller outside this package, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_between(frame.f_code):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _is_between(code: CodeType) -> bool:
    """Tell whether the frame belongs to this package, or to the constructor of a dataclass."""
    if code.co_filename.startswith(_PACKAGE) or code.co_filename == dataclasses.__file__:
        return True
    return code.co_filename == "<string>" and code.co_name == "__init__"
