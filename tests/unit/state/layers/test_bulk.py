"""Records of joined streams that are written and read as batches."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.state.layers.bulk import BulkDuplicates
from penstock.state.window import segmented_window
from penstock.state.window.window_keys import MAX_SEQUENCE
from tests.state.kinds import Bench, window

ROWS = [
    (b"a", b"1", 10), (b"b", b"2", 10), (b"a", None, 20), (b"a", b"3", 10), (b"c", b"4", 5),
    (b"a", b"5", 400_000), (b"a", b"6", 1), (b"b", b"7", 400_000),
]  # fmt: skip


def bench(*, persistent: bool = True) -> tuple[Bench, BulkDuplicates]:
    made = Bench(window(retain_duplicates=True, persistent=persistent, retention_ms=60_000))
    assert isinstance(made.store.bulk, BulkDuplicates)
    return made, made.store.bulk


@pytest.mark.parametrize("sequence", [0, MAX_SEQUENCE - 3], ids=["first", "wrapping"])
def test_batch_writes_what_single_puts_write(sequence: int) -> None:
    """The same entries and changelog: sequence numbers, expired records, and values of None."""
    (one, _), (other, rows) = bench(), bench()
    for each in (one, other):
        each.store._bytes._inner._segments.sequence = sequence
    for key, value, time in ROWS:
        one.task.at(time)
        one.store.put(key.decode(), None if value is None else value.decode(), time)
    columns: Any = [[*column] for column in zip(*ROWS, strict=True)]
    rows.write(*columns)
    assert other.logged == one.logged
    assert [*other.store.all()] == [*one.store.all()]
    assert rows.stream_time == 400_000
    assert rows.oldest_readable(400_000) == 340_001


def test_batch_in_memory_writes_what_single_puts_write() -> None:
    """Each entry expires by itself, and a value of None advances the time."""
    (one, _), (other, rows) = bench(persistent=False), bench(persistent=False)
    rows_of_both = [*ROWS, (b"d", None, 460_000), (b"d", b"8", 400_001), (b"d", b"9", 400_000)]
    for key, value, time in rows_of_both:
        one.task.at(time)
        one.store.put(key.decode(), None if value is None else value.decode(), time)
    columns: Any = [[*column] for column in zip(*rows_of_both, strict=True)]
    rows.write(*columns)
    assert other.logged == one.logged
    assert [*other.store.all()] == [*one.store.all()] != []
    assert rows.none_advances
    assert rows.stream_time == 460_000
    assert rows.oldest_readable(460_000) == 400_001
    assert rows.read({b"d"}, 0, 500_000) == [(b"d", 400_001, b"8")]


@pytest.mark.parametrize("scanned", [0, 100], ids=["key by key", "all keys"])
def test_records_of_some_keys_are_found_in_the_order_of_each_key(
    scanned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By time, and then as they were written."""
    monkeypatch.setattr(segmented_window, "_SCANNED_PER_KEY", scanned)
    _, rows = bench()
    columns: Any = [[*column] for column in zip(*ROWS[:5], strict=True)]
    rows.write(*columns)
    found = rows.read({b"a", b"c"}, 5, 10)
    assert [each for each in found if each[0] == b"a"] == [(b"a", 10, b"1"), (b"a", 10, b"3")]
    assert [each for each in found if each[0] != b"a"] == [(b"c", 5, b"4")]
    assert rows.read({b"a"}, 11, 99) == []
    assert rows.read(set(), 0, 99) == []
