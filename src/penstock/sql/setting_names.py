"""Which names SET takes: those of ksqlDB, Kafka Streams and Kafka's clients, as in ksqlDB."""

from __future__ import annotations

import difflib

from penstock.config import APPLICATION_ID, PREFIXES, SETTINGS, StreamsConfig
from penstock.errors import ConfigError
from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.span import Span

STREAMS_PREFIX = "ksql.streams."
_KSQL_PREFIX = "ksql."
#: Java's settings of consumers and producers that may stand without ``consumer.`` or ``producer.``.
CLIENT_SETTINGS = frozenset({
    "acks", "allow.auto.create.topics", "auto.commit.interval.ms", "auto.include.jmx.reporter",
    "auto.offset.reset", "batch.size", "buffer.memory", "check.crcs", "client.dns.lookup",
    "client.id", "client.rack", "compression.gzip.level", "compression.lz4.level",
    "compression.type", "compression.zstd.level", "connections.max.idle.ms",
    "default.api.timeout.ms", "delivery.timeout.ms", "enable.auto.commit", "enable.idempotence",
    "enable.metrics.push", "exclude.internal.topics", "fetch.max.bytes", "fetch.max.wait.ms",
    "fetch.min.bytes", "group.id", "group.instance.id", "group.protocol", "group.remote.assignor",
    "heartbeat.interval.ms", "interceptor.classes", "isolation.level", "key.deserializer",
    "key.serializer", "linger.ms", "max.block.ms", "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "max.request.size",
    "metadata.max.age.ms", "metadata.max.idle.ms", "metadata.recovery.strategy",
    "metric.reporters", "metrics.num.samples", "metrics.recording.level",
    "metrics.sample.window.ms", "partition.assignment.strategy",
    "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
    "partitioner.class", "partitioner.ignore.keys", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries",
    "retry.backoff.max.ms", "retry.backoff.ms", "security.protocol", "security.providers",
    "send.buffer.bytes", "session.timeout.ms", "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms", "transaction.timeout.ms", "transactional.id",
    "value.deserializer", "value.serializer",
})  # fmt: skip


def check_setting(name: str, value: str | None, span: Span | None) -> None:
    """Refuses a name that nobody knows, and a value that its setting cannot have.

    Raises:
        AnalysisError: with the place of the statement.
    """
    streams_name = name.removeprefix(STREAMS_PREFIX)
    if streams_name in SETTINGS:
        if value is not None:
            _check_value(streams_name, value, span)
        return
    # Which of ksqlDB's own settings there are depends on its version.
    is_ksql = name.startswith(_KSQL_PREFIX) and streams_name == name
    if is_ksql or streams_name in CLIENT_SETTINGS or streams_name.startswith(PREFIXES):
        return
    close = difflib.get_close_matches(streams_name, [*SETTINGS, *CLIENT_SETTINGS], n=1)
    raise AnalysisError(
        "unknown-setting",
        f"{name!r} is no setting of ksqlDB, Kafka Streams, consumers or producers",
        fix=f"did you mean {close[0]!r}?"
        if close
        else "use Kafka's name; a topic's settings begin with topic., those of ksqlDB with ksql.",
        span=span,
    )


def _check_value(name: str, value: str, span: Span | None) -> None:
    try:
        StreamsConfig({APPLICATION_ID.name: "checked", name: value})
    except ConfigError as error:
        raise AnalysisError(error.code, error.message, error.fix, span=span) from None
