"""What a task has processed of its input, in records and bytes.

Exercises ``work`` of the exchange, too.
"""

from __future__ import annotations

from penstock.kernel.raw_columns import RawColumns
from penstock.runtime.spark.exchange.bundles import Piece, Sent
from penstock.runtime.spark.exchange.work import Work
from penstock.runtime.spark.worker.task_inputs import TaskInputs

KEYS = (b"k", None, b"k")
VALUES = (b"12345", b"123", None)


def columns(topic: str) -> RawColumns:
    return RawColumns(topic, 0, (4, 5, 6), (1, 2, 3), KEYS, VALUES)


def test_only_what_was_processed_is_counted() -> None:
    """The rest is read again: a batch may end at a limit."""
    inputs = TaskInputs()
    inputs.records["in"] = columns("in")
    assert inputs.work({}) == Work()
    assert inputs.work({"in": 2}) == Work(records_read=2, bytes_read=9)
    assert inputs.work({"in": 3}) == Work(records_read=3, bytes_read=10)


def test_a_bundle_that_was_processed_in_part_counts_in_part() -> None:
    """Its records have no size of their own: they were packed together."""
    inputs = TaskInputs()
    inputs.sent = [Sent("r", 0, "0_0", columns("r"), (Piece(4, 0, 3),), 0)]
    inputs.sent_bytes = 300
    queue = inputs.sent[0].queue
    assert inputs.work({queue: 1}) == Work(records_read=1, bytes_read=100)
    assert inputs.work({queue: 3}) == Work(records_read=3, bytes_read=300)
