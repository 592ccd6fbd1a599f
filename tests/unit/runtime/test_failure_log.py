"""The last failures, each once."""

from __future__ import annotations

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.observing.failure_log import FailureLog, failure_of


def test_the_same_failure_again_is_counted() -> None:
    """A broker that is away for an hour does not push everything else out of the list."""
    now = iter(range(100))
    failures = FailureLog(lambda: next(now))
    for _ in range(3):
        failures.note(StreamsError("kafka-unreachable", "no answer", "wait", "app.py:4"))
    failures.note(StreamsError("other", "no answer"))
    first, second = failures.latest()
    assert (first.code, first.count, first.at_ms) == ("kafka-unreachable", 3, 2)
    assert (first.fix, first.site, second.count) == ("wait", "app.py:4", 1)


def test_only_the_last_failures_are_kept() -> None:
    """A list that only grows would fill the driver's memory."""
    failures = FailureLog(lambda: 0)
    for number in range(50):
        failures.note(StreamsError("x", f"failure {number}"))
    assert [each.message for each in failures.latest()][-1] == "failure 49"
    assert len(failures.latest()) == 20


def test_an_error_of_another_package_has_its_class_as_code() -> None:
    """It has no fix and no line."""
    found = failure_of(KeyError("amount"), 5)
    assert (found.code, found.message, found.fix) == ("KeyError", "'amount'", None)
