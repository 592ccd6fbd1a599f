"""Sends records to a table of a lakehouse. For the kernel it is a sink to a topic of that name."""

from __future__ import annotations

from penstock.kernel.executor import executes
from penstock.kernel.operators.topics.sink import SinkExecutor
from penstock.topology.nodes.topics.to_lake import ToLake


@executes(ToLake)
class ToLakeExecutor(SinkExecutor):
    """Sends to the table's name; the runtime keeps those records until the driver commits them."""
