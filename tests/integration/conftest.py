"""Fixtures of the tests with a real broker; one broker serves the whole run."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker


@pytest.fixture(scope="session")
def embedded_broker(needs_java: None) -> Iterator[EmbeddedBroker]:
    """The broker of this run; tests that kill a broker start one of their own."""
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_broker(embedded_broker: EmbeddedBroker) -> str:
    """The bootstrap servers of this run's broker."""
    return embedded_broker.bootstrap_servers


@pytest.fixture(scope="session")
def kafka_admin(kafka_broker: str) -> Admin:
    return Admin({"bootstrap.servers": kafka_broker})


_numbers = count(1)


@pytest.fixture
def new_topic(kafka_admin: Admin) -> Iterator[Callable[..., str]]:
    """Makes topics with names of their own: ``new_topic("orders", partitions=4)``."""
    made: list[str] = []

    def create(name: str = "topic", partitions: int = 1, **config: str) -> str:
        topic = f"{name}-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        kafka_admin.create_topic(topic, partitions=partitions, config=settings)
        made.append(topic)
        return topic

    yield create
    kafka_admin.delete_topics(made, missing_ok=True)
