"""What an application's process tells about itself in its log, and how a test reads it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.runtime.spark.driver.batch_runner import BatchRunner

_EVERY_S = 0.5
_MARK = "TOLD "
_NOTHING: dict[str, Any] = {
    "batches": 0, "moves": 0, "restored": 0, "reruns": 0, "standbys": {}, "places": {},
    "copies": {},
}  # fmt: skip


def tell_always(streams: ps.KafkaStreams) -> None:
    """Print every half second how far all is, in a thread of its own."""
    threading.Thread(target=_tell, args=(streams,), daemon=True).start()


def all_told(log: Path) -> list[dict[str, Any]]:
    """Return everything that the application has told, of all its lives."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    # A line that is only half written yet is read the next time.
    return [json.loads(each[len(_MARK) :]) for each in lines if _is_whole(each)]


def last_told(log: Path) -> dict[str, Any]:
    """Return what the application has told last."""
    return (all_told(log) or [_NOTHING])[-1]


def _is_whole(line: str) -> bool:
    return line.startswith(_MARK) and line.endswith("}")


def _tell(streams: ps.KafkaStreams) -> None:
    while True:
        time.sleep(_EVERY_S)
        runner = streams._runner()
        if runner is None:
            continue
        progress = runner.progress
        told = {
            "batches": progress.batches,
            "records": progress.records,
            "batch_ms": round(progress.last_batch_seconds * 1000),
            "moves": runner.placement.moves,
            "restored": progress.restored,
            "reruns": progress.reruns,
            "places": {n: f"{e.host}/{e.executor}" for n, e in runner.placement.endpoints.items()},
            "standbys": {str(slot): lag for slot, lag in runner.standby_lags().items()},
            "copies": _copies(runner),
        }
        print(f"{_MARK}{json.dumps(told)}", flush=True)


def _copies(runner: BatchRunner) -> dict[str, list[str]]:
    """Return for each slot where its copies are."""
    standbys, found = runner._movement._standbys, dict[str, list[str]]()
    for slot, executor in [] if standbys is None else list(standbys._copies):
        found.setdefault(str(slot), []).append(f"{executor.host}/{executor.name}")
    return found
