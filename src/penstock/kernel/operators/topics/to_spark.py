"""Collects records for Spark: a sink like any other, to a topic that is none."""

from __future__ import annotations

from penstock.kernel.executor import executes
from penstock.kernel.operators.topics.sink import SinkExecutor
from penstock.topology.nodes.topics.to_spark import ToSpark


@executes(ToSpark)
class ToSparkExecutor(SinkExecutor):
    """Sends to the reserved topic; the runtime hands what arrives there to the driver."""
