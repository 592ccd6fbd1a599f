"""Settings whose names begin with ``ksql.``: what each means here, and which are only known.

Settings of Kafka Streams and of clients are in ``penstock.config`` and ``sql.setting_names``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SERVICE_ID = "ksql.service.id"


@dataclass(frozen=True, slots=True)
class KsqlSetting:
    """A setting that changes something here; ``default`` is in force unless it is given."""

    name: str
    default: str
    doc: str


#: What has an effect.
KSQL_SETTINGS: tuple[KsqlSetting, ...] = (
    KsqlSetting(SERVICE_ID, "default_", "Part of every application id: _confluent-ksql-<id>query_"),
    KsqlSetting("ksql.schema.registry.url", "", "The schema registry; without it one in Kafka."),
    KsqlSetting("ksql.persistence.default.format.key", "KAFKA", "KEY_FORMAT where none is given."),
    KsqlSetting("ksql.persistence.default.format.value", "", "VALUE_FORMAT where none is given."),
    KsqlSetting(
        "ksql.persistence.wrap.single.values", "", "Whether a single value column has an envelope."
    ),
    KsqlSetting("ksql.output.topic.name.prefix", "", "Begins the names of topics of new queries."),
    KsqlSetting(
        "ksql.timestamp.throw.on.invalid", "false", "Whether a record without a time is an error."
    ),
    KsqlSetting("ksql.new.query.planner.enabled", "false", "Keeps the order of columns in keys."),
    KsqlSetting("ksql.functions.collect_list.limit", "1000", "Most elements of COLLECT_LIST."),
    KsqlSetting("ksql.functions.collect_set.limit", "1000", "Most elements of COLLECT_SET."),
    KsqlSetting(
        "ksql.assert.topic.default.timeout.ms", "1000", "How long ASSERT TOPIC waits by default."
    ),
    KsqlSetting(
        "ksql.assert.schema.default.timeout.ms", "1000", "How long ASSERT SCHEMA waits by default."
    ),
)

#: Families of names of which anybody may add to: functions, and the clients of registries.
_FAMILIES = (
    "ksql.functions.",
    "ksql.schema.registry.",
    "ksql.connect.",
    "ksql.error.classifier.regex.",
    "ksql.logging.",
)
#: What ksqlDB has and what changes nothing here: scripts that set it run all the same.
_WITHOUT_EFFECT = frozenset(
    f"ksql.{name}"
    for name in """
    access.validator.enable advertised.listener authorization.cache.expiry.time.secs
    authorization.cache.max.entries cast.strings.preserve.nulls create.or.replace.enabled
    extension.dir fail.on.deserialization.error fail.on.production.error
    fetch.remote.hosts.max.timeout.seconds headers.columns.enabled heartbeat.enable hidden.topics
    insert.into.values.enabled internal.listener internal.topic.min.insync.replicas
    internal.topic.replicas json_sr.converter.deserializer.enabled lag.reporting.enable
    lambdas.enabled max.push.queries metastore.backup.location metrics.extension
    metrics.tags.custom multicol.key.format.enabled nested.error.set.null persistent.prefix
    properties.overrides.denylist pull.queries.enable queries.file
    query.cleanup.shutdown.timeout.ms query.error.max.queue.size query.persistent.active.limit
    query.persistent.max.bytes.buffering.total query.pull.consistency.token.enabled
    query.pull.enable.standby.reads query.pull.forwarding.timeout.ms
    query.pull.interpreter.enabled query.pull.limit.clause.enabled
    query.pull.max.allowed.offset.lag query.pull.max.concurrent.requests
    query.pull.max.hourly.bandwidth.megabytes query.pull.max.qps query.pull.metrics.enabled
    query.pull.range.scan.enabled query.pull.router.thread.pool.size query.pull.stream.enabled
    query.pull.table.scan.enabled query.pull.thread.pool.size
    query.push.v2.continuation.tokens.enabled query.push.v2.enabled
    query.push.v2.interpreter.enabled query.push.v2.latest.reset.age.ms
    query.push.v2.max.catchup.consumers query.push.v2.max.hourly.bandwidth.megabytes
    query.push.v2.metrics.enabled query.push.v2.new.latest.delay.ms
    query.push.v2.registry.installed query.retry.backoff.initial.ms query.retry.backoff.max.ms
    query.status.running.threshold.seconds query.transient.max.bytes.buffering.total
    readonly.topics rowpartition.rowoffset.enabled runtime.feature.shared.enabled
    security.extension.class shared.runtime.enabled sink.partitions sink.replicas
    sink.window.change.log.additional.retention source.table.materialization.enabled
    suppress.buffer.size.bytes suppress.enabled transient.prefix
    transient.query.cleanup.service.enable udf.collect.metrics udf.enable.security.manager
    udfs.enabled variable.substitution.enable
    """.split()
)
KSQL_NAMES = frozenset(setting.name for setting in KSQL_SETTINGS) | _WITHOUT_EFFECT

#: ksqlDB's settings of a query on a cluster where they differ from those of Kafka Streams.
QUERY_DEFAULTS: Mapping[str, str] = {
    "deserialization.exception.handler": "continue",
    "processing.guarantee": "exactly_once_v2",
}


def is_ksql_setting(name: str) -> bool:
    """Tell whether ksqlDB or Penstock has a setting of this name."""
    return name in KSQL_NAMES or name.startswith(_FAMILIES)


def has_no_effect(name: str) -> bool:
    """Tell whether a setting is taken only so that scripts of ksqlDB run."""
    return name in _WITHOUT_EFFECT


def application_id(settings: Mapping[str, str], query_id: str) -> str:
    """Return the application id that a query runs under, which its topics begin with."""
    return f"_confluent-ksql-{settings.get(SERVICE_ID, 'default_')}query_{query_id}"
