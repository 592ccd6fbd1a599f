"""The store of outer joins: order, several values per key, and Java's changelog."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidStateError, NullArgumentError
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import Bench
from tests.state.kit import Forwarded

SPEC = StoreSpec(name="store", kind=StoreKind.OUTER_JOIN, persistent=False)


def test_changelog_has_the_bytes_of_kafka_streams() -> None:
    """Recorded from an outer join on Kafka Streams 4.1: the whole list with every put."""
    bench = Bench(SPEC)
    bench.task.at(5)
    bench.store.put((5, True, "k"), (True, "v1"))
    bench.store.put((5, True, "k"), (True, "v2"))
    bench.store.put((5, False, "x"), (False, "w"))
    bench.task.at(100)
    bench.store.put((5, True, "k"), None)
    assert [(key.hex(), value and value.hex(), time) for key, value, time in bench.logged] == [
        ("0000000000000005016b", "010000000100000003017631", 5),
        ("0000000000000005016b", "01000000020000000301763100000003017632", 5),
        ("00000000000000050078", "0100000001000000020077", 5),
        ("0000000000000005016b", None, 100),
    ]


def test_entries_come_by_time_then_right_before_left_then_key() -> None:
    """The join relies on it: a side is done at its first open window."""
    store = Bench(SPEC).store
    for key in [(2, True, "a"), (1, True, "a"), (1, False, "b"), (1, True, "A"), (1, False, "a")]:
        store.put(key, (key[1], "v"))
    assert [tuple(key) for key, _ in store.all()] == [
        (1, False, "a"), (1, False, "b"), (1, True, "A"), (1, True, "a"), (2, True, "a"),
    ]  # fmt: skip
    entry, value = next(store.all())
    assert (entry.timestamp, entry.is_left, entry.key) == (1, False, "a")
    assert (value.is_left, value.value) == (False, "v")


def test_each_side_has_its_own_value_serde() -> None:
    """The left side's is the store's, the right side's comes beside it."""
    spec = StoreSpec(
        name="store",
        kind=StoreKind.OUTER_JOIN,
        value_serde=Serdes.string(),
        other_value_serde=Serdes.long(),
    )
    store = Bench(spec).store
    store.put((1, True, "k"), (True, "text"))
    store.put((1, False, "k"), (False, 42))
    assert [value for _, value in store.all()] == [(False, 42), (True, "text")]


def test_delete_if_present_logs_nothing_for_a_key_without_values() -> None:
    """Most records find a partner that never waited."""
    bench = Bench(SPEC)
    bench.store.put((1, True, "k"), (True, "v"))
    bench.store.delete_if_present((2, True, "k"))
    bench.store.delete_if_present((1, True, "k"))
    assert [value is None for _, value, _ in bench.logged] == [False, True]
    assert bench.store.approximate_num_entries() == 0


def test_entries_can_be_deleted_while_they_are_read() -> None:
    """The iterator sees the moment it began."""
    store = Bench(SPEC).store
    for number in range(100):
        store.put((number, True, "k"), (True, "v"))
    for key, _ in store.all():
        store.put(key, None)
    assert list(store.all()) == []


def test_null_key_and_use_after_close_are_refused() -> None:
    """It is never cached."""
    bench = Bench(SPEC)
    assert not bench.store.set_flush_listener(Forwarded(bench.task), send_old=False)
    with pytest.raises(NullArgumentError):
        bench.store.put((1, True, None), (True, "v"))
    bench.store.close()
    assert not bench.store.is_open
    with pytest.raises(InvalidStateError):
        bench.store.all()
