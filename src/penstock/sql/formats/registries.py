"""Chooses the registry that settings ask for: one elsewhere, or a topic of the same cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.sql.formats.http_registry import HttpRegistry
from penstock.sql.formats.kafka_log import TOPIC, KafkaLog
from penstock.sql.formats.registry import LogRegistry, SchemaRegistry

URL = "ksql.schema.registry.url"
_PREFIX = "ksql.schema.registry."
# Java's clients are told where the login is; this one finds it by its name.
_ONLY_JAVA = ("basic.auth.credentials.source",)


def registry_for(
    settings: Mapping[str, Any], kafka: Mapping[str, Any], topic: str = TOPIC
) -> SchemaRegistry:
    """Gives the registry at ``ksql.schema.registry.url``, or one whose schemas are in a topic.

    Args:
        settings: of the engine; ``ksql.schema.registry.basic.auth.user.info`` and others with
            that prefix go to the client.
        kafka: librdkafka's settings of the cluster, for the case that no URL is set.
        topic: where the schemas are kept in that case.
    """
    url = settings.get(URL)
    if not url:
        return LogRegistry(KafkaLog(kafka, topic))
    others = {
        name.removeprefix(_PREFIX): value
        for name, value in settings.items()
        if name.startswith(_PREFIX) and name != URL
    }
    return HttpRegistry(str(url), {k: v for k, v in others.items() if k not in _ONLY_JAVA})
