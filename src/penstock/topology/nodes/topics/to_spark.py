"""Hands a stream's batches to a function as Spark DataFrames, as data.

How it runs: ``penstock.kernel.operators.topics.to_spark`` in a task,
``penstock.runtime.spark.driver.to_spark`` on the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.topology.nodes.topics.sink import Sink

#: Topics of this form are no topics: what goes there is collected for Spark.
SPARK_TOPIC = "spark:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSpark(Sink):
    """Collects the records of each batch and calls ``fn(dataframe, batch_id)`` with them.

    After a crash the function sees the same batch id again with the same rows: a sink that
    remembers the last id it wrote is exactly once. ``key_type`` and ``value_type`` are Spark
    types (DDL); None leaves JSON text.
    """

    fn: Callable[[Any, int], object]
    key_type: str | None = None
    value_type: str | None = None
