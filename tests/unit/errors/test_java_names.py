"""Errors under the names that the documents of Kafka Streams use."""

from __future__ import annotations

import pickle

import pytest

import penstock as ps
from penstock.errors import (
    DeserializationException,
    SerdeException,
    StreamsError,
    TaskMigratedException,
)
from penstock.runtime.spark.driver.failures import fenced
from penstock.testing import TopologyTestDriver


def _undecodable() -> None:
    builder = ps.StreamsBuilder()
    builder.stream("in", value="long").to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in", value_serde="bytes").pipe_input(b"not a long")


def _unfit() -> None:
    builder = ps.StreamsBuilder()
    builder.stream("in").map_values(len).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_input("four")


def test_errors_have_the_names_of_the_documents() -> None:
    """A handler that was ported from Java catches what it is meant to catch."""
    with pytest.raises(DeserializationException) as undecodable:
        _undecodable()
    assert isinstance(undecodable.value, SerdeException)
    assert isinstance(undecodable.value, StreamsError)
    with pytest.raises(SerdeException) as unfit:
        _unfit()
    assert not isinstance(unfit.value, DeserializationException)


def test_work_that_another_instance_has_taken_is_a_task_migrated() -> None:
    """The error also keeps its type on the way from a worker to the driver."""
    migrated = fenced(7)
    assert isinstance(migrated, TaskMigratedException)
    again = pickle.loads(pickle.dumps(migrated))
    assert (type(again), again.code) == (TaskMigratedException, "fenced")
