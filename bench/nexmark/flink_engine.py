"""Flink SQL on one query over all events: a mini cluster in one JVM, exactly once.

    python -m bench.nexmark.flink_engine BOOTSTRAP QUERY EVENTS RATE TAG STATE_DIR

Runs in a Python that has apache-flink, with the jars of FLINK_JARS_DIR, so it imports nothing of
Penstock. The inputs are bounded at their ends, so that the job ends by itself. The result goes to a
topic: that of a query that only adds rows as it is, that of others by their key.
"""

from __future__ import annotations

import glob
import json
import os
import socket
import sys
import time
import urllib.request
from typing import Any

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

from bench.nexmark.queries import TOPICS, flink

#: The columns that a row of an updating result is found by.
KEYS = {
    "q3": ("id",), "q4": ("category",), "q5": ("auction", "num"), "q9": ("id",),
    "q15": ("day",), "q16": ("channel", "day"), "q17": ("auction", "day"),
    "q18": ("auction", "bidder"), "q19": ("auction", "rank_number"),
    "q20": ("auction", "bidder", "dateTime"), "q7": ("auction", "bidder", "dateTime"),
}  # fmt: skip
COLUMNS = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING,"
    " state STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,"
    " expires BIGINT, seller BIGINT, category BIGINT",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING",
}
MOMENT = "TO_TIMESTAMP_LTZ({}, 3)"


def settings(folder: str) -> dict[str, str]:
    jars = glob.glob(os.path.join(os.environ["FLINK_JARS_DIR"], "*.jar"))
    threads = os.environ.get("THREADS", "2")
    return {
        "pipeline.jars": ";".join(f"file://{jar}" for jar in jars),
        "parallelism.default": threads,
        "taskmanager.numberOfTaskSlots": threads,
        "taskmanager.memory.managed.size": "1g",
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.localdir": os.path.join(folder, "rocksdb"),
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.interval": os.environ.get("COMMIT_MS", "1000") + "ms",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.dir": f"file://{folder}/checkpoints",
        "pipeline.object-reuse": "true",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1s",
        "table.exec.mini-batch.size": "50000",
        "table.optimizer.agg-phase-strategy": "TWO_PHASE",
        "table.optimizer.distinct-agg.split.enabled": "true",
        "table.local-time-zone": "UTC",
    }


def source(kind: str, bootstrap: str, tag: str) -> str:
    """The table of a topic. Moments are milliseconds in the JSON; the view makes times of them."""
    return f"""CREATE TABLE {kind}_raw ({COLUMNS[kind]}, extra STRING, `dateTime` BIGINT,
        rt AS {MOMENT.format("`dateTime`")}, WATERMARK FOR rt AS rt - INTERVAL '4' SECOND)
        WITH ('connector'='kafka', 'topic'='{TOPICS[kind]}', 'format'='json',
        'properties.bootstrap.servers'='{bootstrap}', 'properties.group.id'='{tag}',
        'scan.startup.mode'='earliest-offset', 'scan.bounded.mode'='latest-offset')"""


def view(kind: str) -> str:
    names = [each.split()[0] for each in COLUMNS[kind].split(",")]
    shown = [f"{MOMENT.format(n)} AS {n}" if n == "expires" else n for n in names]
    return (
        f"CREATE VIEW {kind} AS SELECT {', '.join(shown)}, extra, rt AS `dateTime` FROM {kind}_raw"
    )


def columns_of(result: Any, keys: tuple[str, ...]) -> str:
    """Return the columns of a query's result as they are declared; those of a key are NOT NULL."""
    found = []
    for column in result._j_table.getResolvedSchema().getColumns():
        name = column.getName()
        type_ = column.getDataType().getLogicalType().copy(name not in keys)
        found.append(f"`{name}` {type_.asSerializableString()}")
    return ", ".join(found)


def sink(name: str, result: Any, bootstrap: str, tag: str) -> str:
    """Return the statement that declares the topic of a query's result."""
    keys = KEYS.get(name, ())
    columns, connector, formats = columns_of(result, keys), "kafka", "'format'='json'"
    if keys:
        listed = ", ".join(f"`{each}`" for each in keys)
        columns += f", PRIMARY KEY ({listed}) NOT ENFORCED"
        connector, formats = "upsert-kafka", "'key.format'='json', 'value.format'='json'"
    return f"""CREATE TABLE `output` ({columns}) WITH ('connector'='{connector}', {formats},
        'topic'='{tag}-{name}', 'properties.bootstrap.servers'='{bootstrap}',
        'sink.delivery-guarantee'='exactly-once', 'sink.transactional-id-prefix'='{tag}',
        'properties.transaction.timeout.ms'='600000', 'properties.linger.ms'='100')"""


def first_running(rest: int, job: Any) -> int:
    """The moment at which all tasks of the sources run: the clock starts there."""

    def get(path: str) -> Any:
        address = f"http://localhost:{rest}/jobs/{job.get_job_id()}{path}"
        return json.load(urllib.request.urlopen(address, timeout=5))

    while True:
        try:
            found = [
                subtask["timestamps"]["RUNNING"]
                for vertex in get("")["vertices"]
                if vertex["name"].startswith("Source")
                for subtask in get(f"/vertices/{vertex['id']}/subtasktimes")["subtasks"]
            ]
            if found and min(found) > 0:
                return int(min(found))
        except OSError:
            pass
        time.sleep(0.1)


def main() -> None:
    bootstrap, name, _, _, tag, folder = sys.argv[1:]
    environment = EnvironmentSettings.new_instance().in_streaming_mode()
    conf = Configuration()
    with socket.socket() as free:
        free.bind(("localhost", 0))
        rest = free.getsockname()[1]
    for key, value in {**settings(folder), "rest.port": str(rest)}.items():
        conf.set_string(key, value)
    tables = TableEnvironment.create(environment.with_configuration(conf).build())
    for kind in COLUMNS:
        tables.execute_sql(source(kind, bootstrap, tag))
        tables.execute_sql(view(kind))
    # Flink's own benchmark brings this function in Java; in Python it would measure Python.
    *views, text = [part for part in flink(name).split(";") if part.strip()]
    text = text.replace("count_char(extra, 'c')", "CHAR_LENGTH(REGEXP_REPLACE(extra, '[^c]', ''))")
    for each in views:
        tables.execute_sql(each)
    result = tables.sql_query(text)
    tables.execute_sql(sink(name, result, bootstrap, tag))
    print("STARTED", int(time.time() * 1000), flush=True)
    job = tables.execute_sql(f"INSERT INTO `output` {text}").get_job_client()
    print("FIRST_CONSUMED", first_running(rest, job), flush=True)
    job.get_job_execution_result().result()
    print("LAST_COMMITTED", int(time.time() * 1000), flush=True)


if __name__ == "__main__":
    main()
