"""Measure history: a workload over Parquet, from Kafka, and as a query of Spark SQL.

Each measurement is a process of its own, since a Spark session stays until its process ends.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from bench.alone import PARTITIONS, measure_alone
from bench.data import Pair, inputs
from bench.workloads import Topics, build
from penstock import BatchInput, run_batch

CORES = 2
_TOPICS = Topics("input", "output", "table")
_ROWS = 250_000
_SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("timestamp", pa.int64())])
_EVENT = "user string, amount double, country string, ts bigint"
#: The same results as a query over all records. Streams send every change, and these the last one.
QUERIES = {
    "w2": "SELECT key, count(*) FROM input GROUP BY key",
    "w3": f"""
        SELECT key, window(timestamp_millis(timestamp), '1 minute').start,
            sum(from_json(string(value), '{_EVENT}').amount)
        FROM input GROUP BY 1, 2
    """,
    "w4": f"""
        SELECT i.key, to_json(named_struct('user', i.it.user, 'amount', i.it.amount,
            'country', i.it.country, 'ts', i.it.ts, 'name', t.it.name, 'tier', t.it.tier))
        FROM (SELECT key, from_json(string(value), '{_EVENT}') AS it FROM input) i
        JOIN (SELECT key, from_json(string(value), 'user string, name string, tier string') AS it
              FROM table) t ON i.key = t.key
    """,
    "w5": "SELECT word, count(*) FROM input LATERAL VIEW explode(split(string(value), ' ')) AS word"
    " GROUP BY word",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HistoryFigure:
    """How long the three ways took over the same records; 0 for a way that was left out."""

    workload: str
    records: int
    history_s: float
    sql_s: float
    streaming_s: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure_history(bootstrap: str, workload: str, records: int) -> HistoryFigure:
    """Measure a workload; without a broker, it is not run from Kafka."""
    with tempfile.TemporaryDirectory(prefix="penstock-history-") as folder:
        base_ms = time.time_ns() // 1_000_000 // 3_600_000 * 3_600_000 - 3_600_000
        for kind, pairs in inputs(workload, records, base_ms).items():
            _write(Path(folder, kind), pairs)
        history_s = _apart(workload, folder, "history")
        sql_s = _apart(workload, folder, "sql")
    streaming_s = 0.0
    if bootstrap:
        streaming_s = measure_alone(bootstrap, workload, records, style="expressions").seconds
    return HistoryFigure(workload, records, history_s, sql_s, streaming_s)


def _write(folder: Path, pairs: Iterable[Pair]) -> None:
    folder.mkdir()
    for number, rows in enumerate(_pieces(pairs)):
        keys, values, times = zip(*rows, strict=True)
        table = pa.table([keys, values, times], schema=_SCHEMA)
        pq.write_table(table, folder / f"{number:05}.parquet", compression="zstd")


def _pieces(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, ...]]:
    rest = iter(pairs)
    while rows := tuple(islice(rest, _ROWS)):
        yield rows


def _apart(workload: str, folder: str, way: str) -> float:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_seconds, workload, folder, way).result()


def _seconds(workload: str, folder: str, way: str) -> float:
    """Measure one way, without the start of Spark."""
    spark = SparkSession.builder.master(f"local[{CORES}]").config("spark.ui.enabled", "false")
    session = spark.config("spark.driver.memory", "2g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frames = {each.name: session.read.parquet(str(each)) for each in sorted(Path(folder).iterdir())}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    session.range(1_000_000, numPartitions=CORES).groupBy().sum().collect()
    began = time.monotonic()
    if way == "sql":
        _run(session.sql(QUERIES[workload]))
    else:
        given = {name: BatchInput(frame) for name, frame in frames.items()}
        topology = build(workload, _TOPICS)
        # Only the output is wanted, as from the query: nothing has to be kept for a second result.
        with run_batch(
            topology, given, session, num_partitions=PARTITIONS, outputs=["output"], stores=[]
        ) as found:
            _run(found.raw("output"))
    took = time.monotonic() - began
    session.stop()
    return took


def _run(frame: DataFrame) -> None:
    """Compute all rows and throw them away."""
    frame.write.format("noop").mode("overwrite").save()
