"""The line of user code that made a node, so that every error can name it."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parents[1])


def caller_site() -> str | None:
    """Gives ``file.py:12`` of the nearest caller outside this package, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        # Frames such as the __init__ that dataclasses generate have no file of their own.
        if not filename.startswith((_PACKAGE, "<")):
            return f"{Path(filename).name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None
