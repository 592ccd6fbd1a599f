"""Sessions that are written and read as batches."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.windows.windowed import Window, Windowed
from penstock.state.layers.bulk_sessions import BulkSessions
from penstock.state.session import segmented_session
from penstock.state.window.window_keys import session_keys
from tests.state.kinds import Bench, session
from tests.state.kit import Forwarded

#: Key, start, end, value. The last sessions hide the first ones and then drop their segment.
ROWS = [
    (b"a", 0, 10, b"1"), (b"b", 5, 5, b"2"), (b"a", 30, 40, b"3"), (b"b", 5, 5, None),
    (b"c", 100, 120, b"4"), (b"a", 12, 21, b"5"), (b"c", 300, 300, b"6"), (b"a", 150, 151, b"7"),
]  # fmt: skip
Rows = list[tuple[bytes, int, int, bytes | None]]


BOTH = pytest.mark.parametrize("persistent", [True, False], ids=["on disk", "in memory"])


def bench(**fields: Any) -> tuple[Bench, BulkSessions]:
    made = Bench(session(**fields), cache_bytes=10_000)
    assert isinstance(made.store.bulk, BulkSessions)
    return made, made.store.bulk


def write(rows: BulkSessions, given: Rows) -> None:
    keys, starts, ends, values = ([*column] for column in zip(*given, strict=True))
    rows.write(session_keys(keys, starts, ends), ends, values, ends)


def at(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, Window(start, end))


@BOTH
def test_batch_writes_what_single_puts_write(*, persistent: bool) -> None:
    """The same sessions and changelog, also of those that have expired."""
    (one, _), (other, rows) = bench(persistent=persistent), bench(persistent=persistent)
    for key, start, end, value in ROWS:
        one.task.at(end)
        one.store.put(at(key.decode(), start, end), value and value.decode())
    write(rows, ROWS)
    assert other.logged == one.logged
    assert other.dropped == one.dropped
    everything = [[*each.store.fetch_range(None, None)] for each in (one, other)]
    assert everything[1] == everything[0] == [(at("c", 300, 300), "6")]
    one.store.flush()
    other.store.flush()
    assert [*other.engine.scan(None, None)] == [*one.engine.scan(None, None)]
    assert rows.stream_time == 300
    assert rows.oldest_readable(300) == 201


@BOTH
@pytest.mark.parametrize("scanned", [0, 100], ids=["key by key", "all keys"])
def test_sessions_of_some_keys_are_found(
    scanned: int, monkeypatch: pytest.MonkeyPatch, *, persistent: bool
) -> None:
    """Those that end late enough, and that the store does not hide."""
    monkeypatch.setattr(segmented_session, "_SCANNED_PER_KEY", scanned)
    _, rows = bench(persistent=persistent)
    write(rows, ROWS[:4])
    assert sorted(rows.read({b"a", b"b"}, 0)) == [(b"a", 0, 10, b"1"), (b"a", 30, 40, b"3")]
    assert rows.read({b"a"}, 11) == [(b"a", 30, 40, b"3")]
    assert rows.read(set(), 0) == []
    write(rows, ROWS[4:5])
    assert sorted(rows.read({b"a", b"c"}, 0)) == [(b"a", 30, 40, b"3"), (b"c", 100, 120, b"4")]
    assert rows.read_hidden({b"a", b"c"}, 0) == []


@BOTH
def test_cache_shows_what_a_batch_has_written_past_it(*, persistent: bool) -> None:
    """As after a flush: also sessions that the store hides, but none that were removed."""
    made, rows = bench(caching=True, persistent=persistent)
    Forwarded(made.task)
    assert rows.is_cached
    write(rows, ROWS[:3])
    write(rows, ROWS[3:5])
    assert rows.is_settled
    assert rows.read({b"a"}, 0) == [(b"a", 30, 40, b"3")]
    assert rows.read_hidden({b"a", b"b"}, 0) == [(b"a", 0, 10, b"1")]
    assert rows.read_hidden({b"a"}, 11) == []
    assert [*made.store.fetch("a")] == [(at("a", 0, 10), "1"), (at("a", 30, 40), "3")]
    assert made.store.fetch_session("b", 5, 5) is None
    rows.forget(session_keys([b"a"], [0], [10]), [10])
    assert [*made.store.fetch("a")] == [(at("a", 30, 40), "3")]


def test_single_writes_come_after_those_of_a_batch() -> None:
    """A put would be lost if the cache took the older batch after it."""
    made, rows = bench(caching=True)
    forwarded = Forwarded(made.task)
    made.store.set_flush_listener(forwarded, send_old=True)
    write(rows, ROWS[:3])
    made.store.put(at("a", 0, 10), "new")
    assert not rows.is_settled
    assert [*made.store.fetch("a")] == [(at("a", 0, 10), "new"), (at("a", 30, 40), "3")]
    made.store.flush()
    assert forwarded.changes == [(at("a", 0, 10), "new", "1")]


def test_cache_keeps_the_newest_batches_within_its_limit() -> None:
    """Older ones would have been evicted, and the cache has no room for them."""
    made, rows = bench(caching=True)
    large = b"x" * 4_000
    for key in (b"a", b"b", b"c"):
        write(rows, [(key, 0, 10, large)])
    write(rows, [(b"d", 100, 120, large)])
    assert len(made.store._cached._flushed) == 3
    assert rows.read_hidden({b"a", b"b", b"c", b"d"}, 0) == [(b"c", 0, 10, large)]


def test_handed_off_session_waits_in_the_cache() -> None:
    made, rows = bench(caching=True)
    rows.hold(b"a", 0, 10, b"1")
    assert not rows.is_settled
    assert made.store.fetch_session("a", 0, 10) == "1"


def test_stores_of_final_results_write_batches_as_single_puts() -> None:
    """The same sessions by their ends, of which a dropped segment has none."""
    (one, single), (other, rows) = bench(time_ordered=True), bench(time_ordered=True)
    for key, start, end, value in ROWS:
        one.task.at(end)
        one.store.put(at(key.decode(), start, end), value and value.decode())
    write(rows, ROWS)
    assert other.logged == one.logged
    assert other.dropped == one.dropped
    assert [*other.engine.scan(None, None)] == [*one.engine.scan(None, None)]
    assert [*rows.ending(0, 400)] == [*single.ending(0, 400)]
    assert all(end >= rows.oldest_kept(rows.stream_time) for _, _, end, _ in rows.ending(0, 400))
    assert rows.read({b"c"}, 0) == [(b"c", 300, 300, b"6")]
