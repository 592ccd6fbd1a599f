"""What travels between stages arrives complete and in the order of its senders."""

from __future__ import annotations

import random

from penstock.kernel.record_queue import RawRecord
from penstock.runtime.spark.exchange.rows import (
    SCHEMA,
    Bundle,
    RowBuffer,
    ShuffleRow,
    decode_headers,
    encode_headers,
    reports,
    split_stage,
)


def row(stage: int, subtopology: int, task: int, *sequences: int) -> ShuffleRow:
    """A row with one record for each place in the task's sequence, which is its key, too."""
    keys: list[bytes | None] = [bytes([each]) for each in sequences]
    nothing: list[bytes | None] = [None] * len(keys)
    bundle = Bundle(sequences[0], [5] * len(keys), keys, nothing, nothing)
    return ShuffleRow(
        0, stage, "t", 0, subtopology, task, bundle.sequence, 0, None, bundle.packed(), None
    )


def test_rows_of_a_stage_come_back_in_the_order_they_were_sent() -> None:
    """A Spark shuffle keeps no order; sub-topology, task and sequence restore it."""
    places = ((1, 2), (3,), (4, 5))
    sent = [row(1, part, task, *n) for part in range(2) for task in range(3) for n in places]
    mixed = random.Random(1).sample(sent, len(sent))
    mine, others = split_stage(RowBuffer(list(mixed)).batches(), 1)
    assert [(each.subtopology, each.task) for each in mine] == [
        (part, task) for part in range(2) for task in range(3)
    ]
    assert all(each.keys == [b"\1", b"\2", b"\3", b"\4", b"\5"] for each in mine)
    assert others == []


def test_records_of_an_upstream_task_count_on_from_its_last_offset() -> None:
    """They come from no topic; their offsets are those the receiving queue hands out."""
    rows = [row(1, 0, 2, 9), row(1, 0, 2, 7, 8)]
    ((sent,), _) = split_stage(RowBuffer(list(rows)).batches(), 1)
    assert (sent.queue, len(sent), sent.first_sequence) == ("t|0_2", 3, 7)
    found = [RawRecord(*record) for record in sent.columns("app-t", range(4, 7))]
    assert [(each.topic, each.offset, each.key) for each in found] == [
        ("app-t", offset, bytes([offset + 3])) for offset in (4, 5, 6)
    ]


def test_headers_travel_with_their_records() -> None:
    """Each record has its own, and most have none."""
    bundle = Bundle(1, [5, 5], [b"a", b"b"], [None, None], [None, encode_headers([("h", b"1")])])
    sent_row = ShuffleRow(0, 1, "t", 0, 0, 0, 1, 0, None, bundle.packed(), None)
    ((sent,), _) = split_stage(RowBuffer([sent_row]).batches(), 1)
    assert sent.columns("app-t", range(2)).headers == [(), (("h", b"1"),)]


def test_rows_of_other_stages_only_pass_through() -> None:
    """Rows for a later stage and reports are not this stage's business."""
    buffer = RowBuffer([row(1, 0, 0, 1), row(2, 0, 0, 2)])
    buffer.report({"records": 3})
    mine, others = split_stage(buffer.batches(), 1)
    assert [each.keys for each in mine] == [[b"\x01"]]
    passed = [each for batch in others for each in batch.to_pylist()]
    assert [each["stage"] for each in passed] == [2, -1]
    assert reports(passed) == [{"records": 3}]


def test_nothing_makes_no_batches() -> None:
    """A stage without output sends nothing, not an empty batch."""
    assert list(RowBuffer().batches()) == []
    assert split_stage([], 0) == ([], [])


def test_batches_have_the_schema_that_spark_is_told() -> None:
    """A column more or less would fail in Spark, far from here."""
    (batch,) = RowBuffer([row(0, 0, 0, 0)]).batches()
    assert batch.schema == SCHEMA


def test_headers_survive_and_none_cost_nothing() -> None:
    """Null values and repeated names are headers, too."""
    headers = (("a", b"1"), ("a", None), ("ü", b""))
    assert decode_headers(encode_headers(headers)) == headers
    assert encode_headers(()) is None
    assert decode_headers(None) == ()
