"""Names the failures of Kafka and Spark. What is done about each is in ``model.remedies``.

Which errors of Kafka's clients become which code: ``penstock.kafka.error_table``.
"""

from __future__ import annotations

import re

from confluent_kafka import KafkaException
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from penstock.errors import PenstockError, StreamsError, TaskMigratedError
from penstock.model.remedies import Remedy, declared
from penstock.runtime.spark.worker.kafka_failures import as_streams_error

_LAST_LINE = re.compile(r"\n(\w[\w.]*(?:Error|Exception)[^\n]*)")
_NOT_INSTALLED = re.compile(
    r"ModuleNotFoundError: [^\n]*|No module named [^\n]*|Python in worker has different[^\n]*"
)


def fenced(generation: int) -> TaskMigratedError:
    """Return the error for a driver that another one has replaced."""
    return TaskMigratedError(
        "fenced",
        f"another driver has taken generation {generation} of the application",
        fix="nothing to do if another instance was started",
    )


def may_pass(error: BaseException, *, is_late: bool) -> bool:
    """Tell whether a failure at the start may pass, because the cluster is starting or moving.

    Args:
        is_late: whether the time for a first answer is over. If the cluster has answered that it is
            not ready, the wait is longer.
    """
    known, has_answered = declared(error), getattr(error, "code", "") == "kafka-not-ready"
    return (has_answered or not is_late) and known.remedy is Remedy.RERUN and not known.is_setup


def explained(error: BaseException) -> PenstockError:
    """Return a Penstock error for any error that a batch has raised."""
    if isinstance(error, PenstockError):
        return error
    if isinstance(error, KafkaException):
        found = as_streams_error(error)
    elif isinstance(error, Py4JJavaError):
        found = _of_spark(str(error))
    elif isinstance(error, Py4JNetworkError | Py4JError | ConnectionError | EOFError):
        found = _spark_lost(str(error))
    else:
        found = StreamsError("batch-failed", f"a batch failed: {error!r}")
    assert isinstance(found, PenstockError)
    found.__cause__ = error
    return found


def explained_start(error: Exception) -> PenstockError:
    """Return a Penstock error for any error that keeps Spark from starting."""
    if isinstance(error, PenstockError):
        return error
    if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
        return _spark_lost(str(error))
    # The message of Java is between the line about the call and the stack trace.
    lines = str(error).split("\n\tat ")[0].splitlines()
    return StreamsError(
        "spark-start",
        f"Spark could not start: {lines[-1].removeprefix(': ') if lines else repr(error)}",
        fix="check spark.master and the other spark.* settings, and that Java 17 or newer is there",
    )


def _of_spark(text: str) -> StreamsError:
    """Return the error for a failed Spark job; errors of slots are returned, not raised there."""
    lines = _LAST_LINE.findall(text)
    last = lines[-1] if lines else text[:500]
    missing = _NOT_INSTALLED.search(text)
    if missing is not None:
        return StreamsError(
            "executor-setup",
            f"an executor cannot run Python of this application: {missing[0]}",
            fix="install penstock and the same Python on every executor, and set PYSPARK_PYTHON;"
            " see the guide on clusters",
        )
    if "SparkContext was shut down" in text or "stopped SparkContext" in text:
        return _spark_lost(last)
    return StreamsError(
        "spark-job",
        f"Spark could not run a job to its end: {last}",
        fix="nothing of the batch was lost: it runs again; look for lost executors",
    )


def _spark_lost(text: str) -> StreamsError:
    return StreamsError(
        "spark-lost",
        f"the JVM of Spark's driver is gone: {text[:300]}",
        fix="start the application again; look for an out-of-memory kill of the JVM",
    )
