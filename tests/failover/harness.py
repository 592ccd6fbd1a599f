"""Start instances, kill the one that leads, and measure the time without output."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from penstock.runtime.spark.driver.topics import batches_topic
from penstock.runtime.spark.replica.log_follower import LogFollower
from tests.failover.app import COUNTS, WORDS

APPLICATION, PARTITIONS = "failover", 4
#: The environment variable by which all processes of one instance are known.
_MARK = "PENSTOCK_FAILOVER_INSTANCE"
_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Output:
    """Reads the output as it is committed, and checks that every key counts 1, 2, 3 …"""

    bootstrap: str
    partitions: int = PARTITIONS
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    faults: list[str] = field(default_factory=list)
    records: int = 0
    last_s: float = 0.0

    def __post_init__(self) -> None:
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join(10)

    def _run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "failover-check",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
            }
        )
        consumer.assign([TopicPartition(COUNTS, number, 0) for number in range(self.partitions)])
        while not self._closing.is_set():
            for message in consumer.consume(10_000, 0.05):
                if message.error() is not None:
                    continue
                key = bytes(message.key() or b"").decode()
                count = int.from_bytes(bytes(message.value() or b""), "big")
                if count != self.counts[key] + 1:
                    self.faults.append(f"{key}: {count} after {self.counts[key]}")
                self.counts[key] = count
                self.records += 1
                self.last_s = time.monotonic()
        consumer.close()


class Instances:
    """A broker, processes with one application id, and a producer at a steady rate."""

    def __init__(
        self, folder: Path, *, rate: int = 500, keys: int = 200, partitions: int = PARTITIONS,
        **settings: Any,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.partitions = partitions
        self.rate, self.keys = rate, keys
        self._settings = settings
        self._broker = EmbeddedBroker(folder / "broker")
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.sent: defaultdict[str, int] = defaultdict(int)
        #: By instance: where the log of its last start begins.
        self._logged: dict[int, int] = {}
        self._closing = threading.Event()

    def __enter__(self) -> Instances:
        self._broker.start()
        self.bootstrap = self._broker.bootstrap_servers
        admin = Admin({"bootstrap.servers": self.bootstrap})
        for topic in (WORDS, COUNTS):
            admin.create_topic(topic, partitions=self.partitions)
        self.output = Output(self.bootstrap, self.partitions)
        self._log: LogFollower | None = None
        self._feeding = threading.Thread(target=self._feed, daemon=True)
        self._feeding.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        for number in list(self.processes):
            self.kill(number)
        self.output.close()
        if self._log is not None:
            self._log.close()
        self._broker.stop()

    # Input

    def _feed(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "partitioner": "murmur2_random",
             "enable.idempotence": True, "linger.ms": 5}
        )  # fmt: skip
        number, began = 0, time.monotonic()
        while not self._closing.is_set():
            due = int((time.monotonic() - began) * self.rate)
            for _ in range(due - number):
                key = f"k{number % self.keys}"
                producer.produce(WORDS, b"x", key)
                self.sent[key] += 1
                number += 1
            producer.poll(0)
            self._closing.wait(0.02)
        producer.flush(30)

    def send_each_key(self, times: int) -> None:
        """Send records of every key at once, in place of a steady rate."""
        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "partitioner": "murmur2_random",
             "enable.idempotence": True, "linger.ms": 20}
        )  # fmt: skip
        for number in range(self.keys):
            key = f"k{number}"
            for _ in range(times + number % 3):
                producer.produce(WORDS, b"x", key)
                self.sent[key] += 1
            if number % 1000 == 0:
                producer.flush(60)
        producer.flush(60)

    def stop_input(self) -> None:
        self._closing.set()
        self._feeding.join(60)

    # Instances

    def start(self, number: int, *prefix: str, **settings_of_its_own: Any) -> None:
        """Start an instance.

        Args:
            prefix: a command that starts the program, on another machine say.
        """
        settings = {
            "application.id": APPLICATION,
            "bootstrap.servers": self.bootstrap,
            "state.dir": str(self.folder / f"state-{number}"),
            "processing.guarantee": "exactly_once_v2",
            # Every count is written: the check wants to see each of them once.
            "statestore.cache.max.bytes": 0,
            "spark.ui.enabled": "false",
            **self._settings,
            **settings_of_its_own,
        }
        environment = {
            **os.environ,
            "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}",
            _MARK: self._mark(number),
        }
        file = self.folder / f"instance-{number}.log"
        self._logged[number] = len(file.read_text(errors="replace")) if file.exists() else 0
        with file.open("ab") as log:
            self.processes[number] = subprocess.Popen(
                [*prefix, sys.executable, "-m", "tests.failover.app", json.dumps(settings)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=_ROOT,
                env=environment, start_new_session=True,
            )  # fmt: skip

    def kill(self, number: int, how: signal.Signals = signal.SIGKILL) -> None:
        process = self.processes.pop(number)
        process.send_signal(how)  # nothing happens if it has ended by itself
        # One that closes takes its time; its successor must not wait for that.
        ending = threading.Thread(target=_end, args=(process,), daemon=True)
        ending.start()
        if how is signal.SIGKILL:
            ending.join(60)

    def _mark(self, number: int) -> str:
        return f"{self.folder}-{number}"

    def machine(self, number: int) -> list[int]:
        """Return the processes of an instance: the program, Spark's JVM and stream threads."""
        mark = f"{_MARK}={self._mark(number)}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def signal_machine(self, number: int, how: signal.Signals) -> None:
        """Send a signal to all processes of an instance, as if its machine were paused or lost."""
        for pid in self.machine(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)

    def log_of(self, number: int) -> str:
        """Return what an instance has logged since its last start."""
        file = self.folder / f"instance-{number}.log"
        text = file.read_text(errors="replace") if file.exists() else ""
        return text[self._logged.get(number, 0) :]

    def ask(self, number: int, key: str) -> dict[str, Any]:
        """Ask an instance for the count of a key."""
        process = self.processes[number]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"key": key}).encode() + b"\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], 60)[0]:
            raise AssertionError(f"instance {number} has not answered for a minute")
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    def is_standing_by(self, number: int) -> bool:
        return "standing by" in self.log_of(number)

    def leader(self) -> int | None:
        """The number of the process that leads, by the batch log."""
        if self._log is None:
            topic = batches_topic(APPLICATION)
            settings = {"bootstrap.servers": self.bootstrap, "group.id": "failover-look"}
            self._log = LogFollower(topic, settings, lambda: None)
            self._log.is_current.wait(10)
        state = self._log.state
        record = state.instances.get(state.leader)
        pids = {process.pid: number for number, process in self.processes.items()}
        return None if record is None else pids.get(record.pid)

    # Waiting

    def wait_until_ready(self, timeout_s: float = 600.0) -> None:
        """Wait until one instance leads, and all others have been standing by for a while."""
        deadline = time.monotonic() + timeout_s
        while not all(
            number == self.leader() or self.is_standing_by(number) for number in self.processes
        ):
            if time.monotonic() > deadline:
                raise AssertionError("not all instances stand by")
            time.sleep(0.1)
        time.sleep(3.0)

    def wait_for_output(self, since_s: float, timeout_s: float = 300.0) -> float:
        """Return how long after a moment the first output was committed."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.output.last_s > since_s:
                return self.output.last_s - since_s
            time.sleep(0.01)
        raise AssertionError(f"no output for {timeout_s:.0f} s")

    def wait_for_all(self, timeout_s: float = 300.0) -> None:
        """Wait until every record that was sent has been counted."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if dict(self.output.counts) == dict(self.sent):
                return
            time.sleep(0.2)
        missing = sum(self.sent.values()) - sum(self.output.counts.values())
        raise AssertionError(f"{missing} of {sum(self.sent.values())} records were not counted")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was told to end, and close the pipes to it."""
    process.wait(120)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
