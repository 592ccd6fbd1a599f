"""Errors of a cluster in plain words, with a fix. ``penstock.kafka.admin`` raises them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.clients import ReportedErrors
from penstock.kafka.error_table import Verdict, reason, verdict
from penstock.kafka.errors import (
    KafkaRequestError,
    TopicExistsError,
    UnknownGroupError,
    UnknownTopicError,
)
from penstock.kafka.refusals import Right, refused

#: Errors that mean that no broker has answered.
_UNREACHABLE = frozenset({
    KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE, KafkaError.REQUEST_TIMED_OUT,
})  # fmt: skip

#: A running application waits after these errors. A request about a topic raises them.
_ANSWERS = frozenset({
    KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID, KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
})  # fmt: skip
_VERDICTS = {
    "broker-unreachable": Verdict.WAIT,
    "kafka-not-ready": Verdict.WAIT,
    "unknown-topic": Verdict.WAIT,
    "not-allowed": Verdict.FORBIDDEN,
    "tls-failed": Verdict.FORBIDDEN,
}
_FIXES = {
    KafkaError.INVALID_REPLICATION_FACTOR: "ask for at most as many replicas as there are brokers",
    KafkaError.INVALID_PARTITIONS: "ask for one partition or more, and never for fewer than before",
    KafkaError.INVALID_CONFIG: "use Kafka's topic settings, such as cleanup.policy=compact",
    KafkaError.TOPIC_EXCEPTION: "use letters, digits, dots, dashes and underscores",
    KafkaError.POLICY_VIOLATION: "the cluster forbids it; a compacted topic deletes by key only",
}


def explained(
    failure: KafkaException,
    what: str,
    bootstrap: str,
    *,
    reported: ReportedErrors | None = None,
    user: str | None = None,
    needs: Right | None = None,
) -> KafkaRequestError:
    """Return an error that says what was tried and what to do, for an exception of a client.

    Args:
        what: what was tried, such as ``create topic 'orders'``.
        reported: the error that the client reported separately: the real reason of a timeout.
        user: who the client logs in as, see ``user_of``.
        needs: the right that the request needs.
    """
    error = failure.args[0]
    code = error.code()
    if code in _UNREACHABLE:
        if reported is not None and reported.refusal is not None:
            return refused(reported.refusal, what, user=user, needs=needs)
        return unreachable(what, bootstrap, str(reported or "") or error.str())
    if verdict(error) is Verdict.FORBIDDEN:
        return refused(error, what, user=user, needs=needs)
    if code == KafkaError.GROUP_ID_NOT_FOUND:
        return UnknownGroupError("unknown-group", f"cannot {what}: there is no such group")
    if code in (KafkaError.NON_EMPTY_GROUP, KafkaError.UNKNOWN_MEMBER_ID):
        return KafkaRequestError(
            "group-in-use",
            f"cannot {what}: the group has members",
            fix="stop the applications of this group first; a killed one leaves after"
            " session.timeout.ms",
        )
    if is_transient(failure):
        why = error.str() if _has_no_broker_yet(error) else reason(error)
        return KafkaRequestError(
            "kafka-not-ready",
            f"cannot {what}: {why} ({error.name()})",
            fix="try again in a moment; if it stays, look into the log of the brokers",
        )
    return KafkaRequestError(
        "kafka-refused", f"cannot {what}: {error.str()} ({error.name()})", fix=_FIXES.get(code)
    )


def is_transient(failure: KafkaException) -> bool:
    """Return whether the same request is likely to succeed in a moment."""
    error = failure.args[0]
    waits = verdict(error) is Verdict.WAIT and error.code() not in _ANSWERS
    return waits or bool(error.retriable()) or _has_no_broker_yet(error)


def _has_no_broker_yet(error: KafkaError) -> bool:
    """Whether a controller has no broker for new topics: all of them start, or are slow."""
    is_about_brokers = error.code() == KafkaError.INVALID_REPLICATION_FACTOR
    return is_about_brokers and "brokers are currently fenced" in str(error.str())


def verdict_of(error: KafkaException | KafkaRequestError) -> Verdict:
    """Return what a running application does after a failed request."""
    if isinstance(error, KafkaException):
        return verdict(error.args[0])
    return _VERDICTS.get(error.code, Verdict.FATAL)


def unreachable(what: str, bootstrap: str, why: str) -> KafkaRequestError:
    return KafkaRequestError(
        "broker-unreachable",
        f"cannot {what}: no answer from {bootstrap} ({why})",
        fix="check the address, that the broker runs, and that security.protocol is what it wants;"
        " penstock broker start starts one",
    )


def unknown_topic(name: str, known: Iterable[str]) -> UnknownTopicError:
    close = get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownTopicError(
        "unknown-topic",
        f"there is no topic {name!r}{hint}",
        fix=f"correct the name, or make the topic: penstock topics create {name}",
    )


def unknown_partition(name: str, number: int, partitions: int) -> UnknownTopicError:
    return UnknownTopicError(
        "unknown-partition",
        f"topic {name!r} has no partition {number}",
        fix=f"use 0 to {partitions - 1}",
    )


def topic_differs(name: str, wanted: int, found: int) -> TopicExistsError:
    return TopicExistsError(
        "topic-exists",
        f"topic {name!r} exists with {found} partitions, {wanted} were asked for",
        fix="use another name, delete the topic, or ask for the partitions it has",
    )
