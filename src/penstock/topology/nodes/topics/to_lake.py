"""Appends the records of a stream to a table of a lakehouse, as data.

How it runs: ``penstock.kernel.operators.topics.to_lake`` in a task,
``penstock.runtime.spark.driver.lake`` on the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.topology.nodes.topics.sink import Sink
from penstock.topology.nodes.topics.to_spark import ToSpark


@dataclass(frozen=True, slots=True, kw_only=True)
class ToLake(Sink):
    """Collects records until the driver commits them to a table, each exactly once.

    ``topic`` is the name of the table, such as ``delta:/lake/orders``. ``key_type`` and
    ``value_type`` are Spark types (DDL); None leaves JSON text. ``is_windowed``: the bounds of a
    key's window are columns.
    """

    key_type: str | None = None
    value_type: str | None = None
    is_windowed: bool = False
    #: Whether a row takes the place of the one with the same key, and is not appended.
    has_present_rows: bool = False


#: Sinks whose records do not go to a topic of the user: the driver takes them after each cut.
DriverSink: TypeAlias = ToSpark | ToLake
