"""Creates confluent-kafka's clients. Errors name the wrong setting; logs go to Python's logging.

A client also reports errors in the background; ``reported_errors`` returns them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from penstock.errors import ConfigError
from penstock.kafka.client_lines import Seldom
from penstock.kafka.error_table import Verdict, verdict
from penstock.kafka.refusals import reported_text

C = TypeVar("C", bound="_ReportingConsumer | _ReportingProducer | _ReportingAdminClient")

_log = logging.getLogger("penstock.kafka.client")
_log.addFilter(Seldom())


class ReportedErrors:
    """The errors that a client reported since ``clear``: the last one, and the last refusal.

    A wrong password is reported as ``_AUTHENTICATION`` here, while the calls of the client only
    time out. Reports arrive while the client is polled.
    """

    def __init__(self) -> None:
        self.last: KafkaError | None = None
        self.refusal: KafkaError | None = None

    def clear(self) -> None:
        self.last = self.refusal = None

    def __call__(self, error: KafkaError) -> None:
        _log.debug("reported: %s", error)
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self.last is None:
            # "All brokers are down" follows every other error and says less.
            self.last = error
        if verdict(error) is Verdict.FORBIDDEN:
            self.refusal = error

    def __str__(self) -> str:
        return "" if self.last is None else reported_text(self.last)


class _ReportingConsumer(Consumer):
    reported: ReportedErrors


class _ReportingProducer(Producer):
    reported: ReportedErrors


class _ReportingAdminClient(AdminClient):
    reported: ReportedErrors


def sendable_time(timestamp_ms: int) -> int:
    """Return the time to hand to a producer for a record: 1 ms for 0, else the time itself.

    librdkafka takes 0 for "no time given" and writes the present time. Windows then close at once
    and every later record is late. One millisecond is the nearest time that it can write.
    """
    return timestamp_ms or 1


def new_consumer(settings: Mapping[str, Any]) -> Consumer:
    return _made(_ReportingConsumer, settings)


def new_producer(settings: Mapping[str, Any]) -> Producer:
    return _made(_ReportingProducer, settings)


def new_admin_client(settings: Mapping[str, Any]) -> AdminClient:
    return _made(_ReportingAdminClient, settings)


def reported_errors(client: Consumer | Producer | AdminClient) -> ReportedErrors:
    """Return the errors that a client of this module has reported. Poll the client first."""
    reported = getattr(client, "reported", None)
    return reported if isinstance(reported, ReportedErrors) else ReportedErrors()


def _made(client: Callable[..., C], settings: Mapping[str, Any]) -> C:
    """Make a client whose complaints go to Python's logging instead of standard error.

    Raises:
        ConfigError: ``bad-client-setting``, with what librdkafka says about it.
    """
    reported = ReportedErrors()
    try:
        made = client({"logger": _log, "error_cb": reported, **settings})
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0] if error.args else error
        text = reason.str() if hasattr(reason, "str") else str(reason)
        raise ConfigError(
            "bad-client-setting",
            f"a Kafka client cannot be made: {text}",
            fix="use Kafka's or librdkafka's name and value for the setting",
        ) from None
    made.reported = reported
    return made
