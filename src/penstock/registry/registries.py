"""Chooses the registry by the settings: over HTTP, in a Kafka topic, or in memory."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from penstock.errors import ConfigError
from penstock.kafka.java_settings import for_librdkafka
from penstock.registry.http_registry import HttpRegistry
from penstock.registry.registry import LogRegistry, MemoryRegistry, SchemaRegistry
from penstock.settings.schema_registry import LOGIN, REGISTRY_PREFIX, REGISTRY_URL

URL = "ksql.schema.registry.url"
_PREFIX = "ksql.schema.registry."
# Java's clients need it. This client looks for the login by its name.
_ONLY_JAVA = ("basic.auth.credentials.source",)
_MOCK = "mock://"
_CLUSTER = ("bootstrap.servers", "security.protocol", "ssl.", "sasl.")


def registry_for(settings: Mapping[str, Any], topic: str | None = None) -> SchemaRegistry:
    """Return the registry of an engine; ``topic`` is where a cluster has its schemas.

    It is the one at ``ksql.schema.registry.url``, whose client gets all other settings with that
    prefix. Without a URL, the schemas are in a topic of the cluster at ``bootstrap.servers``.
    Without a cluster, they are in memory.
    """
    if settings.get(URL):
        return HttpRegistry(str(settings[URL]), _client_settings(settings))
    if not settings.get("bootstrap.servers"):
        return MemoryRegistry()
    cluster = {name: value for name, value in settings.items() if name.startswith(_CLUSTER)}
    # Kafka's clients take a tenth of the time that the engine takes to load.
    module: Any = importlib.import_module("penstock.registry.kafka_log")
    return LogRegistry(module.KafkaLog(for_librdkafka(cluster, "admin"), topic or module.TOPIC))


def _client_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    named = {
        name.removeprefix(_PREFIX): value
        for name, value in settings.items()
        if name.startswith(_PREFIX) and name != URL
    }
    return {name: value for name, value in named.items() if name not in _ONLY_JAVA}


def registry_of(settings: Mapping[str, Any]) -> SchemaRegistry:
    """Return the registry at ``schema.registry.url``, one for all serdes of this process.

    ``mock://name`` is a registry in the memory of this process, the same for the same name.

    Raises:
        ConfigError: ``no-schema-registry`` when the setting is missing.
    """
    url = REGISTRY_URL.value_in(settings)
    if not url:
        raise ConfigError(
            "no-schema-registry",
            f"{REGISTRY_URL.name} is not set",
            fix="set it to the address of the schema registry, or to mock://test in a test",
        )
    if url.startswith(_MOCK):
        return _in_memory(url)
    client = {
        name.removeprefix(REGISTRY_PREFIX): value
        for name, value in settings.items()
        if name.startswith((REGISTRY_PREFIX, LOGIN.name)) and name != REGISTRY_URL.name
    }
    named = {name: value for name, value in client.items() if name not in _ONLY_JAVA}
    return _over_http(url, tuple(sorted(named.items())))


@cache
def _in_memory(url: str) -> SchemaRegistry:
    return MemoryRegistry()


@cache
def _over_http(url: str, client_settings: tuple[tuple[str, Any], ...]) -> SchemaRegistry:
    return HttpRegistry(url, dict(client_settings))
