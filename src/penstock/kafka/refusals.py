"""Errors for refused logins, TLS connections and rights, which name the user.

With a wrong password, a call of librdkafka does not fail but times out. The reason is reported
separately, and ``penstock.kafka.clients`` collects these reports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.error_table import reason
from penstock.kafka.errors import KafkaRequestError

#: Kinds of resources, as ``kafka-acls`` names them.
Resource = Literal["topic", "group", "transactional-id", "cluster"]

_LOGIN = frozenset({
    KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM, KafkaError.ILLEGAL_SASL_STATE,
})  # fmt: skip

_RESOURCES: dict[int, Resource] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional-id",
}

#: Start and end of librdkafka's reports: the broker's address, and the time it took.
_REPORT = re.compile(
    r"(?:\w+://)?(?P<broker>[^/\s]+)/\S+: (?P<text>.*?)(?: \(after \d+ms in state \w+.*\))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Right:
    """A right as ``kafka-acls`` names it, such as Describe on a topic."""

    operation: str
    resource: Resource
    name: str = ""

    @property
    def option(self) -> str:
        """Return the options of ``kafka-acls`` for this right."""
        return f"--operation {self.operation} --{self.resource} {self.name}".rstrip()

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"{self.operation} on {self.resource}{name}"


def user_of(settings: Mapping[str, Any]) -> str | None:
    """Return the user that a client with these settings logs in as; None if only the broker knows.

    >>> user_of({"security.protocol": "SASL_SSL", "sasl.username": "ann"})
    'ann'
    >>> user_of({})
    'ANONYMOUS'
    """
    protocol = str(settings.get("security.protocol", "PLAINTEXT")).upper()
    if not protocol.startswith("SASL_"):
        # The user of a TLS connection is the subject of the client's certificate, if there is one.
        has_own = any(name.startswith(("ssl.certificate", "ssl.keystore")) for name in settings)
        return None if has_own else "ANONYMOUS"
    name = settings.get("sasl.username")
    return None if name is None else str(name)


def refused(
    error: KafkaError, what: str, *, user: str | None = None, needs: Right | None = None
) -> KafkaRequestError:
    """Return the error for a refused login, TLS connection or request.

    Args:
        what: what was tried, such as ``create topic 'orders'``.
        user: who tried it, see ``user_of``.
        needs: the right that was missing, if the caller knows it.
    """
    if error.code() == KafkaError._SSL:
        return _no_tls(error, what)
    if error.code() in _LOGIN:
        return _no_login(error, what, user)
    return _no_right(error, what, user, needs)


def _no_right(
    error: KafkaError, what: str, user: str | None, needs: Right | None
) -> KafkaRequestError:
    who = "the user of this client" if user is None else f"user {user!r}"
    kind = _RESOURCES.get(error.code(), "cluster")
    if needs is None or needs.resource != kind:
        # The request needs several rights, and another one of them is missing.
        missing, option = reason(error), f"--operation … --{kind} …"
    else:
        missing, option = f"the right {needs} is missing", needs.option
    principal = "User:NAME" if user is None else f"User:{user}"
    return KafkaRequestError(
        "not-allowed",
        f"cannot {what}: the cluster refused {who}: {missing}",
        fix="let an administrator give the right:"
        f" kafka-acls --add --allow-principal {principal} {option}",
    )


def _no_login(error: KafkaError, what: str, user: str | None) -> KafkaRequestError:
    broker, text = _parts(error)
    who = "this client" if user is None else f"user {user!r}"
    return KafkaRequestError(
        "not-allowed",
        f"cannot {what}: {broker} refused {who}: {text}",
        fix="check sasl.mechanism and user and password (sasl.username and sasl.password,"
        " or sasl.jaas.config)",
    )


def _no_tls(error: KafkaError, what: str) -> KafkaRequestError:
    broker, text = _parts(error)
    return KafkaRequestError(
        "tls-failed",
        f"cannot {what}: there is no TLS connection to {broker}: {text}",
        fix="give the authority that signed the broker's certificate as ssl.truststore.location"
        " (a PEM file); the certificate has to name the host that bootstrap.servers names",
    )


def reported_text(error: KafkaError) -> str:
    """Return the text of a report, without the time it took, which is always different."""
    found = _REPORT.fullmatch(error.str())
    return f"{found['broker']}: {found['text']}" if found else str(error.str())


def _parts(error: KafkaError) -> tuple[str, str]:
    found = _REPORT.fullmatch(error.str())
    if found is None:
        return "the broker", str(error.str())
    return f"the broker at {found['broker']}", found["text"]


def hidden_failure(error: BaseException) -> KafkaException | None:
    """Return the failure behind an error of the interpreter; None if there is none.

    If a client becomes unusable while it reports a delivery, confluent-kafka calls the callback
    with its exception already set. Python then raises a ``SystemError``.
    """
    cause = error.__cause__ if isinstance(error, SystemError) else None
    return cause if isinstance(cause, KafkaException) else None
