"""Passes batches of a stream to a function as Spark DataFrames, as data.

How it runs: ``penstock.kernel.operators.topics.to_spark`` in a task,
``penstock.runtime.spark.driver.to_spark`` on the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.topics.sink import Sink

#: Names of this form are not topics: records sent there are collected for Spark.
SPARK_TOPIC = "spark:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSpark(Sink):
    """Collects records, and calls ``fn(dataframe, batch_id)`` with those that are committed.

    After a crash, the function is called again with the same batch id and the same rows. So a sink
    that remembers its last batch id is exactly once. ``key_type`` and ``value_type`` are Spark
    types (DDL); None leaves JSON text. ``is_windowed``: the bounds of a key's window are columns.
    """

    fn: Callable[[Any, int], object]
    key_type: str | None = None
    value_type: str | None = None
    is_windowed: bool = False
