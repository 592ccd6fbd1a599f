"""Classify the error of a query as the user's or the system's, as ksqlDB's classifiers do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.errors import ConfigError, PenstockError, SerializationError

ErrorClass = Literal["USER", "SYSTEM", "UNKNOWN"]
_CLASSES: tuple[ErrorClass, ...] = ("USER", "SYSTEM", "UNKNOWN")
REGEX_PREFIX = "ksql.error.classifier.regex."

#: Codes of errors that a user can fix: in a statement, in records, in topics or in access rights.
_USERS = frozenset({
    "co-partitioning", "invalid-timestamp", "missing-source-topic", "missing-topic", "not-allowed",
    "null-key", "partition-count", "partition-count-changed", "plan-changed", "repartition-topics",
    "timestamp-extractor", "topic-exists", "unknown-partition", "unknown-topic",
})  # fmt: skip
#: Codes of errors of the cluster, of Spark, or of a machine. A restart often succeeds.
_SYSTEMS = frozenset({
    "batch-log", "broker-away", "broker-unreachable", "client-renewed", "executor-setup", "fenced",
    "group-in-use", "internal-topic-lost", "kafka-not-ready", "kafka-refused", "no-process",
    "not-leading", "open-transaction", "read-failed", "read-timeout", "registry-login",
    "registry-unavailable", "slot-unreachable", "spark-job", "spark-lost", "spark-start",
    "store-damaged", "store-locked", "tls-failed", "worker-failed", "worker-lost", "write-failed",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    verdict: ErrorClass


def error_classifier(settings: Mapping[str, str]) -> Callable[[BaseException], ErrorClass]:
    """Return the function that classifies an error.

    ``ksql.error.classifier.regex.<name>`` has a class and a pattern, such as
    ``USER .*no such column.*``. The first pattern that fits decides; else the kind of the error.

    Raises:
        ConfigError: ``bad-setting``.
    """
    rules = [_rule(n, value) for n, value in sorted(settings.items()) if n.startswith(REGEX_PREFIX)]

    def classify(error: BaseException) -> ErrorClass:
        for each in _chain(error):
            found = next((r.verdict for r in rules if r.pattern.search(str(each))), None)
            if found is not None:
                return found
        return next(filter(None, map(_by_kind, _chain(error))), "UNKNOWN")

    return classify


def _rule(name: str, value: str) -> _Rule:
    word, _, pattern = value.strip().partition(" ")
    verdict = next((each for each in _CLASSES if each == word.upper()), None)
    try:
        if verdict is not None and pattern:
            return _Rule(re.compile(pattern.strip()), verdict)
    except re.error:
        pass
    raise ConfigError(
        "bad-setting",
        f"{name} is {value!r}",
        fix="write USER, SYSTEM or UNKNOWN, a blank, and a pattern",
    )


def _chain(error: BaseException) -> Iterable[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _by_kind(error: BaseException) -> ErrorClass | None:
    if isinstance(error, PenstockError):
        if error.code in _USERS or isinstance(error, SerializationError):
            return "USER"
        if error.code in _SYSTEMS:
            return "SYSTEM"
    if isinstance(error, OSError | TimeoutError):
        return "SYSTEM"
    return None
