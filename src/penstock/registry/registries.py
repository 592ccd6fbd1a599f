"""Chooses the registry that settings ask for: elsewhere, in the same cluster, or in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.kafka.java_settings import for_librdkafka
from penstock.registry.http_registry import HttpRegistry
from penstock.registry.kafka_log import TOPIC, KafkaLog
from penstock.registry.registry import LogRegistry, MemoryRegistry, SchemaRegistry

URL = "ksql.schema.registry.url"
_PREFIX = "ksql.schema.registry."
# Java's clients are told where the login is; this one finds it by its name.
_ONLY_JAVA = ("basic.auth.credentials.source",)
_CLUSTER = ("bootstrap.servers", "security.protocol", "ssl.", "sasl.")


def registry_for(settings: Mapping[str, Any], topic: str = TOPIC) -> SchemaRegistry:
    """Gives the registry of an engine.

    That is the one at ``ksql.schema.registry.url``, whose client gets all other settings with
    that prefix; without a URL one whose schemas are in a topic of the cluster at
    ``bootstrap.servers``; and without a cluster one in memory.
    """
    if settings.get(URL):
        return HttpRegistry(str(settings[URL]), _client_settings(settings))
    if not settings.get("bootstrap.servers"):
        return MemoryRegistry()
    cluster = {name: value for name, value in settings.items() if name.startswith(_CLUSTER)}
    return LogRegistry(KafkaLog(for_librdkafka(cluster, "admin"), topic))


def _client_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    named = {
        name.removeprefix(_PREFIX): value
        for name, value in settings.items()
        if name.startswith(_PREFIX) and name != URL
    }
    return {name: value for name, value in named.items() if name not in _ONLY_JAVA}
