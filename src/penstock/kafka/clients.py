"""Makes confluent-kafka's clients, with errors that name the setting and logs that are Python's."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from penstock.errors import ConfigError

C = TypeVar("C")

_log = logging.getLogger("penstock.kafka.client")


def new_consumer(settings: Mapping[str, Any]) -> Consumer:
    return _made(Consumer, settings)


def new_producer(settings: Mapping[str, Any]) -> Producer:
    return _made(Producer, settings)


def new_admin_client(settings: Mapping[str, Any]) -> AdminClient:
    return _made(AdminClient, settings)


def _made(client: Callable[..., C], settings: Mapping[str, Any]) -> C:
    """Makes a client whose complaints go to Python's logging instead of standard error.

    Raises:
        ConfigError: ``bad-client-setting``, with what librdkafka says about it.
    """
    try:
        return client({"logger": _log, **settings})
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0] if error.args else error
        text = reason.str() if hasattr(reason, "str") else str(reason)
        raise ConfigError(
            "bad-client-setting",
            f"a Kafka client cannot be made: {text}",
            fix="use Kafka's or librdkafka's name and value for the setting",
        ) from None
