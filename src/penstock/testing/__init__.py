"""Tests of topologies without a broker: the test driver, text tables, a mock context."""

from penstock.runtime.local.column_batches import BatchReport
from penstock.testing.driver import TopologyTestDriver
from penstock.testing.mock_context import MockProcessorContext
from penstock.testing.rows import Row, rows
from penstock.testing.topics import TestInputTopic, TestOutputTopic, TestRecord

__all__ = [
    "BatchReport",
    "MockProcessorContext",
    "Row",
    "TestInputTopic",
    "TestOutputTopic",
    "TestRecord",
    "TopologyTestDriver",
    "rows",
]
