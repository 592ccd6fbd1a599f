"""Errors of Spark's tasks: ``penstock.runtime.spark.history.errors``."""

import pytest
from pyspark.errors import PythonException

from penstock.errors import StreamsError, TopologyError
from penstock.runtime.spark.history.errors import as_raised, portable

FAILED = StreamsError(
    "user-function", "node 'm' raised\n  record: topic 'in'", "fix it", "app.py:3"
)


def test_the_error_of_a_task_is_raised_as_it_was_there() -> None:
    """Spark carries nothing but a text, with a stack of its own around it."""
    text = f"An exception was thrown:\n  File x\n{portable(FAILED)}\n SQLSTATE: 38000"
    with pytest.raises(StreamsError) as raised, as_raised():
        raise PythonException(text)
    found = raised.value
    assert (found.code, found.message, found.fix, found.at) == (
        FAILED.code, FAILED.message, FAILED.fix, FAILED.at,
    )  # fmt: skip


def test_the_class_of_the_error_stays() -> None:
    """Programs catch errors by their class."""
    with pytest.raises(TopologyError), as_raised():
        raise PythonException(str(portable(TopologyError("cycle", "a", "b"))))


def test_other_errors_of_spark_stay_what_they_are() -> None:
    """A lost executor is not the fault of a record."""
    with pytest.raises(PythonException, match="lost"), as_raised():
        raise PythonException("executor lost")
