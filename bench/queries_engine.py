"""Run small persistent SQL queries over one source until standard input ends.

    python -m bench.queries_engine BOOTSTRAP TAG COUNT WAY COMMIT_MS STATE_DIR

WAY is ``pool``, or ``own`` for an application with stream threads of its own for each query.
"""

from __future__ import annotations

import sys
import time

from penstock.sql import SqlEngine

PARTITIONS = 2


def source_topic(tag: str) -> str:
    return f"{tag}-source"


def sink_topic(tag: str, number: int) -> str:
    return f"{tag}-sink-{number}"


def statements(tag: str, count: int) -> list[str]:
    """Return the script: three of four queries are filters, every fourth counts in a table."""
    topic = f"KAFKA_TOPIC='{source_topic(tag)}', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS}"
    made = [
        f"CREATE STREAM source (id VARCHAR KEY, amount DOUBLE, country VARCHAR) WITH ({topic});"
    ]
    for number in range(count):
        sink = f"WITH (KAFKA_TOPIC='{sink_topic(tag, number)}', PARTITIONS={PARTITIONS})"
        if number % 4 == 3:
            made.append(
                f"CREATE TABLE counts_{number} {sink} AS"
                f" SELECT id, COUNT(*) AS n FROM source GROUP BY id;"
            )
        else:
            made.append(
                f"CREATE STREAM large_{number} {sink} AS"
                f" SELECT id, amount * {number + 1} AS amount FROM source WHERE amount > {number};"
            )
    return made


def main() -> None:
    bootstrap, tag, count, way, commit_ms, folder = sys.argv[1:]
    engine = SqlEngine({"ksql.service.id": tag})
    for statement in statements(tag, int(count)):
        engine.execute(statement)
    config = {
        "bootstrap.servers": bootstrap,
        "state.dir": folder,
        "commit.interval.ms": int(commit_ms),
        "spark.ui.enabled": "false",
    }
    if way == "own":
        config["penstock.slot.pool"] = ""
        # Each query has a thread that stays; a session of this machine has room for ten otherwise.
        config["spark.master"] = f"local[{int(count) + 8}]"
    began = time.monotonic()
    running = engine.run_on_spark(config)
    print(f"STARTED {time.monotonic() - began:.2f}", flush=True)
    sys.stdin.read()
    running.close()


if __name__ == "__main__":
    main()
