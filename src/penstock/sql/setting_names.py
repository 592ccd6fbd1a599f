"""The names that SET accepts: those of ksqlDB, Kafka Streams and Kafka's clients, as in ksqlDB."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping

from penstock.config import (
    APPLICATION_ID,
    BOOTSTRAP_SERVERS,
    PREFIXES,
    SETTINGS,
    StreamsConfig,
)
from penstock.errors import ConfigError
from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.span import Span
from penstock.sql.ksql_settings import (
    KSQL_NAMES,
    NUMBERS,
    SERVICE_ID,
    is_ksql_setting,
    is_unknown_ksql,
)

_log = logging.getLogger(__name__)
STREAMS_PREFIX = "ksql.streams."
KSQL_PREFIX = "ksql."
#: The prefix of the settings that Kafka Streams has for its own tests.
_INTERNAL = "__"
#: Whether CREATE FUNCTION may run Python. A statement cannot change it.
PYTHON_FUNCTIONS = "ksql.functions.python.enabled"
#: Settings that only the program that starts the engine can set: whether scripts may run code, the
#: address and login of Kafka Connect, and the topic of the processing log.
_FIXED = (PYTHON_FUNCTIONS, "ksql.connect.", "ksql.logging.processing.")
#: Settings that are the same for all queries of an engine.
_IDENTITY = (APPLICATION_ID.name, BOOTSTRAP_SERVERS.name)
#: Settings that must be whole numbers; some of them may be negative.
_INTEGERS = frozenset({
    "ksql.assert.topic.default.timeout.ms", "ksql.assert.schema.default.timeout.ms",
    "ksql.query.pull.max.allowed.offset.lag",
})  # fmt: skip
_LIMIT = re.compile(r"ksql\.functions\.\w+\.limit")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
#: Java's settings of consumers and producers that may be given without a prefix.
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


def alias_of(name: str) -> str:
    """Return the other name of a setting of Kafka Streams: with ksqlDB's prefix, or without.

    >>> alias_of("num.stream.threads"), alias_of("ksql.streams.num.stream.threads")
    ('ksql.streams.num.stream.threads', 'num.stream.threads')
    """
    if name.startswith(STREAMS_PREFIX):
        return name.removeprefix(STREAMS_PREFIX)
    return STREAMS_PREFIX + name


def layered(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge layers of settings: a later layer wins, with or without ksqlDB's prefix.

    >>> layered({"ksql.streams.acks": "all", "linger.ms": "5"}, {"acks": "1"})
    {'linger.ms': '5', 'acks': '1'}
    """
    found: dict[str, str] = {}
    for layer in layers:
        for name in layer:
            found.pop(alias_of(name), None)
        found.update(layer)
    return found


def check_system(name: str, span: Span | None) -> None:
    """Refuse ALTER SYSTEM for settings that identify a service and its cluster.

    Raises:
        AnalysisError: ``fixed-setting``.
    """
    if name.removeprefix(STREAMS_PREFIX) in (*_IDENTITY, SERVICE_ID):
        raise AnalysisError(
            "fixed-setting",
            f"{name} cannot change while a server runs",
            fix="start the server with another value",
            span=span,
        )


def reaches_running_queries(name: str) -> bool:
    """Return whether a setting changes how a query runs, and not what it computes.

    Only such a setting can change for a running query. The default format, for example, is chosen
    when the query is created.
    """
    streams_name = name.removeprefix(STREAMS_PREFIX)
    if streams_name in _IDENTITY:
        return False
    return streams_name in SETTINGS or streams_name.startswith(PREFIXES)


def check_setting(name: str, value: str | None, span: Span | None) -> None:
    """Refuse an unknown name, and a value that its setting cannot have.

    Raises:
        AnalysisError: with the place of the statement.
    """
    streams_name = name.removeprefix(STREAMS_PREFIX)
    if streams_name in SETTINGS:
        if value is not None:
            _check_value(streams_name, value, span)
        return
    if streams_name in CLIENT_SETTINGS or streams_name.startswith((*PREFIXES, _INTERNAL)):
        return
    if is_ksql_setting(name):
        if name in NUMBERS and value:
            _check_number(name, value, span)
        elif value and (name in _INTEGERS or _LIMIT.fullmatch(name)):
            _check_integer(name, value, span)
        return
    close = _close(name, KSQL_NAMES, 0.8) or _close(
        streams_name, {*SETTINGS, *CLIENT_SETTINGS}, 0.6
    )
    raise AnalysisError(
        "unknown-setting",
        f"{name!r} is not a setting of ksqlDB, Kafka Streams, consumers or producers",
        fix=f"did you mean {close!r}?"
        if close
        else "use Kafka's name, or one that SHOW PROPERTIES lists; a topic's settings begin with"
        " topic.",
        span=span,
    )


def check_written(name: str, value: str | None, span: Span | None) -> None:
    """Check a setting of a script or a file, which may be written for another version of ksqlDB.

    An unknown name that begins with ``ksql.`` is refused only if it is nearly that of a setting.

    Raises:
        AnalysisError: with the place of the statement.
    """
    if is_unknown_ksql(name) and _close(name, KSQL_NAMES, 0.8) is None:
        _log.warning("%s is not a setting that is known here: it changes nothing", name)
        return
    check_setting(name, value, span)


def _close(name: str, known: Iterable[str], likeness: float) -> str | None:
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=likeness)), None)


def _check_number(name: str, value: str, span: Span | None) -> None:
    if not (value.isdecimal() and int(value) > 0):
        raise AnalysisError(
            "bad-setting",
            f"{name} is {value!r}, which is not a whole number of 1 or more",
            fix=f"SET '{name}'='30000'; UNSET restores the default",
            span=span,
        )


def _check_integer(name: str, value: str, span: Span | None) -> None:
    if not _INTEGER.fullmatch(value):
        raise AnalysisError(
            "bad-setting", f"{name} is {value!r}, which is not a whole number", span=span
        )


def _check_value(name: str, value: str, span: Span | None) -> None:
    try:
        StreamsConfig({APPLICATION_ID.name: "checked", name: value})
    except ConfigError as error:
        raise AnalysisError(error.code, error.message, error.fix, span=span) from None


def check_given(settings: Mapping[str, str]) -> None:
    """Refuse misspelt ``ksql.`` settings of an engine. Other names are for Kafka and Spark.

    Raises:
        AnalysisError: ``unknown-setting`` or ``bad-setting``.
    """
    for name, value in settings.items():
        if name.startswith(KSQL_PREFIX):
            check_written(name, value, None)


def is_changeable(name: str) -> bool:
    """Return whether a statement may change a setting. Others are fixed when the engine starts."""
    return not name.startswith(_FIXED)


def check_changeable(name: str, span: Span | None) -> None:
    """Refuse a statement that changes a setting which is fixed when the engine starts."""
    if not is_changeable(name):
        raise AnalysisError(
            "fixed-setting",
            f"{name} cannot be changed by a statement",
            fix="give it to the engine, or to penstock sql run with --config",
            span=span,
        )
