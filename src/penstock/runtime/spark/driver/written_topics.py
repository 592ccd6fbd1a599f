"""Checks the topics that an application writes, before Spark starts and before the first record."""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.config import DEAD_LETTER_TOPIC, StreamsConfig
from penstock.errors import ConfigError, TopologyError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Topic
from penstock.kafka.client_config import producer_settings
from penstock.kafka.clients import new_producer
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink
from penstock.topology.nodes.topics.to_lake import DriverSink
from penstock.topology.validate import nearest

#: A broker that creates topics by itself needs about a second.
_CREATED_S = 3.0


def check_written_topics(
    graph: Graph, config: StreamsConfig, admin: Admin, existing: Mapping[str, Topic]
) -> None:
    """Refuse output topics and a dead-letter topic that do not exist.

    Nothing is refused where brokers create the topics that clients ask for. If the user may not
    read whether they do, a missing output topic is noticed with the first record.

    Raises:
        TopologyError: ``missing-topic``: an output topic.
        ConfigError: ``missing-dead-letter-topic``.
    """
    missing = [sink for sink in _outputs(graph) if sink.topic not in existing]
    letters = config[DEAD_LETTER_TOPIC]
    are_missing = letters is not None and letters not in existing
    if not (missing or are_missing):
        return
    are_created = admin.creates_topics()
    if are_created is False and missing:
        raise _no_output(missing, existing)
    if are_missing and not (are_created is not False and _is_created(config, str(letters))):
        raise _no_letters(str(letters), existing)


def _outputs(graph: Graph) -> list[Sink]:
    """Return the sinks that name a topic of the user."""
    sinks = (node for node in graph.nodes.values() if isinstance(node, Sink))
    named = (sink for sink in sinks if sink.topic is not None and not isinstance(sink, DriverSink))
    return [sink for sink in named if sink.topic not in graph.internal_topics]


def _is_created(config: StreamsConfig, topic: str) -> bool:
    """Let a producer ask for a topic, and return whether the brokers have created it then."""
    producer, deadline = new_producer(producer_settings(config)), time.monotonic() + _CREATED_S
    while time.monotonic() < deadline:
        found = producer.list_topics(topic, timeout=10.0).topics.get(topic)
        if found is not None and found.error is None:
            return True
        time.sleep(0.2)
    return False


def _no_output(missing: list[Sink], existing: Mapping[str, Topic]) -> TopologyError:
    first, *others = dict.fromkeys(str(sink.topic) for sink in missing)
    also = f" (nor do {', '.join(map(repr, others))})" if others else ""
    return TopologyError(
        "missing-topic",
        f"output topic {first!r} does not exist{also}{nearest(first, existing)}",
        fix="create it before the application starts: penstock topics create"
        f" {' '.join((first, *others))}",
        at=missing[0].site,
    )


def _no_letters(topic: str, existing: Mapping[str, Topic]) -> ConfigError:
    return ConfigError(
        "missing-dead-letter-topic",
        f"the topic for dead letters, {topic!r}, does not exist{nearest(topic, existing)}",
        fix=f"create it before the application starts: penstock topics create {topic};"
        f" or change {DEAD_LETTER_TOPIC.name}",
    )
