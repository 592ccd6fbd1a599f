"""An error of ours is found in what Spark says of it."""

from __future__ import annotations

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.query_failure import explained

_OURS = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to \
stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: org.apache.spark.api.\
python.PythonException: Traceback (most recent call last):
  File "/site/penstock/runtime/spark/worker/slot.py", line 70, in run
    self._run(order, rows)
penstock.errors.StreamsError: [processing] node 'KSTREAM-MAP-1' failed: ZeroDivisionError('x')
  record: topic 'in' partition 0 offset 3
  at:  app.py:12
  fix: handle the value, or set processing.exception.handler

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:1)
Driver stacktrace:"""


def test_the_workers_error_is_shown_as_it_was_raised() -> None:
    """Code, message, line and fix: the user sees no Java."""
    error = explained(RuntimeError(_OURS))
    assert isinstance(error, StreamsError)
    assert error.code == "processing"
    assert error.message.startswith("node 'KSTREAM-MAP-1' failed: ZeroDivisionError('x')")
    assert "offset 3" in error.message
    assert "org.apache" not in str(error)
    assert (error.at, error.fix) == (
        "app.py:12",
        "handle the value, or set processing.exception.handler",
    )


def test_an_error_of_spark_is_named_by_its_last_line() -> None:
    """The whole trace is in the log; here the cause counts."""
    text = "Job aborted.\njava.io.IOException: No space left on device\nMemoryError: no more"
    error = explained(RuntimeError(text))
    assert isinstance(error, StreamsError)
    assert (error.code, "MemoryError: no more" in error.message) == ("batch-failed", True)
    assert str(error.__cause__) == text


def test_a_query_that_ends_without_an_error_says_so() -> None:
    """Somebody stopped it from outside."""
    error = explained(None)
    assert isinstance(error, StreamsError)
    assert error.code == "query-ended"
