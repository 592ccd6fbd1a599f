"""A broker is away, and with it the only replica of one partition: the other partitions go on.

Records make round trips: the next one is sent when the one before it has come out. So the test
counts, and does not measure time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import penstock as ps
from tests.cluster.brokers import Brokers
from tests.cluster.hosts import Nest, reap

SOURCE, SINK = "in", "out"
#: By partition of the source: the broker that has it.
PLACES = [[1], [2], [1], [3]]
#: The partition of the broker that is killed, and the others.
AWAY, OTHERS = 1, (0, 2, 3)
TRIPS = 30
#: Kafka names other leaders and coordinators after some ten seconds, more on a busy machine.
PATIENCE_S = 180.0


class Trips:
    """Sends records through the application, one after the other."""

    def __init__(self, servers: str) -> None:
        # What is sent to the partition that is away waits in the producer.
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 1,
                "message.timeout.ms": 900_000,
            }
        )
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": "trips", "isolation.level": "read_committed"}
        )
        self._consumer.assign([TopicPartition(SINK, n, 0) for n in range(len(PLACES))])
        #: How often each value has come out.
        self.seen: Counter[str] = Counter()

    def send(self, partition: int, value: str) -> None:
        self._producer.produce(SOURCE, value, str(partition), partition=partition)

    def arrive(self, values: Iterable[str]) -> None:
        """Wait until these values have come out."""
        wanted, until = set(values), time.monotonic() + PATIENCE_S
        while missing := wanted - self.seen.keys():
            assert time.monotonic() < until, f"did not come out: {sorted(missing)}"
            self._producer.poll(0)
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.seen[(message.value() or b"").decode()] += 1

    def make(self, count: int, partitions: Iterable[int], name: str) -> None:
        """Send a record to each partition when those before have come out, so many times.

        How long that took is printed, for those who want to know.
        """
        took: list[float] = []
        for number in range(count):
            began = time.monotonic()
            values = {f"{name}-{partition}-{number}": partition for partition in partitions}
            for value, partition in values.items():
                self.send(partition, value)
            self.arrive(values)
            took.append(time.monotonic() - began)
        print(f"{name}: {count} trips, median {median(took):.2f} s, longest {max(took):.2f} s")

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def brokers(tmp_path: Path, needs_java: None) -> Iterator[Brokers]:
    made = Brokers(Nest(tmp_path), 3)
    try:
        made.start_all()
        admin = AdminClient({"bootstrap.servers": made.bootstrap_servers})
        topics = [
            NewTopic(SOURCE, len(PLACES), replica_assignment=PLACES),
            NewTopic(SINK, len(PLACES), 3),
        ]
        for created in admin.create_topics(topics).values():
            created.result(60)
        yield made
    finally:
        reap()


@pytest.mark.chaos
@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_partitions_with_a_leader_go_on_beside_one_without(
    brokers: Brokers, tmp_path: Path, guarantee: str
) -> None:
    """Also after a restart. What was sent to it comes out when its broker is back."""
    trips = Trips(brokers.bootstrap_servers)
    victim = brokers.brokers[PLACES[AWAY][0] - 1]
    with started(brokers.bootstrap_servers, tmp_path, guarantee) as streams:
        trips.make(3, range(len(PLACES)), "before")
        brokers.kill(victim)
        trips.send(AWAY, "missed")
        trips.make(TRIPS, OTHERS, "away")
        assert "missed" not in trips.seen
        assert streams.state is ps.State.RUNNING
        assert f"{SOURCE!r} partition {AWAY}" in (streams.waiting_for or "")
        assert streams.lag().keys() == {(SOURCE, number) for number in range(len(PLACES))}
    with started(brokers.bootstrap_servers, tmp_path, guarantee):
        trips.make(3, OTHERS, "restarted")
        brokers.start(victim)
        trips.arrive(["missed"])
        trips.make(3, range(len(PLACES)), "back")
    trips.close()
    assert guarantee == "at_least_once" or set(trips.seen.values()) == {1}


def started(servers: str, folder: Path, guarantee: str) -> ps.KafkaStreams:
    builder = ps.StreamsBuilder()
    builder.stream(SOURCE).to(SINK)
    settings = {
        "application.id": "leaderless",
        "bootstrap.servers": servers,
        "state.dir": str(folder / "state"),
        "processing.guarantee": guarantee,
        "num.stream.threads": 2,
        "replication.factor": 3,
        "spark.ui.enabled": "false",
    }
    return ps.KafkaStreams(builder.build(), settings)
