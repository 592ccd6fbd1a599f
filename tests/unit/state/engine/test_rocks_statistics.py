"""RocksDB's counters are measured at DEBUG, and have Kafka Streams' names."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.state.engine.rocks import PROPERTIES, open_rocks
from penstock.state.engine.rocks_statistics import STATISTICS, statistics_in


def test_counters_of_a_database_are_told_at_debug(tmp_path: Path) -> None:
    store = open_rocks(tmp_path / "s", "s", {"metrics.recording.level": "DEBUG"})
    for number in range(2_000):
        store.put(b"%d" % number, b"x" * 100)
    store.get(b"1")
    store.flush()
    for number in range(2_000):
        store.get(b"%d" % number)
    found = store.properties()
    store.close()
    assert set(found) <= {*PROPERTIES, *STATISTICS}
    assert found["bytes-written-total"] > 200_000
    assert found["bytes-read-total"] == 2_001 * 100
    assert found["memtable-hit-ratio"] == pytest.approx(1 / 2_001)
    assert 0.5 < found["block-cache-data-hit-ratio"] < 1
    assert found["memtable-bytes-flushed-total"] > 0
    assert found["memtable-flush-time-avg"] > 0
    assert (found["number-file-errors-total"], found["write-stall-duration-total"]) == (0, 0)


def test_nothing_is_counted_at_info(tmp_path: Path) -> None:
    """Counters cost something with every read and write."""
    store = open_rocks(tmp_path / "s", "s", {})
    store.put(b"a", b"b")
    assert set(store.properties()) == set(PROPERTIES)
    store.close()


def test_a_ratio_without_reads_and_an_average_without_events_are_left_out() -> None:
    text = """rocksdb.memtable.hit COUNT : 0
rocksdb.memtable.miss COUNT : 0
rocksdb.stall.micros COUNT : 2500
rocksdb.db.flush.micros P50 : 0.0 P95 : 0.0 P99 : 0.0 P100 : 0.0 COUNT : 0 SUM : 0
rocksdb.compaction.times.micros P50 : 1.0 P95 : 2.0 P99 : 2.0 P100 : 2.0 COUNT : 4 SUM : 8000
"""
    assert statistics_in(text) == {"write-stall-duration-total": 2.5, "compaction-time-avg": 2.0}
