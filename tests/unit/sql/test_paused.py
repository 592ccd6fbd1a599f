"""Paused queries are kept in a topic: what is written, and what another process reads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.kafka.admin_answers import TopicSpec
from penstock.sql.queries.paused import PausedQueries, paused_topic

TOPIC = paused_topic("shop_")


class Cluster:
    """Admin, producer and reader over one list of records."""

    def __init__(self) -> None:
        self.made: list[TopicSpec] = []
        self.records: list[tuple[bytes, bytes | None]] = []
        self.flushed = 0

    def topics(self) -> list[str]:
        return [spec.name for spec in self.made]

    def create_topics(self, specs: list[TopicSpec]) -> None:
        self.made += specs

    def produce(self, topic: str, value: bytes | None, key: bytes, partition: int) -> None:
        assert (topic, partition) == (TOPIC, 0)
        self.records.append((key, value))

    def flush(self) -> None:
        self.flushed = len(self.records)

    def read(self, topic: str) -> list[Any]:
        return [SimpleNamespace(key=key, value=value) for key, value in self.records]

    def queries(self) -> PausedQueries:
        cluster: Any = self
        return PausedQueries(TOPIC, cluster, cluster, self.read)


def test_another_process_finds_what_was_paused_and_not_resumed() -> None:
    """The topic is compacted, so that it does not grow with every PAUSE."""
    cluster = Cluster()
    cluster.queries().keep({"b", "a"})
    later = cluster.queries()
    assert later.load() == {"a", "b"}
    later.keep({"b"})
    assert cluster.queries().load() == {"b"}
    assert [spec.config for spec in cluster.made] == [{"cleanup.policy": "compact"}]


def test_only_changes_are_written_and_all_of_them_arrive() -> None:
    """RESUME is a tombstone."""
    cluster = Cluster()
    queries = cluster.queries()
    for paused in ({"a"}, {"a"}, {"a", "b"}, {"b"}):
        queries.keep(paused)
    assert cluster.records == [(b"a", b"PAUSED"), (b"b", b"PAUSED"), (b"a", None)]
    assert cluster.flushed == 3


def test_a_service_that_never_paused_anything_makes_no_topic() -> None:
    """Looking is enough to know that there is nothing."""
    cluster = Cluster()
    queries = cluster.queries()
    assert queries.load() == set()
    queries.keep(set())
    assert cluster.made == []
