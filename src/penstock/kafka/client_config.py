"""The settings of each Kafka client of an application, taken from one ``StreamsConfig``.

Precedence is as in Kafka Streams: names without a prefix, then ``consumer.``, then
``main.consumer.`` and so on. Settings that the processing guarantee needs cannot be changed.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

from penstock.config import (
    APPLICATION_ID,
    AUTO_OFFSET_RESET,
    BOOTSTRAP_SERVERS,
    CLIENT_ID,
    CONNECTIONS_MAX_IDLE_MS,
    ENABLE_METRICS_PUSH,
    FETCH_MAX_BYTES,
    GROUP_INSTANCE_ID,
    GROUP_PROTOCOL,
    HEARTBEAT_INTERVAL_MS,
    MAX_POLL_INTERVAL_MS,
    METADATA_MAX_AGE_MS,
    METADATA_RECOVERY_STRATEGY,
    METADATA_RECOVERY_TRIGGER_MS,
    PROCESSING_GUARANTEE,
    RECEIVE_BUFFER_BYTES,
    RECONNECT_BACKOFF_MAX_MS,
    RECONNECT_BACKOFF_MS,
    REQUEST_TIMEOUT_MS,
    RETRY_BACKOFF_MAX_MS,
    RETRY_BACKOFF_MS,
    SECURITY_PROTOCOL,
    SEND_BUFFER_BYTES,
    SESSION_TIMEOUT_MS,
    TRANSACTION_TIMEOUT_MS,
    StreamsConfig,
)
from penstock.kafka.java_settings import Kind, for_librdkafka
from penstock.setting import Setting

#: The purpose of a consumer: input of the group, restoring stores, or global tables.
Role = Literal["main", "restore", "global"]

_log = logging.getLogger(__name__)

_FOR_CLIENTS: tuple[Setting[Any], ...] = (
    BOOTSTRAP_SERVERS, CONNECTIONS_MAX_IDLE_MS, ENABLE_METRICS_PUSH, FETCH_MAX_BYTES,
    GROUP_INSTANCE_ID, GROUP_PROTOCOL, HEARTBEAT_INTERVAL_MS, MAX_POLL_INTERVAL_MS,
    METADATA_MAX_AGE_MS, METADATA_RECOVERY_STRATEGY, METADATA_RECOVERY_TRIGGER_MS,
    RECEIVE_BUFFER_BYTES, RECONNECT_BACKOFF_MAX_MS, RECONNECT_BACKOFF_MS, REQUEST_TIMEOUT_MS,
    RETRY_BACKOFF_MAX_MS, RETRY_BACKOFF_MS, SECURITY_PROTOCOL, SEND_BUFFER_BYTES,
    SESSION_TIMEOUT_MS,
)  # fmt: skip

#: Set unless the user sets it: with librdkafka's default, an application would wait up to ten
#: seconds after its broker is back.
_KAFKAS_DEFAULT = (RECONNECT_BACKOFF_MAX_MS, RECONNECT_BACKOFF_MS)


def consumer_settings(
    config: StreamsConfig, role: Role = "main", client_id: str | None = None
) -> dict[str, Any]:
    """Return the settings of a consumer for confluent-kafka.

    A main consumer is a member of the group ``application.id``. The others read partitions that
    are assigned to them. They never join a group, but librdkafka needs a group id for them, too.
    """
    own = config.with_prefix("consumer.") | config.with_prefix(f"{role}.consumer.")
    application = config[APPLICATION_ID]
    fixed: dict[str, Any] = {
        "enable.auto.commit": False, "isolation.level": isolation_level(config),
    }  # fmt: skip
    if role == "main":
        given = {"auto.offset.reset": config[AUTO_OFFSET_RESET]}
        fixed["group.id"] = application
    else:
        given = {}
        fixed |= {"group.id": f"{application}-{role}", "auto.offset.reset": "none"}
        own.pop("group.instance.id", None)
    settings = _client(config, "consumer", given, own, fixed, client_id)
    if role != "main":
        settings.pop("group.instance.id", None)
    return settings


def isolation_level(config: StreamsConfig) -> str:
    """Return the isolation level of all consumers of an application.

    There is one for all: a table that is restored from its source topic must see the records that
    its task has processed, and a batch must not be planned further than its reader can see. With
    ``at_least_once`` the default is Java's, ``read_uncommitted``; librdkafka's is the other one.
    """
    if config[PROCESSING_GUARANTEE] == "exactly_once_v2":
        return "read_committed"
    own = config.with_prefix("consumer.") | config.with_prefix("main.consumer.")
    return str(own.get("isolation.level", "read_uncommitted"))


def restore_consumer_settings(
    config: StreamsConfig, client_id: str | None = None
) -> dict[str, Any]:
    """Return the settings of a consumer of changelogs: ``restore.consumer.`` over ``consumer.``."""
    return consumer_settings(config, "restore", client_id)


def global_consumer_settings(config: StreamsConfig, client_id: str | None = None) -> dict[str, Any]:
    """Return the settings of a global table's consumer: ``global.consumer.`` over ``consumer.``."""
    return consumer_settings(config, "global", client_id)


def producer_settings(config: StreamsConfig, client_id: str | None = None) -> dict[str, Any]:
    """Return the settings of a producer for confluent-kafka, without a transactional id.

    Keys go to the partitions that Java's clients choose, which is not librdkafka's default.
    """
    given: dict[str, Any] = {"linger.ms": 100, "partitioner": "murmur2_random", "acks": "all"}
    fixed: dict[str, Any] = {}
    if config[PROCESSING_GUARANTEE] == "exactly_once_v2":
        given["transaction.timeout.ms"] = config[TRANSACTION_TIMEOUT_MS]
        fixed["enable.idempotence"] = True
    own = config.with_prefix("producer.")
    settings = _client(config, "producer", given, own, fixed, client_id)
    return _within_transaction(settings)


def admin_settings(config: StreamsConfig, client_id: str | None = None) -> dict[str, Any]:
    """Return the settings of an admin client for confluent-kafka."""
    return _client(config, "admin", {}, config.with_prefix("admin."), {}, client_id)


def _client(
    config: StreamsConfig,
    kind: Kind,
    given: dict[str, Any],
    own: dict[str, Any],
    fixed: dict[str, Any],
    client_id: str | None,
) -> dict[str, Any]:
    for name in own.keys() & fixed.keys():
        if own[name] != fixed[name]:
            _log.warning("%s.%s is always %s here", kind, name, fixed[name])
    named = client_id or config[CLIENT_ID]
    merged = (
        {setting.name: config[setting] for setting in _KAFKAS_DEFAULT}
        | {setting.name: config[setting] for setting in _FOR_CLIENTS if config.has(setting)}
        | {name: config[name] for name in config if name.startswith(("ssl.", "sasl."))}
        | given
        | ({"client.id": named} if named else {})
        | own
        | fixed
    )
    present = {name: value for name, value in merged.items() if value is not None}
    return _growing_pauses(for_librdkafka(present, kind))


def _growing_pauses(settings: dict[str, Any]) -> dict[str, Any]:
    """Make the longest pause at least as long as the first, as librdkafka demands."""
    first, longest = RECONNECT_BACKOFF_MS.name, RECONNECT_BACKOFF_MAX_MS.name
    return settings | {longest: max(int(settings[first]), int(settings[longest]))}


def _within_transaction(settings: dict[str, Any]) -> dict[str, Any]:
    """Shorten timeouts that are longer than a transaction, which librdkafka does not allow."""
    limit = settings.get("transaction.timeout.ms")
    if limit is not None:
        for name in ("socket.timeout.ms", "delivery.timeout.ms", "message.timeout.ms"):
            if name in settings:
                settings[name] = min(int(settings[name]), int(limit))
    return settings
