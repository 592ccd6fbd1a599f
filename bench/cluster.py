"""Measure several executors: whether slots stay, the time of a batch, the gain of a second."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Producer

import penstock as ps
from bench.alone import PARTITIONS, Alone, measure_alone
from bench.one_slot import OneSlot
from penstock.kafka.admin import Admin

_BATCH = 500
_SLOTS = 2


def local_cluster(executors: int) -> str:
    """Return a Spark master that starts workers and executors of one core each."""
    return f"local-cluster[{executors},1,1024]"


@dataclass(frozen=True, slots=True)
class Batches:
    """Small batches in a row: how many (slot, batch) pairs moved, and the time of a batch."""

    master: str
    batches: int
    moved: int
    restored: int
    reruns: int
    median_ms: float
    p95_ms: float


def measure_batches(bootstrap: str, master: str, count: int) -> Batches:
    """Count words in batches of 500 records; the first quarter of the times is left out."""
    with _application(bootstrap, master) as (streams, source):
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
        runner = streams._runner()
        assert runner is not None
        progress, moves = runner.progress, runner.placement.moves
        first, restored, took = progress.batches, progress.restored, list[float]()
        while progress.batches - first < count:
            for number in range(_BATCH):
                producer.produce(source, f"w{number % 7} x{number % 3}", str(number))
            producer.flush()
            before = progress.batches
            while progress.batches == before:
                time.sleep(0.005)
            took.append(progress.last_batch_seconds)
        later = sorted(took[len(took) // 4 :])
        return Batches(
            master, progress.batches - first, runner.placement.moves - moves,
            progress.restored - restored, progress.reruns,
            statistics.median(later) * 1000, later[len(later) * 95 // 100] * 1000,
        )  # fmt: skip


def measure_executors(
    bootstrap: str, workload: str, records: int, executors: int, core_share: float | None
) -> Alone:
    """Run a workload on executors of one core, or a share of it, with one slot on each."""
    environment = {
        "THREADS": str(executors),
        "SPARK_CONF_spark.master": local_cluster(executors),
    }
    return measure_alone(
        bootstrap, workload, records, style="expressions", environment=environment,
        core_share=core_share,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Restored:
    """One measurement of a slot that restores lost state from its changelogs."""

    keys: int
    records: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.records / self.seconds


def measure_restore(bootstrap: str, keys: int) -> Restored:
    """Fill a store with ``keys`` keys, delete it, and measure how long its restore takes."""
    slot = OneSlot("w2", keys * 2, bootstrap, keys=keys)
    try:
        slot.run(4)
        return Restored(keys, *slot.restore())
    finally:
        slot.close()


def _words(source: str, sink: str) -> ps.Topology:
    builder = ps.StreamsBuilder()
    words = builder.stream(source).flat_map_values(lambda line: line.split())
    words.group_by(lambda _, word: word).count("counts").to_stream().to(sink)
    return builder.build()


@contextmanager
def _application(bootstrap: str, master: str) -> Iterator[tuple[ps.KafkaStreams, str]]:
    """Run the word count, and yield it with the name of its input topic."""
    name = f"cluster-{time.time_ns() // 1_000_000}"
    source, sink = f"{name}-in", f"{name}-out"
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in (source, sink):
        admin.create_topic(topic, partitions=PARTITIONS)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        settings = {
            "application.id": name,
            "bootstrap.servers": bootstrap,
            "processing.guarantee": "exactly_once_v2",
            "num.stream.threads": _SLOTS,
            "state.dir": folder,
            "commit.interval.ms": 100,
            "spark.master": master,
            "spark.ui.enabled": "false",
        }
        with ps.KafkaStreams(_words(source, sink), settings) as streams:
            assert streams.run_until_idle("120s")
            yield streams, source
