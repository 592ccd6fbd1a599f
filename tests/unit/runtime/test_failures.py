"""What the driver does about each failure, and how it reports errors of Kafka and Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from penstock.errors import StreamsError
from penstock.kafka.error_table import Verdict
from penstock.model.remedies import Remedy, declared, remedy
from penstock.runtime.spark.driver.failures import (
    explained,
    explained_start,
    may_pass,
)
from penstock.runtime.spark.worker.kafka_failures import CODES, as_streams_error

RERUN = (
    "broker-away", "broker-unreachable", "client-renewed", "worker-lost", "worker-failed",
    "slot-unreachable", "batch-log", "read-timeout", "read-failed", "write-failed",
    "open-transaction", "store-locked", "store-damaged", "not-allowed", "stale-request",
    "disk-full", "spark-job", "refusal-noticed", "registry-unavailable", "registry-login",
)  # fmt: skip
BEGIN_ANEW = (
    "fenced", "not-leading", "offset-out-of-range", "partitions-changed", "unknown-topic",
    "unknown-partition",
)  # fmt: skip
ASK = (
    "processing", "record-refused", "kafka-refused", "missing-topic", "batch-failed",
    "executor-setup", "spark-lost", "spark-start", "a-code-of-a-later-version",
)  # fmt: skip


def remedies(*codes: str) -> set[Remedy]:
    return {remedy(StreamsError(code, "it failed")) for code in codes}


def test_every_code_has_the_remedy_that_fits_it() -> None:
    """What passes by itself runs again; what the user's program caused is the user's decision."""
    assert remedies(*RERUN) == {Remedy.RERUN}
    assert remedies(*BEGIN_ANEW) == {Remedy.BEGIN_ANEW}
    assert remedies(*ASK) == {Remedy.ASK}


def test_an_error_without_a_code_is_for_the_handler() -> None:
    """Nothing is known about it."""
    assert remedy(ZeroDivisionError("x")) is Remedy.ASK


def test_every_verdict_on_an_error_of_kafka_has_a_code_with_the_right_remedy() -> None:
    """The table of Kafka's errors and the table of remedies must not disagree."""
    assert CODES.keys() == set(Verdict)
    found = {verdict: remedy(StreamsError(code, "")) for verdict, code in CODES.items()}
    assert found == {
        Verdict.IGNORE: Remedy.RERUN,
        Verdict.WAIT: Remedy.RERUN,
        Verdict.RENEW: Remedy.RERUN,
        Verdict.FORBIDDEN: Remedy.RERUN,
        Verdict.OFFSETS: Remedy.BEGIN_ANEW,
        Verdict.RECORD: Remedy.ASK,
        Verdict.FATAL: Remedy.ASK,
    }


def test_only_waiting_for_kafka_itself_has_no_limit() -> None:
    """Nothing can go on without it, and giving up would help nobody."""
    without = {code for code in RERUN if not declared(StreamsError(code, "")).has_limit}
    assert without == {"broker-away", "broker-unreachable", "not-allowed", "batch-log"}


def test_an_error_of_ours_stays_as_it_is() -> None:
    """A slot hands it over as a value: type, code, line and fix."""
    error = StreamsError("processing", "node 'map' failed", "handle it", "app.py:12")
    assert explained(error) is error


def test_an_error_of_a_kafka_client_is_named_by_the_table() -> None:
    """The client's own error stays the cause."""
    error = KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    found = explained(error)
    assert (found.code, found.__cause__) == ("broker-away", error)


def test_a_kafka_exception_without_a_kafka_error_runs_again() -> None:
    """Some calls of the client raise one with plain text."""
    found = as_streams_error(KafkaException("Failed to get metadata"))
    assert isinstance(found, StreamsError)
    assert found.code == "broker-away"
    assert "Failed to get metadata" in found.message


def test_errors_of_others_pass_through_the_worker_as_they_are() -> None:
    """Only Kafka's need a translation there."""
    error = ValueError("x")
    assert as_streams_error(error) is error


class JavaError(Py4JJavaError):
    """Spark's failure of a job; the text comes from the JVM."""

    def __init__(self, text: str) -> None:
        self.java_exception: Any = SimpleNamespace()
        self._text = text

    def __str__(self) -> str:
        return self._text


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("Job aborted.\njava.io.IOException: No space left on device\n\tat x", "spark-job",
         "No space left on device"),
        ("x\nModuleNotFoundError: No module named 'penstock'\n\tat x", "executor-setup",
         "No module named 'penstock'"),
        ("x\njava.lang.IllegalStateException: SparkContext was shut down", "spark-lost",
         "SparkContext was shut down"),
    ],
)  # fmt: skip
def test_a_failed_job_of_spark_is_told_by_its_last_line(text: str, code: str, says: str) -> None:
    """The whole trace is in the log; here the cause counts."""
    error = explained(JavaError(text))
    assert error.code == code
    assert says in error.message
    assert "\tat" not in error.message


@pytest.mark.parametrize("error", [Py4JNetworkError("gone"), ConnectionResetError(), EOFError()])
def test_a_jvm_that_is_gone_is_not_waited_for(error: Exception) -> None:
    """Nothing brings it back, so the application must end or begin with another one."""
    found = explained(error)
    assert (found.code, remedy(found)) == ("spark-lost", Remedy.ASK)


def test_any_other_error_is_a_failed_batch_with_its_cause() -> None:
    """Whoever reads the message sees what was raised."""
    error = explained(ZeroDivisionError("x"))
    assert error.code == "batch-failed"
    assert "ZeroDivisionError('x')" in error.message
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_start_of_spark_that_fails_says_what_java_said() -> None:
    """Without the stack trace of the JVM."""
    text = (
        "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
        ": org.apache.spark.SparkException: Could not parse Master URL: 'spark:/x'\n"
        "\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:603)\n\tat elsewhere"
    )
    found = explained_start(RuntimeError(text))
    assert found.code == "spark-start"
    assert found.message.endswith("SparkException: Could not parse Master URL: 'spark:/x'")
    assert "JavaSparkContext" not in found.message


def test_jvm_that_is_killed_while_spark_starts_is_lost() -> None:
    """The program ends with a code, not with a traceback of Py4J."""
    assert explained_start(Py4JNetworkError("Error while sending")).code == "spark-lost"


def test_a_failure_that_the_interpreter_hides_is_told_as_what_it_is() -> None:
    """A fatal error while a delivery is reported comes as a ``SystemError``."""
    hiding = SystemError("returned a result with an exception set")
    hiding.__cause__ = KafkaException(KafkaError(KafkaError._FENCED))
    found = as_streams_error(hiding)
    assert isinstance(found, StreamsError)
    assert found.code == as_streams_error(hiding.__cause__).code  # type: ignore[attr-defined]
    other = SystemError("something else")
    assert as_streams_error(other) is other


@pytest.mark.parametrize(
    ("code", "early", "late"),
    [
        ("broker-unreachable", True, False),
        ("kafka-not-ready", True, True),
        ("not-allowed", False, False),
        ("missing-source-topic", False, False),
    ],
)
def test_a_start_waits_longest_for_a_cluster_that_has_answered(
    code: str, early: bool, late: bool
) -> None:
    """The address of one that has never answered may be wrong. One that is slow needs time."""
    error = StreamsError(code, "failed")
    assert may_pass(error, is_late=False) is early
    assert may_pass(error, is_late=True) is late
