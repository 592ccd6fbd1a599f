"""Window stores as processors see them: the commands and results of recorded Java runs.

Exercises ``memory_window``, ``segmented_window`` and ``window_bytes``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import InvalidStateError, NullArgumentError, SerializationError
from penstock.model.time.duration import MAX_LONG
from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.windowed import Window, Windowed
from penstock.state.spec import StoreKind
from tests.state.kinds import Bench, window

BOTH = pytest.mark.parametrize("persistent", [False, True])


def at(key: str, start: int) -> Windowed[str]:
    return Windowed(key, Window(start, start + 10))


def filled(**fields: Any) -> Bench:
    bench = Bench(window(**fields))
    for key, value, start in [("a", "1", 0), ("a", "2", 10), ("b", "3", 10), ("a", "4", 5)]:
        bench.store.put(key, value, start)
    return bench


@BOTH
def test_fetch_gives_the_windows_that_start_in_the_span(persistent: bool) -> None:
    """Both ends are included; a single time gives a single value."""
    store = filled(persistent=persistent).store
    assert (store.fetch("a", 5), store.fetch("a", 6)) == ("4", None)
    assert list(store.fetch("a", 0, 10)) == [(0, "1"), (5, "4"), (10, "2")]
    assert list(store.fetch("a", 1, 9)) == [(5, "4")]
    assert list(store.backward_fetch("a", 0, 100)) == [(10, "2"), (5, "4"), (0, "1")]


@BOTH
def test_fetch_range_takes_open_and_closed_bounds(persistent: bool) -> None:
    """None is open; the keys of both bounds belong to the range."""
    store = filled(persistent=persistent).store
    a = [(at("a", 0), "1"), (at("a", 5), "4"), (at("a", 10), "2")]
    everything = [*a, (at("b", 10), "3")]
    assert list(store.fetch_range("a", "b", 0, 100)) == everything
    assert list(store.fetch_range(None, "a", 0, 100)) == a
    assert list(store.fetch_range("b", None, 0, 100)) == everything[3:]
    assert list(store.backward_fetch_range("a", None, 0, 100)) == everything[::-1]
    assert list(store.fetch_range("b", "a", 0, 100)) == []
    assert list(store.fetch_all(5, 10)) == everything[1:]
    assert list(store.backward_all()) == everything[::-1]


@BOTH
def test_what_is_older_than_retention_is_hidden(persistent: bool) -> None:
    """A window is readable until stream time is its start plus the retention."""
    bench = filled(persistent=persistent)
    bench.store.put("c", "new", 104)
    assert bench.store.fetch("a", 5) == "4"
    bench.store.put("c", "new", 105)
    assert bench.store.fetch("a", 5) is None
    assert list(bench.store.fetch("a", 0, 200)) == [(10, "2")]
    assert [key for key, _ in bench.store.all()] == [
        at("a", 10), at("b", 10), at("c", 104), at("c", 105),
    ]  # fmt: skip


def test_expired_put_is_dropped_window_by_window_in_memory_and_by_segment_on_disk() -> None:
    """The store says so through the environment; the changelog gets the record all the same."""
    for persistent, oldest_taken in [(False, 101), (True, 100)]:
        bench = Bench(window(persistent=persistent))
        bench.store.put("a", "x", 200)
        bench.store.put("a", "x", oldest_taken)
        assert bench.dropped == 0
        bench.store.put("a", "x", oldest_taken - 1)
        assert bench.dropped == 1
        assert len(bench.logged) == 3


def test_time_ordered_store_shows_one_millisecond_more_in_order_of_time() -> None:
    """Final results of windows that close at this very moment must still be found."""
    bench = Bench(window(time_ordered=True))
    for key, start in [("b", 5), ("a", 6), ("a", 5), ("c", 105)]:
        bench.store.put(key, "x", start)
    found = [key for key, _ in bench.store.fetch_all(0, 50)]
    assert found == [at("a", 5), at("b", 5), at("a", 6)]
    assert bench.store.fetch("b", 5) == "x"
    bench.store.put("c", "x", 106)
    assert [key for key, _ in bench.store.fetch_all(0, 50)] == [at("a", 6)]


@BOTH
def test_none_deletes(persistent: bool) -> None:
    """A put of None is the window's tombstone."""
    bench = filled(persistent=persistent)
    bench.store.put("a", None, 5)
    assert list(bench.store.fetch("a", 0, 10)) == [(0, "1"), (10, "2")]
    assert bench.logged[-1] == (b"a" + (5).to_bytes(8, "big") + bytes(4), None, 0)


def test_duplicates_are_kept_in_the_order_of_their_puts() -> None:
    """Joins need every record; the order among keys is the store's own."""
    orders = {
        True: [at("a", 5), at("a", 5), at("a", 6), at("b", 5)],
        False: [at("a", 5), at("a", 5), at("b", 5), at("a", 6)],
    }
    for persistent, order in orders.items():
        bench = Bench(window(persistent=persistent, retain_duplicates=True))
        for key, value, start in [("a", "1", 5), ("a", "2", 5), ("b", "3", 5), ("a", "4", 6)]:
            bench.store.put(key, value, start)
        bench.store.put("a", None, 5)
        assert list(bench.store.fetch("a", 0, 100)) == [(5, "1"), (5, "2"), (6, "4")]
        assert list(bench.store.backward_fetch("a", 0, 100)) == [(6, "4"), (5, "2"), (5, "1")]
        assert [key for key, _ in bench.store.all()] == order
        assert [key[-1] for key, _, _ in bench.logged] == [1, 2, 3, 4, 5]


@BOTH
def test_keys_that_begin_alike_do_not_leak_into_each_other(persistent: bool) -> None:
    """A longer key's bytes can look like a shorter key's time."""
    bench = Bench(window(persistent=persistent, retention_ms=10**6))
    for key in ["a", "a\0", "a\0\0\0\0\0\0\0\0", "ab", "b"]:
        bench.store.put(key, key, 0)
        bench.store.put(key, key, 98)
    for key in ["a", "a\0", "a\0\0\0\0\0\0\0\0", "ab", "b"]:
        assert list(bench.store.fetch(key, 0, MAX_LONG)) == [(0, key), (98, key)]


@BOTH
@pytest.mark.parametrize("caching", [False, True])
def test_range_has_every_key_up_to_its_bound(persistent: bool, caching: bool) -> None:
    """Also the shorter ones that a zero byte separates from the bound, and the empty one."""
    bench = Bench(window(persistent=persistent, caching=caching), cache_bytes=10_000)
    for key in ["", "a", "a\0", "b"]:
        bench.store.put(key, key, 187)
    bench.store.put("z", "z", 268)
    found = bench.store.fetch_range(None, "a\0", 163, 268)
    assert sorted(value for _, value in found) == ["", "a", "a\0"]
    assert len(list(bench.store.fetch_range("a", "a\0", 163, MAX_LONG))) == 2


def test_timestamped_store_logs_the_value_without_its_time() -> None:
    """The changelog record carries the time instead, as in Kafka Streams."""
    bench = Bench(window(kind=StoreKind.TIMESTAMPED_WINDOW))
    bench.task.at(50)
    bench.store.put("a", ValueAndTimestamp("x", 33), 30)
    bench.store.put("a", None, 30)
    key = b"a" + (30).to_bytes(8, "big") + bytes(4)
    assert bench.logged == [(key, b"x", 33), (key, None, 50)]
    bench.store.restore([(key, b"y", 44)])
    assert bench.store.fetch("a", 30) == ValueAndTimestamp("y", 44)


def test_store_without_logging_has_no_changelog() -> None:
    """Logging is a layer of its own."""
    bench = Bench(window(logging=False))
    bench.store.put("a", "x", 0)
    assert bench.logged == []


def test_null_key_and_unfit_value_are_refused_with_the_store_s_name() -> None:
    """Nothing is written then."""
    bench = Bench(window())
    with pytest.raises(NullArgumentError, match="store 'store': the key is None"):
        bench.store.put(None, "x", 0)
    with pytest.raises(NullArgumentError):
        bench.store.fetch(None, 0)
    with pytest.raises(SerializationError, match="store 'store'"):
        bench.store.put("a", 5, 0)
    assert bench.physical_entries() == 0


def test_closed_store_refuses_reads_and_writes() -> None:
    """Also when it was empty, and whatever it is made of."""
    for fields in [{}, {"persistent": False}, {"time_ordered": True}]:
        bench = Bench(window(**fields))
        assert bench.store.is_open
        bench.store.close()
        bench.store.close()
        assert not bench.store.is_open
        with pytest.raises(InvalidStateError, match="store 'store' is closed"):
            bench.store.all()
        with pytest.raises(InvalidStateError, match="store 'store' is closed"):
            bench.store.fetch("a", 0)


def test_iterator_shows_the_next_key_and_can_be_closed() -> None:
    """Iterators are context managers, as those of every store."""
    with filled().store.fetch("a", 0, 10) as windows:
        assert windows.peek_next_key() == 0
        assert next(windows) == (0, "1")
        assert windows.peek_next_key() == 5


@pytest.mark.parametrize("persistent", [True, False], ids=["on disk", "in memory"])
def test_batch_of_windows_is_read_and_written_as_single_windows(*, persistent: bool) -> None:
    """The same rows and changelog; a window that has expired is written by neither."""
    fields: Any = {"persistent": persistent, "kind": StoreKind.TIMESTAMPED_WINDOW}
    one, other = Bench(window(**fields)), Bench(window(**fields))
    given = [("a", 0, "1"), ("b", 40, "2"), ("a", 200, "3"), ("c", 10, "4"), ("b", 190, "5")]
    for key, start, value in given:
        one.task.at(start)
        one.store.put(key, ValueAndTimestamp(value, start), start)
    rows = other.store.bulk
    starts = [start for _, start, _ in given]
    keys = rows.window_keys([key.encode() for key, _, _ in given], starts)
    values = [value.encode() for _, _, value in given]
    written = [
        start.to_bytes(8, "big") + value for start, value in zip(starts, values, strict=True)
    ]
    assert rows.keeps(0, 99)
    assert not rows.keeps(0, 100)
    assert rows.read(keys, starts) == [None] * 5
    rows.write(keys, starts, written, starts, values)
    assert other.logged == one.logged
    assert other.dropped == one.dropped == 1
    assert [*other.store.all()] == [*one.store.all()]
    assert rows.read(keys, starts) == [None, None, written[2], None, written[4]]
    assert not rows.keeps(100, 150)
    assert rows.keeps(101, 150)
