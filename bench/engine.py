"""The engine that the peers' bench starts, next to Java Kafka Streams, PySpark and Quix.

    python -m bench.engine BOOTSTRAP WORKLOAD INPUT_TOPIC OUTPUT_TOPIC TABLE_TOPIC GROUP STATE_DIR

An argument that is missing is read from the environment variable of that name. GUARANTEE,
COMMIT_MS, THREADS, STYLE and MODE are always read from the environment. With MODE=latency the
engine runs until SIGTERM, otherwise until the end of the input. Variables such as
``SPARK_CONF_spark.driver.memory=2g`` are settings of Spark, ``PENSTOCK_CONF_...`` of the
application.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import Any

from bench.workloads import Topics, build
from penstock import KafkaStreams

NAMES = (
    "BOOTSTRAP", "WORKLOAD", "INPUT_TOPIC", "OUTPUT_TOPIC", "TABLE_TOPIC", "GROUP", "STATE_DIR",
)  # fmt: skip


def mark(name: str, time_ms: int) -> None:
    print(name, time_ms, flush=True)


def settings(given: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "application.id": given["GROUP"],
        "bootstrap.servers": given["BOOTSTRAP"],
        "state.dir": given["STATE_DIR"],
        "processing.guarantee": os.environ.get("GUARANTEE", "exactly_once_v2"),
        "commit.interval.ms": int(os.environ.get("COMMIT_MS", "1000")),
        "num.stream.threads": int(os.environ.get("THREADS", "2")),
        "spark.ui.enabled": "false",
    }
    for name, value in os.environ.items():
        for prefix in ("SPARK_CONF_", "PENSTOCK_CONF_"):
            if name.startswith(prefix):
                found[name.removeprefix(prefix)] = value
    return found


def first_batch_ms(streams: KafkaStreams) -> int:
    """Return when the first batch began, before any of its records were read."""
    runner = streams._runner()
    assert runner is not None
    began = runner.progress.began_ms
    assert began is not None, "no batch has run"
    return began


class BatchTimes:
    """Collect the durations of batches in a thread, while the application runs."""

    def __init__(self, streams: KafkaStreams) -> None:
        self._streams = streams
        self._seconds: list[float] = []
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        known = 0
        while True:
            time.sleep(0.01)
            runner = self._streams._runner()
            if runner is None:
                continue
            progress = runner.progress
            if progress.batches != known:
                known = progress.batches
                self._seconds.append(progress.last_batch_seconds)

    def tell(self) -> None:
        # Only the second half counts: during the first, classes are loaded and code is compiled.
        later = sorted(self._seconds[len(self._seconds) // 2 :])
        if later:
            median, slow = later[len(later) // 2], later[len(later) * 95 // 100]
            print(f"BATCHES {len(later)} {median * 1000:.0f} {slow * 1000:.0f}", flush=True)


def main(arguments: list[str]) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    given = {name: os.environ.get(name, "") for name in NAMES}
    given |= dict(zip(NAMES, arguments, strict=False))
    style = os.environ.get("STYLE") or "expressions"
    topics = Topics(given["INPUT_TOPIC"], given["OUTPUT_TOPIC"], given["TABLE_TOPIC"])
    streams = KafkaStreams(build(given["WORKLOAD"], topics, style), settings(given))
    if os.environ.get("MODE") == "latency":
        times = BatchTimes(streams)
        streams.run()
        times.tell()
        return
    mark("STARTED", time.time_ns() // 1_000_000)
    streams.start()
    assert streams.run_until_idle()
    mark("LAST_COMMITTED", time.time_ns() // 1_000_000)
    mark("FIRST_CONSUMED", first_batch_ms(streams))
    streams.close()


if __name__ == "__main__":
    main(sys.argv[1:])
