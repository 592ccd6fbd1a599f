"""Measure Penstock without the peers, end to end on a broker: w6 and w7, or with more keys."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from bench.core_share import limited_executors
from bench.data import USERS, inputs
from penstock.kafka.admin import Admin

PARTITIONS = 4
WORKLOADS = ("w6", "w7")
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Alone:
    """One measurement: the records of all inputs, and the time from first batch to last commit."""

    workload: str
    records: int
    seconds: float
    outputs: int
    keys: int = USERS

    @property
    def per_second(self) -> float:
        return self.records / self.seconds

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "per_second": self.per_second}


def measure_alone(
    bootstrap: str,
    workload: str,
    records: int,
    keys: int = USERS,
    *,
    style: str = "lambda",
    environment: Mapping[str, str] | None = None,
    core_share: float | None = None,
) -> Alone:
    """Write the input, run the engine until all of it is processed, and count its output.

    Args:
        environment: more variables for ``bench.engine``, such as THREADS.
        core_share: how much of a core each executor may use; None does not limit them.
    """
    tag = f"alone-{workload}-{time.time_ns() // 1_000_000}"
    source, sink, other = f"{tag}-in", f"{tag}-out", f"{tag}-other"
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in (source, sink, other):
        admin.create_topic(topic, partitions=PARTITIONS)
    count = _load(bootstrap, workload, records, {"input": source, "table": other}, keys)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        command = [sys.executable, "-m", "bench.engine", bootstrap, workload, source, sink, other,
                   tag, folder]  # fmt: skip
        engine = subprocess.Popen(
            command, cwd=_ROOT, env={**os.environ, "STYLE": style, **(environment or {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with limited_executors(engine.pid, core_share):
            written, complaints = engine.communicate()
    if engine.returncode:
        raise RuntimeError(f"the engine ended with {engine.returncode}:\n{complaints[-2000:]}")
    times = dict(re.findall(r"^(FIRST_CONSUMED|LAST_COMMITTED) (\d+)$", written, re.MULTILINE))
    seconds = (int(times["LAST_COMMITTED"]) - int(times["FIRST_CONSUMED"])) / 1000
    ends = admin.end_offsets([(sink, n) for n in range(PARTITIONS)], committed=True)
    admin.delete_topics([source, sink, other])
    return Alone(workload, count, seconds, sum(ends.values()), keys)


def _load(
    bootstrap: str, workload: str, records: int, topics: dict[str, str], keys: int = USERS
) -> int:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 50,
         "queue.buffering.max.messages": 1_000_000}
    )  # fmt: skip
    base_ms = time.time_ns() // 1_000_000 // 3_600_000 * 3_600_000 - 3_600_000
    count = 0
    for kind, pairs in inputs(workload, records, base_ms, keys).items():
        for key, value, at in pairs:
            while True:
                try:
                    producer.produce(topics[kind], value, key, timestamp=at)
                    break
                except BufferError:
                    producer.poll(0.1)
            count += 1
        producer.flush()
    return count
