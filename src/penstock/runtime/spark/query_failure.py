"""Why a query ended: the error of ours that is inside Spark's, or Spark's own in plain words."""

from __future__ import annotations

import re

from pyspark.errors.exceptions.base import PySparkException

from penstock.errors import StreamsError

# A worker's traceback ends with the error's own text: code, message, then "at" and "fix" lines.
_OURS = re.compile(
    r"(?:penstock\.errors\.|penstock\.\S+\.)(\w+): \[([a-z0-9-]+)\] (.*?)"
    r"(?:\n  at:  (.*?))?(?:\n  fix: (.*?))?(?=\n\s*\n|\n\s+at |\nDriver stack|\nCaused|\Z)",
    re.DOTALL,
)
_LAST_LINE = re.compile(r"\n(\w[\w.]*(?:Error|Exception)[^\n]*)")


def explained(error: PySparkException | Exception | None) -> Exception:
    """Finds the error that a worker raised in what Spark says of it."""
    if error is None:
        return StreamsError("query-ended", "the Spark query ended without an error")
    text = str(error)
    ours = _OURS.search(text)
    if ours is not None:
        _, code, message, at, fix = ours.groups()
        failure = StreamsError(code, message.strip(), fix, at)
    else:
        lines = _LAST_LINE.findall(text)
        failure = StreamsError(
            "batch-failed",
            f"a batch failed in Spark: {lines[-1] if lines else text[:500]}",
            "see the log for the whole trace; nothing of the batch was committed",
        )
    failure.__cause__ = error
    return failure
