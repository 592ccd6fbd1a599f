"""Measure many small persistent queries in one process, with and without a pool.

Every record has a key of its own, and every query answers every record. The latency of an answer is
the time from the call of the producer until a ``read_committed`` consumer sees the key in the
output of that query.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.processes import Used, used_by
from bench.queries_engine import PARTITIONS, sink_topic, source_topic
from penstock.kafka.admin import Admin

WAYS = ("own", "pool")
#: The variable by which a broker that was started here is found.
BROKER = "PENSTOCK_BENCH_BROKER"
_ENGINE = "PENSTOCK_BENCH_ENGINE"
_ROOT = Path(__file__).resolve().parents[1]
_FIRST_ANSWER_S = 600.0
#: The last answers are waited for so long.
_TAIL_S = 10.0


@dataclass(frozen=True, slots=True)
class Cores:
    """How many cores each part was busy on."""

    driver: float
    threads: float
    jvm: float
    workers: float
    broker: float

    @property
    def engine(self) -> float:
        return self.driver + self.threads + self.jvm + self.workers


@dataclass(frozen=True, slots=True)
class Figure:
    """What so many queries cost, and how soon they answer."""

    way: str
    queries: int
    rate: int
    seconds: float
    #: From the start of the statements until they run, and until each has answered.
    started_s: float
    answered_s: float
    expected: int
    answered: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    busy: Cores
    idle: Cores
    processes: int
    thread_processes: int
    rss_mb: float
    pss_mb: float
    load_average: float

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class _Watch:
    """Note when each key first appears in the output of each query."""

    def __init__(self, bootstrap: str, topics: Mapping[str, int]) -> None:
        self.seen: list[dict[bytes, float]] = [{} for _ in topics]
        self._topics = topics
        self._stop = threading.Event()
        self._wants_rest = self._is_resting = False
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "bench-queries",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 20,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        parts = [TopicPartition(t, n, 0) for t in self._topics for n in range(PARTITIONS)]
        self._consumer.assign(parts)
        while not self._stop.is_set():
            self._turn()
            messages = self._consumer.consume(2000, 0.02)
            now = time.time()
            for message in messages:
                key = message.key()
                if message.error() is None and isinstance(key, bytes):
                    self.seen[self._topics[str(message.topic())]].setdefault(key, now)
        self._consumer.close()

    def rest(self, *, is_resting: bool) -> None:
        """Ask the broker for nothing while idle queries are measured."""
        self._wants_rest = is_resting

    def _turn(self) -> None:
        """Rest or go on; only the thread that consumes may do that, elsewhere the client hangs."""
        if self._wants_rest != self._is_resting:
            change = self._consumer.pause if self._wants_rest else self._consumer.resume
            change(self._consumer.assignment())
            self._is_resting = self._wants_rest

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


class _Feed:
    """Send records, each with a key of its own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 1}
        self._producer = Producer(settings)
        self._topic = topic

    def send(self, key: str) -> float:
        now = time.time()
        value = '{"AMOUNT": 80.5, "COUNTRY": "DE"}'
        self._producer.produce(self._topic, value, key, timestamp=int(now * 1000))
        self._producer.poll(0)
        return now

    def at_rate(self, prefix: str, rate: int, seconds: float) -> dict[bytes, float]:
        """Send for some seconds, and return when each key was sent."""
        sent: dict[bytes, float] = {}
        begun = time.monotonic()
        while (elapsed := time.monotonic() - begun) < seconds:
            while len(sent) < elapsed * rate:
                key = f"{prefix}{len(sent)}"
                sent[key.encode()] = self.send(key)
            time.sleep(0.002)
        self._producer.flush()
        return sent


def measure(
    bootstrap: str, way: str, count: int, rate: int, seconds: float, idle_s: float, commit_ms: int
) -> Figure:
    """Start so many queries on new topics, feed them, end them, and return what was seen."""
    tag = f"q{uuid.uuid4().hex[:8]}"
    topics = {sink_topic(tag, number): number for number in range(count)}
    admin = Admin({"bootstrap.servers": bootstrap})
    for topic in (source_topic(tag), *topics):
        admin.create_topic(topic, partitions=PARTITIONS)
    watch, feed = _Watch(bootstrap, topics), _Feed(bootstrap, source_topic(tag))
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        command = [sys.executable, "-m", "bench.queries_engine", bootstrap, tag, str(count), way,
                   str(commit_ms), folder]  # fmt: skip
        variables = {name: value for name, value in os.environ.items() if name != BROKER}
        engine = subprocess.Popen(
            command, cwd=_ROOT, env={**variables, _ENGINE: tag}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            return _measured(engine, watch, feed, tag, way, count, rate, seconds, idle_s)
        finally:
            _end(engine)
            watch.stop()
            admin.delete_topics([source_topic(tag), *topics], missing_ok=True)


def _measured(
    engine: subprocess.Popen[str], watch: _Watch, feed: _Feed, tag: str, way: str, count: int,
    rate: int, seconds: float, idle_s: float,
) -> Figure:  # fmt: skip
    began = time.monotonic()
    assert engine.stdout is not None
    line = engine.stdout.readline()
    if not line.startswith("STARTED"):
        raise RuntimeError("the queries did not start")
    started_s = float(line.split()[1])
    _until_all_answer(watch, feed, began)
    answered_s = time.monotonic() - began
    feed.at_rate("warm", rate, 5.0)
    # Slots that have had nothing to do for a while rest.
    time.sleep(8.0)
    watch.rest(is_resting=True)
    idle = _cores(tag, engine.pid, lambda: time.sleep(idle_s))
    watch.rest(is_resting=False)
    sent: dict[bytes, float] = {}
    busy = _cores(tag, engine.pid, lambda: sent.update(feed.at_rate("k", rate, seconds)))
    load = os.getloadavg()[0]
    used = used_by(f"{_ENGINE}={tag}", engine.pid)
    _until_seen(watch, len(sent))
    found = sorted(
        (seen[key] - at) * 1000 for seen in watch.seen for key, at in sent.items() if key in seen
    )
    cuts = statistics.quantiles(found, n=100)
    return Figure(
        way=way, queries=count, rate=rate, seconds=seconds, started_s=round(started_s, 1),
        answered_s=round(answered_s, 1), expected=len(sent) * count, answered=len(found),
        p50_ms=round(cuts[49]), p99_ms=round(cuts[98]), max_ms=round(found[-1]), busy=busy,
        idle=idle, processes=sum(each.processes for each in used.values()),
        thread_processes=used["threads"].processes,
        rss_mb=round(sum(each.rss_mb for each in used.values())),
        pss_mb=round(sum(each.pss_mb for each in used.values())), load_average=round(load, 2),
    )  # fmt: skip


def _until_all_answer(watch: _Watch, feed: _Feed, began: float) -> None:
    number = 0
    while not all(watch.seen):
        if time.monotonic() - began > _FIRST_ANSWER_S:
            raise RuntimeError(f"{sum(not seen for seen in watch.seen)} queries did not answer")
        feed.send(f"before-{number}")
        number += 1
        time.sleep(0.25)


def _until_seen(watch: _Watch, sent: int) -> None:
    """Wait for the last answers, but not for ever."""
    deadline = time.monotonic() + _TAIL_S
    while time.monotonic() < deadline:
        if all(sum(key.startswith(b"k") for key in list(seen)) >= sent for seen in watch.seen):
            return
        time.sleep(0.5)


def _cores(tag: str, main: int, work: Callable[[], None]) -> Cores:
    """Do something, and return how busy each part was meanwhile."""
    before, begun = _all_used(tag, main), time.monotonic()
    work()
    after, took_s = _all_used(tag, main), time.monotonic() - begun

    def busy(kind: str) -> float:
        spent = after[kind].cpu_s - (before[kind].cpu_s if kind in before else 0.0)
        return round(max(spent, 0.0) / took_s, 3) if kind in after else 0.0

    return Cores(*(busy(kind) for kind in ("driver", "threads", "jvm", "workers", "broker")))


def _all_used(tag: str, main: int) -> dict[str, Used]:
    found = used_by(f"{_ENGINE}={tag}", main)
    own = os.environ.get(BROKER)
    of_broker = used_by(f"{BROKER}={own}", 0).get("jvm") if own else None
    return found if of_broker is None else {**found, "broker": of_broker}


def _end(engine: subprocess.Popen[str]) -> None:
    assert engine.stdin is not None
    engine.stdin.close()
    try:
        engine.wait(120)
    except subprocess.TimeoutExpired:
        engine.kill()
        engine.wait()
