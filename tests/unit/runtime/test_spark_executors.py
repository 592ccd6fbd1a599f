"""What Spark says about its executors, by calls that are not part of its public API."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.driver.executors.spark_executors import (
    ExecutorId,
    executors_of,
    is_local,
    known_executors,
    leaving_executors,
)


def context(java: Any, **jvm: Any) -> Any:
    return SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: java), _jvm=SimpleNamespace(**jvm))


def listing(executors: int) -> Any:
    """A Spark context that lists its driver and so many executors."""
    tracker = SimpleNamespace(getExecutorInfos=lambda: [None] * (executors + 1))
    return context(SimpleNamespace(statusTracker=lambda: tracker))


def test_the_driver_is_not_counted() -> None:
    assert known_executors(listing(0)) == 0
    assert known_executors(listing(4)) == 4


def test_a_spark_that_does_not_tell_its_executors_has_one() -> None:
    """The call is not part of Spark's public API; then nothing is moved."""
    silent: Any = SimpleNamespace()
    assert known_executors(silent) is None


def test_executors_are_listed_by_host_and_name() -> None:
    """The port is of no use, and the driver runs no tasks."""

    def each(address: str, name: str) -> Any:
        return SimpleNamespace(hostPort=lambda: address, id=lambda: name)

    found = [each("b:7", "2"), each("a:1", "driver"), each("a:8", "1")]
    sequence = SimpleNamespace(size=lambda: len(found), apply=lambda number: found[number])
    store = SimpleNamespace(executorList=lambda is_active: sequence if is_active else None)
    spark = context(SimpleNamespace(statusStore=lambda: store))
    assert executors_of(spark) == [ExecutorId("a", "1"), ExecutorId("b", "2")]


def test_executors_that_leave_are_those_that_spark_decommissions() -> None:
    def state(name: str) -> Any:
        return SimpleNamespace(isDefined=lambda: name == "2")

    scheduler = SimpleNamespace(getExecutorDecommissionState=state)
    spark = context(SimpleNamespace(taskScheduler=lambda: scheduler))
    assert leaving_executors(spark, ["1", "2", "3"]) == {"2"}


def test_a_spark_that_does_not_tell_who_leaves_keeps_all() -> None:
    spark = context(SimpleNamespace(taskScheduler=lambda: SimpleNamespace()))
    assert leaving_executors(spark, ["1"]) == frozenset()


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        (None, True),
        ("local", True),
        ("local[*]", True),
        ("local[4,2]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://a:7077", False),
        ("yarn", False),
        ("k8s://https://a:6443", False),
    ],
)
def test_only_a_local_master_has_no_executors(master: str | None, expected: bool) -> None:
    """Spark's own local cluster has executors: it starts them as a real one does."""
    assert is_local(master) is expected
