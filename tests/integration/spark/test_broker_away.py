"""A broker that is away for minutes, as while an operator upgrades it or a network is down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.kafka.admin import Admin
from tests.integration.kafka.proxy import KafkaProxy, proxied_broker
from tests.integration.spark.instances import Instance, exact, wait_for, words

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

AWAY_S = 200


@pytest.fixture(scope="module")
def proxied(needs_java: None) -> Iterator[tuple[str, KafkaProxy]]:
    with proxied_broker() as (broker, proxy):
        yield broker.bootstrap_servers, proxy


@pytest.fixture(scope="module")
def kafka_broker(proxied: tuple[str, KafkaProxy]) -> str:
    return proxied[0]


@pytest.fixture(scope="module")
def kafka_admin(kafka_broker: str) -> Admin:
    return Admin({"bootstrap.servers": kafka_broker})


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", "at_least_once"])
def test_threads_stay_with_their_stores_while_the_broker_is_away(
    guarantee: str,
    start: Callable[..., Instance],
    topics: tuple[str, str],
    produce: Callable[..., None],
    committed: Callable[[str], list[tuple[Any, Any]]],
    proxied: tuple[str, KafkaProxy],
) -> None:
    """It says that Kafka is away, not that another instance leads, and goes on by itself."""
    source, sink = topics
    instance = start(processing_guarantee=guarantee)
    produce(source, *words(500))
    instance.wait_until_running()
    wait_for(lambda: sum(exact(committed(sink)).values()) == 500, 60, "the first counts")
    threads, restored = instance.threads(), instance.told()["restored"]
    proxied[1].down()
    said = set()
    until = time.monotonic() + AWAY_S
    while time.monotonic() < until:
        said.add(instance.told().get("waiting_for") or "")
        time.sleep(0.2)
    proxied[1].up()
    produce(source, *words(300))
    wait_for(lambda: sum(exact(committed(sink)).values()) == 800, 90, f"counts\n{instance.tail}")
    assert instance.threads() == threads
    assert instance.told().get("restored", restored) == restored
    assert any("Kafka" in text for text in said), said
    assert not any("leads" in text for text in said), said
