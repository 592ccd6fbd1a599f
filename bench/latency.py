"""Measure the latency from the producer to committed output, at a steady rate.

Every record has a key of its own. Its latency is the time from the call of the producer until a
``read_committed`` consumer first sees that key in the output. The peers' ``latency.py`` uses the
same method.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.kafka.admin import Admin

PARTITIONS = 4
_ROOT = Path(__file__).resolve().parents[1]
_FIRST_ANSWER_S = 180.0


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies in milliseconds, over the records after the warm-up."""

    workload: str
    rate: int
    seconds: float
    commit_interval_ms: int
    first_answer_s: float
    sent: int
    answered: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    #: Durations of the second half of the batches, without the wait for input.
    batch_p50_ms: int | None
    batch_p95_ms: int | None

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class _Watch:
    """Note when each key first appears among committed records."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.seen: dict[bytes, float] = {}
        self._stop = threading.Event()
        self._bootstrap, self._topic = bootstrap, topic
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "bench-latency",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 20,
            }
        )
        consumer.assign([TopicPartition(self._topic, n, 0) for n in range(PARTITIONS)])
        while not self._stop.is_set():
            for message in consumer.consume(1000, 0.02):
                key = message.key()
                if message.error() is None and isinstance(key, bytes):
                    self.seen.setdefault(key, time.time())
        consumer.close()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def measure(
    bootstrap: str, workload: str, rate: int, seconds: float, warm_s: float, commit_ms: int
) -> Latency:
    """Start the engine on new topics, feed it, end it, and return the latencies."""
    tag = f"latency-{time.time_ns() // 1_000_000}"
    source, sink = f"{tag}-in", f"{tag}-out"
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in (source, sink):
        admin.create_topic(topic, partitions=PARTITIONS)
    watch = _Watch(bootstrap, sink)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        command = [sys.executable, "-m", "bench.engine", bootstrap, workload, source, sink,
                   "bench-users", tag, folder]  # fmt: skip
        variables = {**os.environ, "MODE": "latency", "COMMIT_MS": str(commit_ms)}
        variables.setdefault("STYLE", "lambda")
        said = Path(folder, "said.txt")
        with said.open("wb") as out:
            engine = subprocess.Popen(
                command, cwd=_ROOT, env=variables, stdout=out, start_new_session=True
            )
        try:
            sent, first_s = _feed(bootstrap, source, watch, engine, rate, seconds + warm_s)
        finally:
            _end(engine)
            watch.stop()
        batches = re.search(r"^BATCHES \d+ (\d+) (\d+)$", said.read_text(), re.MULTILINE)
    admin.delete_topics([source, sink])
    keys = [b"k%d" % n for n in range(int(warm_s * rate), len(sent))]
    found = sorted((watch.seen[key] - sent[key]) * 1000 for key in keys if key in watch.seen)
    if len(found) < min(100, len(keys)):
        raise RuntimeError(f"only {len(found)} of {len(keys)} records were answered")
    cuts = statistics.quantiles(found, n=100)
    return Latency(
        workload, rate, seconds, commit_ms, round(first_s, 1), len(keys), len(found),
        round(cuts[49], 1), round(cuts[94], 1), round(cuts[98], 1), round(found[-1], 1),
        int(batches[1]) if batches else None, int(batches[2]) if batches else None,
    )  # fmt: skip


def _feed(
    bootstrap: str,
    topic: str,
    watch: _Watch,
    engine: subprocess.Popen[bytes],
    rate: int,
    seconds: float,
) -> tuple[dict[bytes, float], float]:
    """Send records until the engine answers, then at the given rate.

    Return the time at which each key was sent, and the seconds until the first answer.
    """
    producer = Producer(
        {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 1}
    )

    def send(key: str) -> float:
        now = time.time()
        value = f'{{"user":"{key}","amount":80.5,"country":"DE","ts":{int(now * 1000)}}}'
        producer.produce(topic, value, key, timestamp=int(now * 1000))
        return now

    started, number = time.monotonic(), 0
    while not watch.seen:
        if engine.poll() is not None or time.monotonic() - started > _FIRST_ANSWER_S:
            raise RuntimeError("the engine did not answer")
        send(f"before-{number}")
        producer.flush()
        number += 1
        time.sleep(0.25)
    first_s = time.monotonic() - started
    sent: dict[bytes, float] = {}
    begun = time.monotonic()
    while (elapsed := time.monotonic() - begun) < seconds:
        while len(sent) < elapsed * rate:
            key = f"k{len(sent)}"
            sent[key.encode()] = send(key)
        producer.poll(0)
        time.sleep(0.001)
    producer.flush()
    # Wait for the output of the last records.
    time.sleep(5)
    return sent, first_s


def _end(engine: subprocess.Popen[bytes]) -> None:
    if engine.poll() is not None:
        return
    engine.terminate()
    try:
        engine.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()
