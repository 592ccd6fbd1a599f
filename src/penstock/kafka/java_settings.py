"""Translates Java's client settings to librdkafka's, so that one configuration fits both."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from penstock.errors import ConfigError

#: The kind of a client. Some settings are only for one kind.
Kind = Literal["consumer", "producer", "admin"]

_log = logging.getLogger(__name__)

_RENAMED = {
    "request.timeout.ms": "socket.timeout.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}

#: Settings of Java without a counterpart: internals or classes of Java.
_DROPPED = frozenset({
    "max.poll.records", "default.api.timeout.ms", "exclude.internal.topics", "max.block.ms",
    "key.deserializer", "value.deserializer", "key.serializer", "value.serializer",
    "interceptor.classes", "metric.reporters", "metrics.sample.window.ms", "metrics.num.samples",
    "metrics.recording.level", "auto.include.jmx.reporter", "partitioner.class",
    "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
    "partitioner.ignore.keys", "metadata.max.idle.ms", "throw.on.fetch.stable.offset.unsupported",
    "security.providers", "config.providers", "compression.gzip.level", "compression.lz4.level",
    "compression.zstd.level", "group.remote.assignor", "transaction.two.phase.commit.enable",
    "socket.connection.setup.timeout.max.ms",
    "ssl.protocol", "ssl.enabled.protocols", "ssl.provider", "ssl.keystore.type",
    "ssl.truststore.type", "ssl.truststore.password", "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm", "ssl.secure.random.implementation", "ssl.engine.factory.class",
    "sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
    "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms",
    "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor",
})  # fmt: skip

#: Settings of only one kind of client. A configuration for all clients may contain them.
_ONLY: dict[str, Kind] = {
    "group.instance.id": "consumer",
    "group.protocol": "consumer",
    "session.timeout.ms": "consumer",
    "heartbeat.interval.ms": "consumer",
    "max.poll.interval.ms": "consumer",
    "fetch.max.bytes": "consumer",
    "auto.offset.reset": "consumer",
    "transaction.timeout.ms": "producer",
}

_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def for_librdkafka(settings: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Translate client settings; names of librdkafka and unknown names stay as they are.

    >>> for_librdkafka({"fetch.max.wait.ms": 50, "max.poll.records": 10}, "consumer")
    {'fetch.wait.max.ms': 50}

    Raises:
        ConfigError: a Java-only way to give a secret, with the way that works here.
    """
    translated: dict[str, Any] = {}
    for name, value in settings.items():
        if _ONLY.get(name, kind) != kind:
            continue
        if name in _DROPPED:
            _log.debug("setting %s has no meaning for librdkafka and is left out", name)
            continue
        translated.update(_translate(name, value, settings))
    return translated


def _translate(name: str, value: Any, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    match name:
        case "bootstrap.servers" if not isinstance(value, str):
            yield name, ",".join(value)
        case "auto.offset.reset" if value == "none":
            yield name, "error"
        case "group.protocol" if value == "streams":
            # Only Java has the streams protocol. The driver's group uses the classic one.
            yield name, "classic"
        case "partition.assignment.strategy":
            yield name, ",".join(_assignors(value))
        case "buffer.memory":
            yield "queue.buffering.max.kbytes", max(1, int(value) // 1024)
        case "receive.buffer.bytes" | "send.buffer.bytes":
            # Both mean: the default of the operating system.
            yield _RENAMED[name], max(0, int(value))
        case "retry.backoff.ms" | "retry.backoff.max.ms":
            # Java allows a pause of 0; librdkafka's shortest is a millisecond.
            yield name, max(1, int(value))
        case "ssl.endpoint.identification.algorithm":
            yield name, value or "none"
        case "ssl.truststore.location":
            yield "ssl.ca.location", _pem(name, value, settings.get("ssl.truststore.type"))
        case "ssl.keystore.location":
            yield from _key_store(name, value, settings.get("ssl.keystore.type"))
        case "sasl.jaas.config":
            yield from _login(value)
        case _:
            yield _RENAMED.get(name, name), _plain(value)


def _assignors(value: Any) -> Iterator[str]:
    names = value.split(",") if isinstance(value, str) else list(value)
    for name in names:
        short = str(name).strip().rpartition(".")[2]
        yield _ASSIGNORS.get(short, short)


def _store_type(file: str, given: Any) -> str:
    """Return PEM, JKS or PKCS12: from the setting, or else from the file's name."""
    if given:
        return str(given).upper()
    suffix = str(file).lower().rpartition(".")[2]
    return {"jks": "JKS", "p12": "PKCS12", "pfx": "PKCS12"}.get(suffix, "PEM")


def _pem(name: str, file: str, store_type: Any) -> str:
    if _store_type(file, store_type) != "PEM":
        raise ConfigError(
            "java-trust-store",
            f"setting {name!r} names {file!r}, which only Java can read",
            fix="export the certificates as PEM (keytool -exportcert -rfc) and give that file"
            " with ssl.truststore.type=PEM, or its text as ssl.truststore.certificates",
        )
    return file


def _key_store(name: str, file: str, store_type: Any) -> Iterator[tuple[str, Any]]:
    match _store_type(file, store_type):
        case "PEM":
            yield "ssl.certificate.location", file
            yield "ssl.key.location", file
        case "JKS":
            raise ConfigError(
                "java-key-store",
                f"setting {name!r} names {file!r}, which only Java can read",
                fix="convert it to PKCS12 (keytool -importkeystore -deststoretype PKCS12) or PEM",
            )
        case _:
            yield name, file


#: One option of Java's login text: name=value, with or without quotes.
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


def _login(jaas: str) -> Iterator[tuple[str, Any]]:
    """Return user name and password from Java's login text."""
    options = {
        name: re.sub(r"\\(.)", r"\1", double or single) or bare
        for name, double, single, bare in _OPTION.findall(jaas)
    }
    if "username" not in options or "password" not in options:
        raise ConfigError(
            "bad-login",
            'setting \'sasl.jaas.config\' has no username="..." and password="..."',
            fix="give sasl.username and sasl.password instead, or librdkafka's settings for"
            " Kerberos and OAuth",
        )
    yield "sasl.username", options["username"]
    yield "sasl.password", options["password"]


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return value
