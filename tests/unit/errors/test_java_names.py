"""Errors under the names that the documents of Kafka Streams use."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import penstock as ps
from penstock import errors
from penstock.errors import StreamsError
from penstock.java import DeserializationException, SerdeException, TaskMigratedException
from penstock.runtime.spark.driver.failures import fenced
from penstock.testing import TopologyTestDriver


def test_errors_have_the_names_of_the_documents() -> None:
    """A handler that was ported from Java catches what it is meant to catch."""
    builder = ps.StreamsBuilder()
    builder.stream("in").map_values(len).to("out", value="long")
    with TopologyTestDriver(builder.build()) as driver:
        given = driver.create_input_topic("in")
        with pytest.raises(SerdeException) as unfit:
            given.pipe_input(4)
        assert not isinstance(unfit.value, DeserializationException)
        given.pipe_input("four")
        with pytest.raises(DeserializationException) as undecodable:
            driver.create_output_topic("out", value="integer").read_value()
        assert isinstance(undecodable.value, SerdeException)


def test_a_record_that_cannot_be_read_ends_processing_as_in_java() -> None:
    """Kafka Streams wraps the error of a serde in a StreamsException."""
    builder = ps.StreamsBuilder()
    builder.stream("in", value="long").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        given = driver.create_input_topic("in", value="bytes")
        with pytest.raises(StreamsError) as failed:
            given.pipe_input(b"not a long")
    assert type(failed.value) is StreamsError


def test_work_that_another_instance_has_taken_is_a_task_migrated() -> None:
    """The error also keeps its type on the way from a worker to the driver."""
    migrated = fenced(7)
    assert isinstance(migrated, TaskMigratedException)
    again = pickle.loads(pickle.dumps(migrated))
    assert (type(again), again.code) == (TaskMigratedException, "fenced")


def test_javas_names_are_not_among_pythons() -> None:
    """One name for each error; Java's says it."""
    names: Any = errors
    with pytest.warns(DeprecationWarning, match=r"write SerializationError, or .*penstock\.java"):
        assert names.SerdeException is errors.SerializationError
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = names.Nothing
