"""Kill processes while the application runs, and then check what it wrote."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.errors import KafkaRequestError
from tests.chaos.topology import ENRICHED, MINUTE_MS, PAYMENTS, TOTALS, USERS

PARTITIONS = 4
_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Chaos:
    """A broker that keeps its data, an application process, and the truth about its input."""

    folder: Path
    guarantee: str = "exactly_once_v2"
    batch_records: int = 5_000
    users: int = 500
    seed: int = 1
    kills: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.broker = EmbeddedBroker(self.folder / "broker")
        self.app: subprocess.Popen[bytes] | None = None
        #: Where the log of the last start begins.
        self._log_start = 0
        self.expected: dict[str, dict[str, int]] = {}
        self.produced = 0

    def __enter__(self) -> Chaos:
        self.broker.start()
        admin = Admin({"bootstrap.servers": self.broker.bootstrap_servers})
        for topic in (PAYMENTS, USERS, ENRICHED, TOTALS):
            admin.create_topic(topic, partitions=PARTITIONS)
        producer = self._producer()
        for number in range(self.users):
            user = json.dumps({"country": f"c{number % 7}"})
            # librdkafka takes a timestamp of 0 for "now".
            producer.produce(USERS, user, f"u{number}", timestamp=1)
        producer.flush(60)
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop_app(signal.SIGKILL)
        self.broker.stop()

    # Input

    def produce(self, count: int) -> None:
        """Adds payments, and notes what must come of them."""
        producer = self._producer()
        for _ in range(count):
            number = self.produced
            merchant = f"m{self.random.randrange(200)}"
            amount = self.random.randrange(1, 100)
            time_ms = 1_000 + number * 7
            payment = {"id": number, "merchant": merchant, "amount": amount}
            while True:
                try:
                    producer.produce(
                        PAYMENTS,
                        json.dumps(payment),
                        f"u{self.random.randrange(self.users)}",
                        timestamp=time_ms,
                    )
                    break
                except BufferError:
                    producer.poll(0.5)
            window = f"{merchant}@{time_ms // MINUTE_MS * MINUTE_MS}"
            total = self.expected.setdefault(window, {"sum": 0, "count": 0})
            total["sum"] += amount
            total["count"] += 1
            self.produced += 1
        assert producer.flush(120) == 0

    # The application

    def start_app(self, faults: str = "") -> None:
        self._log_start = self._log_size()
        environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}"}
        with (self.folder / "app.log").open("ab") as log:
            self.app = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.app", self.broker.bootstrap_servers,
                 str(self.folder / "state"), self.guarantee, str(self.batch_records), faults],
                stdout=log, stderr=log, cwd=_ROOT, env=environment, start_new_session=True,
            )  # fmt: skip

    def ensure_app(self, faults: str = "") -> None:
        """Starts the application again if it has been killed."""
        if self.app is None or self.app.poll() is not None:
            self.start_app(faults)

    def stop_app(self, number: signal.Signals = signal.SIGTERM, timeout_s: float = 120) -> int:
        app, self.app = self.app, None
        if app is None:
            return 0
        if app.poll() is None:
            os.kill(app.pid, number)
        try:
            code = app.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.kill(app.pid, signal.SIGKILL)
            self._sweep(app.pid)
            raise
        if number == signal.SIGKILL:
            self._sweep(app.pid)
        return code

    # Kills

    def kill_driver(self) -> None:
        self.kills["driver"] += 1
        self.stop_app(signal.SIGKILL)

    def kill_worker(self) -> None:
        workers = list(self._workers())
        if workers:
            self.kills["worker"] += 1
            _kill(self.random.choice(workers))

    def kill_broker(self) -> None:
        self.kills["broker"] += 1
        self.broker.kill()
        time.sleep(self.random.random() * 2)
        self.broker.start()

    def await_death(self, timeout_s: float) -> None:
        """Waits until a fault has killed the application."""
        assert self.app is not None
        try:
            self.app.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it lives after {timeout_s:.0f} s\n{self.log_tail()}") from None

    def lose_state(self) -> None:
        """Takes the local state away, Spark's checkpoint included, while nothing runs."""
        self.kills["state"] += 1
        self.kill_driver()
        shutil.rmtree(self.folder / "state", ignore_errors=True)

    def _workers(self) -> Iterator[int]:
        """The stream threads of the application, and the Python daemon that starts them."""
        if self.app is None:
            return
        for pid in _descendants(self.app.pid):
            if _name(pid).startswith("stream-thread-") or "worker.daemon" in _command(pid):
                yield pid

    def _sweep(self, group: int) -> None:
        """What the dead leader left behind must go by itself; a little help keeps tests short."""
        time.sleep(1.0)
        for pid in _session(group):
            _kill(pid)

    # The truth

    def wait_for_all(self, timeout_s: float, faults: str = "") -> None:
        """Waits until every payment has been written to ``enriched`` at least once."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.ensure_app(faults)
            # One that was started a moment ago cannot be asked to close yet.
            is_read = self._committed() >= self.produced and self._has_run()
            # What lies in the repartition topic then is processed a moment later.
            if is_read and self._counted() >= self.produced:
                return
            time.sleep(0.2)
        raise AssertionError(
            f"only {self._committed()} of {self.produced} payments were processed in"
            f" {timeout_s:.0f} s; log:\n{self.log_tail()}"
        )

    def _log_size(self) -> int:
        log = self.folder / "app.log"
        return log.stat().st_size if log.exists() else 0

    def _has_run(self) -> bool:
        """Whether the process that was started last has got as far as running."""
        with (self.folder / "app.log").open("rb") as log:
            log.seek(self._log_start)
            return "→ RUNNING".encode() in log.read()

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(
            (self.folder / "app.log").read_text(errors="replace").splitlines()[-lines:]
        )

    def enriched_ids(self) -> Counter[int]:
        return Counter(json.loads(value)["id"] for _, value in self.read(ENRICHED))

    def totals(self) -> dict[str, dict[str, int]]:
        """The last total of each window."""
        return {key.decode(): json.loads(value) for key, value in self.read(TOTALS)}

    def _counted(self) -> int:
        """How many payments the totals contain."""
        return sum(total["count"] for total in self.totals().values())

    def read(self, topic: str) -> list[tuple[bytes, bytes]]:
        """All committed records of a topic."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap_servers,
                "group.id": "chaos-check",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        records, ended = [], 0
        while ended < PARTITIONS:
            for message in consumer.consume(10_000, 0.5):
                error = message.error()
                if error is None:
                    records.append((message.key(), message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended += 1
                else:
                    raise AssertionError(error)
        consumer.close()
        return records

    def _committed(self) -> int:
        """How many payments the group has committed."""
        admin = Admin({"bootstrap.servers": self.broker.bootstrap_servers})
        try:
            offsets = admin.group_offsets("chaos")
        except KafkaRequestError as error:
            # A broker that has just been started has no coordinator for a moment.
            if error.code != "kafka-not-ready":
                raise
            return 0
        return sum(at for (topic, _), at in offsets.items() if topic == PAYMENTS)

    def _producer(self) -> Producer:
        settings: dict[str, Any] = {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "partitioner": "murmur2_random",
            "enable.idempotence": True,
            "linger.ms": 20,
        }
        return Producer(settings)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and session of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(entry.name)] = (int(fields[1]), int(fields[3]))
    return found


def _descendants(root: int) -> list[int]:
    parents = {pid: parent for pid, (parent, _) in _processes().items()}
    found, todo = [], [root]
    while todo:
        current = todo.pop()
        children = [pid for pid, parent in parents.items() if parent == current]
        found += children
        todo += children
    return found


def _session(leader: int) -> list[int]:
    return [pid for pid, (_, session) in _processes().items() if session == leader]


def _command(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""
