"""What tasks over history send: ``penstock.runtime.history.outbox``."""

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.partitioning import partition_for
from penstock.runtime.history.outbox import HistoryOutbox
from penstock.runtime.history.rows import OTHER_TOPIC, headers_of


def outbox(*, takes_others: bool = True) -> HistoryOutbox:
    made = HistoryOutbox({"out": 3}, {"unwanted"}, lambda topic: 4, 7, takes_others=takes_others)
    made.clock = lambda: 100
    return made


def rows(box: HistoryOutbox) -> list[dict[str, Any]]:
    return [row for batch in box.take() for row in batch.to_pylist()]


def test_a_record_takes_the_place_of_the_one_that_is_processed() -> None:
    """Until the caller names a place, the clock does."""
    box = outbox()
    box.send("out", b"a", b"1", 5, ())
    box.at, box.tie = 40, 9
    box.send("out", b"a", b"2", 6, (("h", b"x"),))
    first, second = rows(box)
    assert [first[name] for name in ("target", "at", "tie", "source", "seq")] == [3, 100, 0, 7, 0]
    assert [second[name] for name in ("at", "tie", "seq", "timestamp")] == [40, 9, 1, 6]
    assert (first["headers"], headers_of(second["headers"])) == (None, (("h", b"x"),))


def test_keys_choose_partitions_and_records_without_keys_go_round() -> None:
    """As in a producer; a partition that was chosen before stays."""
    box = outbox()
    for key, chosen in ((b"ann", None), (None, None), (None, None), (b"ann", 1)):
        box.send("out", key, b"", 0, (), chosen)
    assert [row["task"] for row in rows(box)] == [partition_for(b"ann", 4), 0, 1, 1]


def test_columns_are_placed_by_the_highest_timestamp_so_far() -> None:
    """A late result comes behind the results before it."""
    box = outbox()
    box.begin()
    box.send_columns("out", [b"a", None], [b"1", b"2"], np.array([120, 110]), None)
    box.send_columns("out", [b"a"], [b"3"], [115], None, 2)
    found = rows(box)
    assert [row["at"] for row in found] == [120, 120, 120]
    assert [row["seq"] for row in found] == [0, 1, 2]
    assert [row["task"] for row in found] == [partition_for(b"a", 4), 0, 2]


def test_columns_that_repeat_are_written_out() -> None:
    """A missing key stays missing."""
    box = outbox()
    keys = DictionaryBytes(np.array([0, -1, 0]), [b"a"])
    box.send_columns("out", keys, [b"1", b"2", b"3"], [1, 2, 3], None, 0)
    (batch,) = box.take()
    assert batch.column("key") == pa.array([b"a", None, b"a"])


def test_only_topics_that_are_asked_for_are_kept() -> None:
    """Topics whose names a function chose are kept under their names, if others are taken."""
    for box, expected in ((outbox(), [(OTHER_TOPIC, "dead")]), (outbox(takes_others=False), [])):
        for topic in ("unwanted", "spark:x", "dead"):
            box.send(topic, b"a", b"1", 0, ())
            box.send_columns(topic, [], [], [], None)
        assert [(row["target"], row["name"]) for row in rows(box)] == expected
