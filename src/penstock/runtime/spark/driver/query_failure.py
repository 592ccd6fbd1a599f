"""Why a query ended: the error of ours that is inside Spark's, or Spark's own in plain words."""

from __future__ import annotations

import re

from penstock.errors import StreamsError

# A worker's traceback ends with the error's own text: code, message, then "at" and "fix" lines.
_OURS = re.compile(
    r"penstock\.[\w.]+: \[([a-z0-9-]+)\] (.*?)"
    r"(?:\n  at:  (.*?))?(?:\n  fix: (.*?))?(?=\n\s*\n|\n\s+at |\nDriver stack|\nCaused|\n\Z|\Z)",
    re.DOTALL,
)
_LAST_LINE = re.compile(r"\n(\w[\w.]*(?:Error|Exception)[^\n]*)")
_FENCED = re.compile(r"_FENCED|PRODUCER_FENCED|INVALID_PRODUCER_EPOCH")
_BROKER_AWAY = re.compile(
    r"_TRANSPORT|_TIMED_OUT|_ALL_BROKERS_DOWN|_RESOLVE|REQUEST_TIMED_OUT|COORDINATOR"
    r"|NOT_LEADER|LEADER_NOT_AVAILABLE|BROKER_NOT_AVAILABLE|NETWORK_EXCEPTION|_RETRY|_STATE"
)
_WORKER_GONE = re.compile(r"Python worker (?:exited|process|failed)|worker crashed|EOFError")
#: Errors of ours that a restart may well cure.
_PASSING = frozenset(
    {"read-timeout", "read-failed", "write-failed", "batch-log", "slot-unreachable",
     "worker-lost", "broker-away", "open-transaction", "store-locked", "broker-unreachable"}
)  # fmt: skip


def explained(error: Exception | None) -> StreamsError:
    """Finds the error that a worker raised in what Spark says of it."""
    if error is None:
        return StreamsError("query-ended", "the Spark query ended without an error")
    failure = _find(str(error))
    failure.__cause__ = error
    return failure


def is_passing(error: Exception) -> bool:
    """Whether the error is about the surroundings, not about the program or its data."""
    return getattr(error, "code", None) in _PASSING


def _find(text: str) -> StreamsError:
    ours = _OURS.search(text)
    if ours is not None:
        code, message, at, fix = ours.groups()
        return StreamsError(code, message.strip(), fix, at)
    lines = _LAST_LINE.findall(text)
    last = lines[-1] if lines else text[:500]
    if _FENCED.search(text):
        return StreamsError(
            "fenced",
            f"another instance of the application has taken over: {last}",
            "run one instance per application.id, or stop the other one first",
        )
    if _WORKER_GONE.search(text):
        return StreamsError(
            "worker-lost",
            f"a Python worker of Spark ended in the middle of a batch: {last}",
            "nothing of the batch was lost: it runs again; look for out-of-memory kills",
        )
    if _BROKER_AWAY.search(text):
        return StreamsError(
            "broker-away",
            f"Kafka did not answer in the middle of a batch: {last}",
            "check the broker; the batch runs again when it is back",
        )
    return StreamsError(
        "batch-failed",
        f"a batch failed in Spark: {last}",
        "see the log for the whole trace; the batch runs again after a restart",
    )
