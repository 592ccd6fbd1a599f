"""Run one query over all events, then end: the engine that ``bench nexmark`` measures.

    python -m bench.nexmark.engine BOOTSTRAP QUERY EVENTS RATE TAG STATE_DIR

RATE is how many events have the same second. COMMIT_MS, THREADS and CHECK are read from the
environment; with CHECK=1 the rows of the result are compared with DuckDB's.
"""

from __future__ import annotations

import os
import sys
import time

from bench.engine import first_batch_ms, mark
from bench.nexmark.compare import differences
from bench.nexmark.duck import Duck
from bench.nexmark.events import events
from bench.nexmark.queries import ours, side_input, sources
from penstock.sql import SqlEngine
from penstock.sql.queries.spark_queries import SparkQueries

_PREFIX = "ksql.output.topic.name.prefix"
_WAIT_S = 3_600.0


def main() -> None:
    bootstrap, name, count, rate, tag, folder = sys.argv[1:]
    engine = SqlEngine({"ksql.service.id": tag, _PREFIX: f"{tag}-"})
    engine.execute(sources() + ours(name))
    config = {
        "bootstrap.servers": bootstrap,
        "state.dir": folder,
        "processing.guarantee": "exactly_once_v2",
        "commit.interval.ms": int(os.environ.get("COMMIT_MS", "1000")),
        "num.stream.threads": int(os.environ.get("THREADS", "2")),
        "statestore.cache.max.bytes": 10_000_000,
        "spark.ui.enabled": "false",
    }
    mark("STARTED", time.time_ns() // 1_000_000)
    running = engine.run_on_spark(config)
    try:
        assert running.run_until_idle(_WAIT_S), "the query did not come to its end"
        mark("LAST_COMMITTED", time.time_ns() // 1_000_000)
        mark("FIRST_CONSUMED", min(map(first_batch_ms, running._active())))
        if os.environ.get("CHECK") == "1":
            _check(engine, running, name, int(count), float(rate))
    finally:
        running.close()


def _check(engine: SqlEngine, running: SparkQueries, name: str, count: int, rate: float) -> None:
    duck = Duck(list(events(count, per_second=rate)), side_input(count))
    expected = duck.rows(name)
    found = running.pull(engine.pull(f"SELECT * FROM {name};"))
    wrong = differences(found, expected)
    for row in wrong[:10]:
        print(row, file=sys.stderr)
    print("CHECK", f"{len(wrong)} of {len(expected)} rows differ" if wrong else "ok", flush=True)


if __name__ == "__main__":
    main()
