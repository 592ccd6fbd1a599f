"""Settings whose names begin with ``ksql.``: what each means, and which have no effect.

Settings of Kafka Streams and of clients are in ``penstock.config`` and ``sql.setting_names``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: Kafka allows 249 characters, and names of internal topics add about 50 to an application id.
_LONGEST_ID = 190
_ILLEGAL = re.compile(r"[^A-Za-z0-9._-]")
SERVICE_ID = "ksql.service.id"
FINAL_IDLE = "ksql.emit.final.idle.ms"
DEFAULT_SERVICE = "default_"
HIDDEN_TOPICS = "ksql.hidden.topics"
READONLY_TOPICS = "ksql.readonly.topics"
#: ksqlDB's default of both lists: topics of Kafka, Connect, the schema registry and the like.
SYSTEM_TOPICS = (
    "_confluent.*,__confluent.*,_schemas,__consumer_offsets,__transaction_state,connect-configs,"
    "connect-offsets,connect-status,connect-statuses"
)


@dataclass(frozen=True, slots=True)
class KsqlSetting:
    """A setting that has an effect; ``default`` applies if the user does not set it."""

    name: str
    default: str
    doc: str
    is_number: bool = False


#: The settings that have an effect.
KSQL_SETTINGS: tuple[KsqlSetting, ...] = (
    KsqlSetting(SERVICE_ID, DEFAULT_SERVICE, "A part of every application id."),
    KsqlSetting(
        "ksql.schema.registry.url", "", "The schema registry; by default, schemas are in Kafka."
    ),
    KsqlSetting("ksql.connect.url", "", "Kafka Connect; by default, a worker is started."),
    KsqlSetting(
        "ksql.connect.worker.config", "", "A properties file for the worker that is started."
    ),
    KsqlSetting(
        "ksql.connect.plugin.path", "", "Folders with connectors; by default, the project's."
    ),
    KsqlSetting(
        "ksql.connect.request.timeout.ms", "30000", "How long to wait for an answer of Connect."
    ),
    KsqlSetting(
        "ksql.connect.basic.auth.user.info", "", "Login at Kafka Connect, as user:password."
    ),
    KsqlSetting(
        "ksql.connect.basic.auth.credentials.file", "", "A file with username and password."
    ),
    KsqlSetting("ksql.persistence.default.format.key", "KAFKA", "KEY_FORMAT if WITH has none."),
    KsqlSetting("ksql.persistence.default.format.value", "", "VALUE_FORMAT if WITH has none."),
    KsqlSetting(
        "ksql.persistence.wrap.single.values", "", "Whether a single value column has an envelope."
    ),
    KsqlSetting("ksql.output.topic.name.prefix", "", "Prefix of the topics of new queries."),
    KsqlSetting(
        "ksql.timestamp.throw.on.invalid", "false", "Whether a record without a time is an error."
    ),
    KsqlSetting(
        FINAL_IDLE,
        "",
        "EMIT FINAL: after so many milliseconds without a row, the wall clock closes windows.",
        is_number=True,
    ),
    KsqlSetting(
        "ksql.new.query.planner.enabled", "false", "SELECT decides the order of key columns."
    ),
    KsqlSetting(
        "ksql.functions.python.enabled", "false", "Whether CREATE FUNCTION may run Python code."
    ),
    KsqlSetting("ksql.functions.collect_list.limit", "1000", "Most elements of COLLECT_LIST."),
    KsqlSetting("ksql.functions.collect_set.limit", "1000", "Most elements of COLLECT_SET."),
    KsqlSetting(
        "ksql.logging.processing.topic.auto.create",
        "false",
        "Whether to create the processing log.",
    ),
    KsqlSetting(
        "ksql.logging.processing.topic.name",
        "",
        "Its topic; by default <service id>ksql_processing_log.",
    ),
    KsqlSetting("ksql.logging.processing.topic.partitions", "1", "Partitions of that topic."),
    KsqlSetting(
        "ksql.logging.processing.topic.replication.factor",
        "",
        "Its replicas; by default as the broker decides.",
    ),
    KsqlSetting(
        "ksql.logging.processing.stream.auto.create",
        "false",
        "Whether to create a stream over the log.",
    ),
    KsqlSetting(
        "ksql.logging.processing.stream.name", "KSQL_PROCESSING_LOG", "The name of that stream."
    ),
    KsqlSetting(
        "ksql.logging.processing.rows.include",
        "false",
        "Whether the log contains values of records.",
    ),
    KsqlSetting(
        "ksql.assert.topic.default.timeout.ms", "1000", "How long ASSERT TOPIC waits by default."
    ),
    KsqlSetting(
        "ksql.assert.schema.default.timeout.ms", "1000", "How long ASSERT SCHEMA waits by default."
    ),
    KsqlSetting(
        "ksql.query.retry.backoff.initial.ms", "15000", "Pause before a failed query starts again."
    ),
    KsqlSetting(
        "ksql.query.retry.backoff.max.ms", "900000", "Longest pause; it doubles with each failure."
    ),
    KsqlSetting(
        "ksql.query.error.max.queue.size", "10", "How many failures of a query a server keeps."
    ),
    KsqlSetting(
        "ksql.server.command.response.timeout.ms", "5000", "How long a request waits for commands."
    ),
    KsqlSetting("ksql.metastore.backup.location", "", "Folder for the copy of the command topic."),
    KsqlSetting("ksql.advertised.listener", "", "Address at which other servers reach a server."),
    KsqlSetting("ksql.extension.dir", "", "Folder with functions in Python for a server."),
    KsqlSetting("ksql.properties.overrides.denylist", "", "Settings that requests may not change."),
    KsqlSetting(HIDDEN_TOPICS, SYSTEM_TOPICS, "Patterns of topics that SHOW TOPICS leaves out."),
    KsqlSetting(READONLY_TOPICS, SYSTEM_TOPICS, "Patterns of topics that no statement may write."),
    KsqlSetting("ksql.max.push.queries", "100", "Most push queries that a server runs at a time."),
    KsqlSetting("ksql.pull.queries.enable", "true", "Whether a server answers pull queries."),
    KsqlSetting(
        "ksql.query.pull.table.scan.enabled",
        "true",
        "Whether a pull query may read all rows of a table.",
    ),
    KsqlSetting(
        "ksql.query.pull.range.scan.enabled",
        "true",
        "Whether a pull query may read a range of keys.",
    ),
    KsqlSetting(
        "ksql.query.pull.limit.clause.enabled", "true", "Whether a pull query may have a LIMIT."
    ),
    KsqlSetting(
        "ksql.query.pull.stream.enabled", "true", "Whether a pull query may read a stream."
    ),
    KsqlSetting(
        "ksql.query.pull.max.allowed.offset.lag",
        "9223372036854775807",
        "How many offsets the rows of a pull query may be behind.",
    ),
    KsqlSetting(
        "ksql.query.pull.consistency.token.enabled",
        "false",
        "Whether pull queries answer with a consistency token.",
    ),
    KsqlSetting(
        "ksql.query.pull.max.concurrent.requests",
        "2147483647",
        "Most pull queries at a time; more are refused.",
    ),
    KsqlSetting(
        "ksql.query.pull.max.qps", "2147483647", "Most pull queries in a second; more are refused."
    ),
    KsqlSetting(
        "ksql.query.push.v2.continuation.tokens.enabled",
        "false",
        "Whether push queries send continuation tokens.",
    ),
    KsqlSetting(
        "ksql.query.push.v2.max.catchup.consumers",
        "5",
        "Most push queries that read from before the end at a time.",
    ),
)

#: Settings that take a whole number of 1 or more.
NUMBERS = frozenset(setting.name for setting in KSQL_SETTINGS if setting.is_number)

#: Prefixes under which users may add names of their own, for instance settings of functions.
_FAMILIES = (
    "ksql.functions.",
    "ksql.schema.registry.",
    "ksql.connect.",
    "ksql.error.classifier.regex.",
    "ksql.logging.",
)
#: Settings of ksqlDB that have no effect here. They are accepted so that scripts of ksqlDB run.
_WITHOUT_EFFECT = frozenset({
    "ksql.access.validator.enable",
    "ksql.authorization.cache.expiry.time.secs", "ksql.authorization.cache.max.entries",
    "ksql.cast.strings.preserve.nulls", "ksql.create.or.replace.enabled",
    "ksql.fail.on.deserialization.error", "ksql.fail.on.production.error",
    "ksql.fetch.remote.hosts.max.timeout.seconds", "ksql.headers.columns.enabled",
    "ksql.heartbeat.enable", "ksql.insert.into.values.enabled",
    "ksql.internal.listener", "ksql.internal.topic.min.insync.replicas",
    "ksql.internal.topic.replicas", "ksql.json_sr.converter.deserializer.enabled",
    "ksql.lag.reporting.enable", "ksql.lambdas.enabled", "ksql.metrics.extension",
    "ksql.metrics.tags.custom", "ksql.multicol.key.format.enabled", "ksql.nested.error.set.null",
    "ksql.persistent.prefix", "ksql.queries.file", "ksql.query.cleanup.shutdown.timeout.ms",
    "ksql.query.persistent.active.limit", "ksql.query.persistent.max.bytes.buffering.total",
    "ksql.query.pull.enable.standby.reads", "ksql.query.pull.forwarding.timeout.ms",
    "ksql.query.pull.interpreter.enabled", "ksql.query.pull.max.hourly.bandwidth.megabytes",
    "ksql.query.pull.metrics.enabled", "ksql.query.pull.router.thread.pool.size",
    "ksql.query.pull.thread.pool.size",
    "ksql.query.push.v2.enabled", "ksql.query.push.v2.interpreter.enabled",
    "ksql.query.push.v2.latest.reset.age.ms",
    "ksql.query.push.v2.max.hourly.bandwidth.megabytes", "ksql.query.push.v2.metrics.enabled",
    "ksql.query.push.v2.new.latest.delay.ms", "ksql.query.push.v2.registry.installed",
    "ksql.query.status.running.threshold.seconds",
    "ksql.query.transient.max.bytes.buffering.total",
    "ksql.rowpartition.rowoffset.enabled", "ksql.runtime.feature.shared.enabled",
    "ksql.security.extension.class", "ksql.shared.runtime.enabled", "ksql.sink.partitions",
    "ksql.sink.replicas", "ksql.sink.window.change.log.additional.retention",
    "ksql.source.table.materialization.enabled", "ksql.suppress.buffer.size.bytes",
    "ksql.suppress.enabled", "ksql.transient.prefix",
    "ksql.transient.query.cleanup.service.enable", "ksql.udf.collect.metrics",
    "ksql.udf.enable.security.manager", "ksql.udfs.enabled", "ksql.variable.substitution.enable",
})  # fmt: skip
KSQL_NAMES = frozenset(setting.name for setting in KSQL_SETTINGS) | _WITHOUT_EFFECT

#: ksqlDB's settings of a query on a cluster where they differ from those of Kafka Streams.
QUERY_DEFAULTS: Mapping[str, str] = {
    "deserialization.exception.handler": "continue",
    "processing.guarantee": "exactly_once_v2",
}


def is_ksql_setting(name: str) -> bool:
    """Return whether ksqlDB or Penstock has a setting of this name."""
    return name in KSQL_NAMES or name.startswith(_FAMILIES)


def has_no_effect(name: str) -> bool:
    """Return whether a setting is accepted only so that scripts of ksqlDB run.

    That is one of ksqlDB without a meaning here, or one that this version does not know.
    """
    return name in _WITHOUT_EFFECT or is_unknown_ksql(name)


def is_unknown_ksql(name: str) -> bool:
    """Return whether a name looks like a setting of ksqlDB that is not known here."""
    is_streams = name.startswith("ksql.streams.")
    return name.startswith("ksql.") and not is_streams and not is_ksql_setting(name)


def application_id(settings: Mapping[str, str], query_id: str) -> str:
    """Return the application id of a query, which is the prefix of its internal topics.

    Kafka allows letters, digits, dots, dashes and underscores in names of topics, 249 in all. A SQL
    name in backticks may have other characters. Then they are replaced, and a digest is added.

    >>> application_id({}, "CSAS_BIG_1")
    '_confluent-ksql-default_query_CSAS_BIG_1'
    >>> application_id({}, "CSAS_große Käufe_1")
    '_confluent-ksql-default_query_CSAS_gro_e_K_ufe_1-9dd7ae5c'
    """
    found = f"_confluent-ksql-{settings.get(SERVICE_ID, DEFAULT_SERVICE)}query_{query_id}"
    if len(found) <= _LONGEST_ID and not _ILLEGAL.search(found):
        return found
    digest = hashlib.sha256(found.encode()).hexdigest()[:8]
    return f"{_ILLEGAL.sub('_', found)[:_LONGEST_ID]}-{digest}"
