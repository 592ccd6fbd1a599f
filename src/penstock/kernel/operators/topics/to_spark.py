"""Sends records to Spark. For the kernel it is a sink to a topic with a reserved name."""

from __future__ import annotations

from penstock.kernel.executor import executes
from penstock.kernel.operators.topics.sink import SinkExecutor
from penstock.topology.nodes.topics.to_spark import ToSpark


@executes(ToSpark)
class ToSparkExecutor(SinkExecutor):
    """Sends to the reserved topic; the runtime hands those records to the driver."""
