"""A running application whose requests and answers are lost, delayed and forbidden on their way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

import penstock as ps
from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from tests.integration.kafka.proxy import Api, KafkaProxy, Side, proxied_broker
from tests.integration.kafka.records import read
from tests.integration.kafka.secured import (
    add_user,
    allow,
    broker_with_logins,
    forbid,
    login,
    permit,
)
from tests.integration.spark.instances import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

#: Each application is used for many faults: every fault has so many records, and this long.
RECORDS, PATIENCE_S = 50, 180
APIS = (Api.END_TXN, Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT, Api.ADD_PARTITIONS_TO_TXN)
LOSSES = (
    (KafkaProxy.drop_answers, Side.ANSWER),
    (KafkaProxy.close_on_answer, Side.ANSWER),
    (KafkaProxy.drop_requests, Side.REQUEST),
    (KafkaProxy.close_on_request, Side.REQUEST),
)


class Feed:
    """Writes equal words, and knows what their counts are in the end."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 1})
        self._total = 0

    def write(self) -> None:
        for number in range(RECORDS):
            self._producer.produce("in", f"w{number % 5}", f"k{number}")
        assert self._producer.flush(30) == 0
        self._total += RECORDS

    def is_counted_once(self) -> bool:
        """Whether every count from the first to the last is there, each once."""
        found = Counter(pair for part in range(2) for pair in read(self._servers, "out", part))
        words = [f"w{number}" for number in range(5)]
        wanted = Counter(product(words, map(str, range(1, self._total // 5 + 1))))
        assert not found - wanted, found - wanted
        return found == wanted


def counts() -> ps.Topology:
    """Count equal values; every change is written."""
    builder = ps.StreamsBuilder()
    words = builder.stream("in", key="string", value="string").group_by(lambda _, value: value)
    words.count("counts").to_stream().map_values(str).to("out")
    return builder.build()


def settings(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {
        "application.id": "app",
        "state.dir": str(tmp_path),
        "processing.guarantee": "exactly_once_v2",
        "commit.interval.ms": 20,
        "statestore.cache.max.bytes": 0,
        **more,
    }


@pytest.fixture
def proxied(needs_java: None) -> Iterator[tuple[EmbeddedBroker, KafkaProxy]]:
    with proxied_broker() as pair:
        make_topics(pair[0])
        yield pair


def make_topics(broker: EmbeddedBroker) -> None:
    admin = Admin({"bootstrap.servers": broker.internal_servers})
    for topic in ("in", "out"):
        admin.create_topic(topic, partitions=2)


#: The end of a transaction is lost in every way; of the other requests, the answer is.
SOME = [*product(APIS[:1], LOSSES), *product(APIS[1:], LOSSES[:1])]
REST = [each for each in product(APIS, LOSSES) if each not in SOME]


@pytest.mark.parametrize(
    "faults",
    [pytest.param(SOME, id="some"), pytest.param(REST, id="rest", marks=pytest.mark.slow)],
)
def test_lost_requests_and_answers_of_a_commit_change_nothing(
    spark: Any, proxied: tuple[EmbeddedBroker, KafkaProxy], tmp_path: Path, faults: Any
) -> None:
    """Whether the broker had heard of the commit or not, every count comes once."""
    broker, proxy = proxied
    feed = Feed(broker.internal_servers)
    given = {
        "bootstrap.servers": broker.bootstrap_servers,
        # A client that waits a minute for an answer would make this a long test.
        "producer.socket.timeout.ms": 1_000,
    }
    with ps.KafkaStreams(counts(), settings(tmp_path, **given)):
        for api, (lose, side) in faults:
            met = proxy.met(api, side)
            lose(proxy, api)
            feed.write()
            wait_for(feed.is_counted_once, PATIENCE_S, f"{api.name} {lose.__name__}")
            assert proxy.met(api, side) > met
        proxy.delay(Api.END_TXN, 3.0, times=2)
        feed.write()
        wait_for(feed.is_counted_once, PATIENCE_S, "slow answers")


def test_application_waits_for_a_right_that_it_had(
    spark: Any, needs_java: None, tmp_path: Path
) -> None:
    """It says for which, goes on when it has it again, and has lost and doubled nothing."""
    everything = (
        (ResourceType.TOPIC, "*"), (ResourceType.GROUP, "*"),
        (ResourceType.TRANSACTIONAL_ID, "*"), (ResourceType.BROKER, "kafka-cluster"),
    )  # fmt: skip
    with broker_with_logins() as broker:
        make_topics(broker)
        add_user(broker, "ann", "s3cret")
        for resource, name in everything:
            allow(broker, "ann", resource, name, AclOperation.ALL)
        feed = Feed(broker.internal_servers)
        given = settings(tmp_path, **login(broker, "ann", "s3cret"))
        with ps.KafkaStreams(counts(), given) as streams:
            feed.write()
            wait_for(feed.is_counted_once, PATIENCE_S)
            for topic, operation in (("out", AclOperation.WRITE), ("in", AclOperation.READ)):
                forbid(broker, "ann", ResourceType.TOPIC, topic, operation)
                feed.write()
                wait_for(lambda: streams.waiting_for, PATIENCE_S, "it notices")
                assert "right" in str(streams.waiting_for)
                assert streams.state is ps.State.RUNNING
                permit(broker, "ann", ResourceType.TOPIC, topic, operation)
                wait_for(feed.is_counted_once, PATIENCE_S, "it goes on")
