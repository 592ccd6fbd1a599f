"""Read the results of a run from Kafka: committed records, offsets and the application's lag."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from penstock.kafka.admin import Admin
from tests.cluster.expected import LogRecord
from tests.cluster.topology import (
    APPLICATION,
    COUNT_STORE,
    INPUTS,
    JOIN_NAME,
    OUTPUTS,
    SUM_STORE,
)
from tests.cluster.verdict import Written

Partition = tuple[str, int]


class Log:
    """The Kafka cluster as an observer sees it; it joins no group and commits nothing."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = Admin({"bootstrap.servers": bootstrap, "log_level": 0}, timeout_s=15.0)
        self._group = self._consumer(APPLICATION)

    def close(self) -> None:
        self._group.close()

    def partitions(self, topics: Iterable[str]) -> list[Partition]:
        """List the partitions of topics that exist."""
        known = self._admin.topics()
        wanted = [known[name] for name in topics if name in known]
        return [(topic.name, number) for topic in wanted for number in range(len(topic.partitions))]

    def internal_topics(self, ending: str) -> list[str]:
        """List the application's own topics whose names end like this."""
        names = self._admin.topics()
        return [n for n in names if n.startswith(f"{APPLICATION}-") and n.endswith(ending)]

    def committed(self, partitions: Iterable[Partition], timeout_s: float) -> dict[Partition, int]:
        """Return the offsets that the application's group has committed.

        Raises:
            KafkaException: no broker has answered in time.
        """
        asked = [TopicPartition(*each) for each in partitions]
        found = self._group.committed(asked, timeout_s)
        return {(p.topic, p.partition): max(p.offset, 0) for p in found}

    def lag(self) -> int:
        """Count the records that the application has not committed as processed.

        Markers of transactions take offsets too, so the rest of a repartition topic is read:
        only a record in it, or an open transaction, is something that still has to happen.
        """
        inputs = self.partitions(INPUTS)
        ends, done = self._admin.end_offsets(inputs), self.committed(inputs, 10.0)
        behind = sum(ends[each] - done[each] for each in inputs)
        repartitions = self.partitions(self.internal_topics("-repartition"))
        if behind == 0 and repartitions:
            ends, done = self._admin.end_offsets(repartitions), self.committed(repartitions, 10.0)
            rest = {each: done[each] for each in repartitions if done[each] < ends[each]}
            behind = len(self._read(rest)) + self._open_transactions(list(rest))
        return behind

    def output_ends(self) -> dict[Partition, int] | None:
        """Return the ends of the output topics, or None while one has an open transaction."""
        outputs = self.partitions(OUTPUTS)
        if self._open_transactions(outputs):
            return None
        return self._admin.end_offsets(outputs)

    def output_count(self) -> int:
        """Return how far the committed part of the outputs reaches, markers included."""
        return sum(self._admin.end_offsets(self.partitions(OUTPUTS), committed=True).values())

    def written(self) -> Written:
        """Read everything that the verdict compares."""
        changelogs = {
            name.removeprefix(f"{APPLICATION}-").removesuffix("-changelog"): name
            for name in self.internal_topics("-changelog")
        }
        return Written(
            inputs={topic: self.read(topic) for topic in INPUTS},
            outputs={topic: self.read(topic) for topic in OUTPUTS},
            count_changelog=self.read(changelogs[COUNT_STORE]),
            sum_changelog=self.read(changelogs[SUM_STORE]),
            join_changelogs={
                store: self.read(name)
                for store, name in changelogs.items()
                if store.startswith(JOIN_NAME)
            },
        )

    def read(self, topic: str) -> list[LogRecord]:
        """Read all committed records of a topic, each partition in the order of its log."""
        return self._read(dict.fromkeys(self.partitions([topic]), 0))

    def _open_transactions(self, partitions: list[Partition]) -> int:
        ends = self._admin.end_offsets(partitions)
        stable = self._admin.end_offsets(partitions, committed=True)
        return sum(1 for each in partitions if stable[each] < ends[each])

    def _read(self, start: dict[Partition, int]) -> list[LogRecord]:
        records: list[LogRecord] = []
        waiting = set(start)
        if not waiting:
            return records
        consumer = self._consumer("cluster-observer")
        consumer.assign([TopicPartition(*each, at) for each, at in start.items()])
        while waiting:
            for message in consumer.consume(5_000, 1.0):
                error = message.error()
                if error is None:
                    _, at = message.timestamp()
                    key = message.key() or b""
                    records.append(LogRecord(message.partition(), at, key, message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    waiting.discard((message.topic(), message.partition()))
                elif error.fatal():
                    raise KafkaException(error)
        consumer.close()
        return records

    def _consumer(self, group: str) -> Consumer:
        settings: dict[str, Any] = {
            "bootstrap.servers": self._bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 1000,
            "log_level": 0,
        }
        return Consumer(settings)
