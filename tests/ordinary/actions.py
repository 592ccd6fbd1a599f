"""What operators and other programs do on an ordinary day. Each action undoes itself later."""

from __future__ import annotations

import random
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Producer

from penstock.kafka.admin import Admin
from penstock.kafka.installation import ensure_installed
from tests.cluster.application import Application
from tests.cluster.feeder import Feeder
from tests.cluster.schedule import Schedule
from tests.cluster.topology import AMOUNTS, APPLICATION, INPUTS, LINES, OUTPUTS, PAIRS
from tests.integration.kafka.proxy import Api, KafkaProxy
from tests.ordinary.clock import MovableClock
from tests.ordinary.recorder import Recorder

_PARTITIONERS = ("consistent_random", "fnv1a_random", "murmur2_random")
_SETTINGS = (
    {"segment.bytes": "1048576"},
    {"segment.ms": "10000"},
    {"compression.type": "gzip"},
    {"flush.messages": "1000"},
    {"index.interval.bytes": "512"},
)


@dataclass
class Parts:
    """What actions work on."""

    bootstrap: str
    proxy: KafkaProxy
    clock: MovableClock
    application: Application
    recorder: Recorder
    schedule: Schedule
    feeders: list[Feeder] = field(default_factory=list)


class Actions:
    """One method per kind: it acts, and returns what it did, or None if it cannot act now."""

    def __init__(self, parts: Parts, chance: random.Random, partitions: int) -> None:
        self.parts = parts
        self._chance = chance
        self._partitions = partitions
        self._admin = Admin({"bootstrap.servers": parts.bootstrap, "log_level": 0})
        self._busy: set[str] = set()

    def setting(self) -> str:
        """Change a harmless setting of an input or output topic."""
        topic = self._chance.choice((*INPUTS, *OUTPUTS))
        changes = self._chance.choice(_SETTINGS)
        self._admin.alter_topic_config(topic, changes)
        return f"{topic}: {changes}"

    def compaction(self) -> str:
        """Compact an input for a while; records younger than a minute stay."""
        topic = self._chance.choice(INPUTS)
        self._admin.alter_topic_config(
            topic,
            {
                "cleanup.policy": "compact",
                "min.compaction.lag.ms": "60000",
                "min.cleanable.dirty.ratio": "0.01",
                "segment.ms": "5000",
            },
        )
        back = {"cleanup.policy": "delete"}
        self.parts.schedule.after(30.0, lambda: self._admin.alter_topic_config(topic, back))
        return f"{topic} is compacted for 30 s"

    def records(self) -> str | None:
        """Delete records that the application has committed and the test has seen."""
        topic = self._chance.choice(INPUTS)
        parts = [(topic, number) for number in range(self._partitions)]
        done = self._admin.group_offsets(APPLICATION, parts)
        before = {
            each: min(done.get(each) or 0, self.parts.recorder.position[each]) for each in parts
        }
        before = {each: offset for each, offset in before.items() if offset > 0}
        if not before:
            return None
        self._admin.delete_records(before)
        return f"deleted {topic} up to {list(before.values())}"

    def transaction(self) -> str | None:
        """Leave a foreign transaction open on an input, and end it later."""
        if not self._occupy("transaction"):
            return None
        is_kept, open_s = self._chance.random() < 0.5, self._chance.uniform(5.0, 40.0)
        producer = Producer(
            {
                "bootstrap.servers": self.parts.bootstrap,
                "transactional.id": f"foreign-{self._chance.random()}",
                "transaction.timeout.ms": 120_000,
                "partitioner": "murmur2_random",
                "log_level": 0,
            }
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(50):
            producer.produce(LINES, "foreign transaction", f"line{number}")
            producer.produce(AMOUNTS, struct.pack(">q", number), f"foreign{number}")
        producer.flush(30)
        end = producer.commit_transaction if is_kept else producer.abort_transaction
        self._later(open_s, "transaction", lambda: end(30))
        return f"a foreign transaction for {open_s:.0f} s, then {end.__name__}"

    def partitions(self) -> str:
        """Add a partition to an output whose order does not matter."""
        total = len(self._admin.topic(PAIRS).partitions) + 1
        self._admin.add_partitions(PAIRS, total)
        return f"{PAIRS} has {total} partitions"

    def clock(self) -> str | None:
        """Move the application's clock for ten seconds."""
        if not self.parts.clock.is_there or not self._occupy("clock"):
            return None
        seconds = self._chance.choice((-7200, -60, 60, 7200))
        self.parts.clock.shift(seconds)
        self._later(10.0, "clock", lambda: self.parts.clock.shift(0))
        return f"the application's clock is {seconds:+} s off for 10 s"

    def link(self) -> str | None:
        """Delay what the broker answers to the application."""
        if not self._occupy("link"):
            return None
        api, delay = self._chance.choice((Api.FETCH, Api.PRODUCE)), self._chance.uniform(0.05, 0.5)
        self.parts.proxy.delay(api, delay, times=10_000)
        self._later(20.0, "link", self.parts.proxy.heal)
        return f"{api.name} is answered {delay:.2f} s later for 20 s"

    def quota(self) -> str | None:
        """Limit what clients may write and read per second."""
        if not self._occupy("quota"):
            return None
        rate = self._chance.choice((50_000, 200_000, 1_000_000))
        self._configure("--add-config", f"producer_byte_rate={rate},consumer_byte_rate={rate}")
        undo = ("--delete-config", "producer_byte_rate,consumer_byte_rate")
        self._later(30.0, "quota", lambda: self._configure(*undo))
        return f"clients may write and read {rate} bytes/s for 30 s"

    def producer(self) -> str | None:
        """Let another program write for a while, with a partitioner of its own."""
        if len(self.parts.feeders) > 8:
            return None
        number = len(self.parts.feeders)
        partitioner = self._chance.choice(_PARTITIONERS)
        feeder = Feeder(
            self.parts.bootstrap, 50, self._chance.randrange(10**6), self._partitions,
            partitioner=partitioner, name=f"p{number}-",
        )  # fmt: skip
        self.parts.feeders.append(feeder)
        feeder.start()
        return f"another producer, which places keys by {partitioner}"

    def restart(self) -> str | None:
        """Stop the application as a service manager does; it is started again at once."""
        if not self.parts.application.is_running or not self._occupy("restart"):
            return None
        self.parts.application.expect_end()
        problem = self.parts.application.close()
        self._later(60.0, "restart", lambda: None)
        return f"a clean restart ({problem or 'closed'})"

    def _configure(self, *change: str) -> None:
        java, distribution = ensure_installed()
        subprocess.run(
            [str(java.executable), "-cp", distribution.class_path, "kafka.admin.ConfigCommand",
             "--bootstrap-server", self.parts.bootstrap, "--alter", *change,
             "--entity-type", "clients", "--entity-default"],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip

    def _occupy(self, kind: str) -> bool:
        """Say whether no action of this kind is under way, and begin one."""
        is_free = kind not in self._busy
        self._busy.add(kind)
        return is_free

    def _later(self, seconds: float, kind: str, undo: Callable[[], object]) -> None:
        def act() -> None:
            self._busy.discard(kind)
            undo()

        self.parts.schedule.after(seconds, act)


#: Kinds that the command line offers, each a method of ``Actions``.
KINDS = (
    "setting", "compaction", "records", "transaction", "partitions", "clock", "link", "quota",
    "producer", "restart",
)  # fmt: skip


def wait_a_moment(chance: random.Random) -> float:
    """Return the moment of the next action, by the monotonic clock."""
    return time.monotonic() + chance.uniform(4.0, 15.0)
