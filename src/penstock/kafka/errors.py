"""Errors about Kafka. Every class is a ``PenstockError`` with a code and a fix."""

from __future__ import annotations

from penstock.errors import PenstockError


class JavaError(PenstockError):
    """No Java that Kafka and Spark can use was found."""


class BrokerError(PenstockError):
    """The private broker cannot be downloaded, started or stopped."""


class KafkaRequestError(PenstockError):
    """A broker refused a request or did not answer it in time."""


class TopicExistsError(KafkaRequestError):
    """The topic exists with other properties."""


class UnknownTopicError(KafkaRequestError):
    """The cluster has no such topic or partition."""


class UnknownGroupError(KafkaRequestError):
    """The cluster has no such consumer group."""
