"""Rows of key-value stores that expire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Stores, ValueAndTimestamp, ValueTimestampHeaders
from penstock.errors import InvalidArgumentError
from penstock.state import expiring
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kit import Task, kv


class Aging:
    """A store with a ttl of 100 ms, and the clock that it ages by."""

    def __init__(self, spec: StoreSpec, *, by_wall_clock: bool = False, cache: bool = False):
        self.task = Task(100_000 if cache else None)
        self.now = 0
        if by_wall_clock:
            self.task.env.wall_clock = lambda: self.now
        else:
            self.task.env.stream_time = lambda: self.now
        spec = spec.with_ttl(100, by_wall_clock=by_wall_clock)
        self.store: Any = open_store(spec.with_caching_enabled() if cache else spec, self.task.env)

    def at(self, now: int, record: int | None = None) -> Any:
        """Moves the clock, and the record that is being processed."""
        self.now = now
        self.task.at(now if record is None else record)
        return self.store

    @property
    def logged(self) -> list[tuple[bytes, bytes | None, int]]:
        return self.task.logs["store"].records


@pytest.mark.parametrize("cache", [False, True])
def test_row_is_hidden_at_its_expiry_and_deleted_at_the_next_commit(cache: bool) -> None:
    """Visible until the last millisecond; the tombstone takes it out of the changelog."""
    aging = Aging(kv(), cache=cache)
    aging.at(50).put("a", "v")
    store = aging.at(149)
    store.flush()
    assert store.get("a") == "v"
    store = aging.at(150)
    assert store.get("a") is None
    assert "a" not in store
    assert list(store.all()) == list(store.range("a", "b")) == list(store) == []
    assert aging.logged == [(b"a", b"v", 50)]
    store.flush()
    assert aging.logged[1:] == [(b"a", None, 150)]
    assert store.approximate_num_entries() == 0


def test_writing_a_row_again_gives_it_a_new_life() -> None:
    """It ages from its last write."""
    aging = Aging(kv())
    aging.at(0).put("a", "v")
    aging.at(90).put("a", "w")
    store = aging.at(189)
    store.flush()
    assert store.get("a") == "w"
    assert aging.at(190).get("a") is None


def test_expired_row_counts_as_absent() -> None:
    """For what asks before it writes, too."""
    aging = Aging(kv())
    aging.at(0).put("a", "v")
    store = aging.at(100)
    assert store.delete("a") is None
    store.put("b", "x")
    assert aging.at(250).put_if_absent("b", "y") is None
    assert store["b"] == "y"


def test_plain_row_has_the_time_of_the_record_that_wrote_it() -> None:
    """A late record writes an old row: stream time decides, not the moment of the write."""
    aging = Aging(kv())
    aging.at(120, record=30).put("late", "v")
    assert aging.store.get("late") == "v"
    assert aging.at(130).get("late") is None


def test_timestamped_row_ages_by_its_own_timestamp() -> None:
    """With and without headers."""
    for spec, row in (
        (kv(kind=StoreKind.TIMESTAMPED_KEY_VALUE), ValueAndTimestamp("v", 20)),
        (
            Stores.timestamped_key_value_store_with_headers_builder(
                Stores.in_memory_key_value_store("store")
            ),
            ValueTimestampHeaders("v", 20, (("name", b"x" * 200),)),
        ),
    ):
        aging = Aging(spec)
        aging.at(50).put("a", row)
        assert aging.at(119).get("a") == row
        aging.at(120).flush()
        assert aging.store.get("a") is None
        assert [value for _, value, _ in aging.logged] == [b"v", None]


def test_wall_clock_needs_no_records() -> None:
    """Rows age from the moment of their write, whatever the records' times are."""
    aging = Aging(kv(), by_wall_clock=True)
    aging.at(1_000, record=5).put("a", "v")
    assert aging.at(1_099, record=5).get("a") == "v"
    assert aging.at(1_100, record=5).get("a") is None


@pytest.mark.parametrize("by_wall_clock", [False, True])
def test_restored_row_keeps_its_age(by_wall_clock: bool) -> None:
    """The changelog record has the time that the row ages from."""
    aging = Aging(kv(), by_wall_clock=by_wall_clock)
    aging.at(40).put("a", "v")
    again = Aging(kv(), by_wall_clock=by_wall_clock)
    again.store.restore(aging.logged)
    assert again.at(139).get("a") == "v"
    assert again.at(140).get("a") is None
    again.store.flush()
    assert [value for _, value, _ in again.logged] == [None]


def test_large_store_is_swept_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No commit pays for all rows; after a few of them all that have expired are gone."""
    monkeypatch.setattr(expiring, "_LOOKED_AT", 10)
    aging = Aging(kv())
    store = aging.at(0)
    for number in range(25):
        store.put(f"{number:02}", "v")
    aging.at(60).put("24", "younger")
    aging.at(100)
    deleted = []
    for _ in range(3):
        before = len(aging.logged)
        store.flush()
        deleted.append(len(aging.logged) - before)
    assert deleted == [10, 10, 4]
    assert list(store) == ["24"]


def test_commit_does_nothing_while_no_row_can_have_expired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After one look at all rows the store knows when the first of them is due."""
    aging = Aging(kv())
    aging.at(0).put("a", "v")
    aging.at(10).flush()
    monkeypatch.setattr(expiring.Expiring, "_expiry", None)
    aging.at(99).flush()
    monkeypatch.undo()
    aging.at(100).flush()
    assert aging.logged[-1] == (b"a", None, 100)


steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "delete", "flush", "read"]),
        st.sampled_from("abcdef"),
        st.integers(0, 60),
        st.integers(0, 120),
    ),
    max_size=40,
)


@given(steps=steps, cache=st.booleans(), looked_at=st.integers(1, 4))
def test_readers_see_what_a_dict_of_times_says(
    steps: list[tuple[str, str, int, int]], cache: bool, looked_at: int
) -> None:
    """Whenever commits happen, however many rows they look at, and however late records are."""
    aging = Aging(kv(), cache=cache)
    known: dict[str, tuple[str, int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expiring, "_LOOKED_AT", looked_at)
        for number, (step, key, passed, late) in enumerate(steps):
            record = max(aging.now + passed - late, 0)
            store = aging.at(aging.now + passed, record=record)
            if step == "put":
                store.put(key, str(number))
                known[key] = str(number), record
            elif step == "delete":
                store.delete(key)
                known.pop(key, None)
            elif step == "flush":
                store.flush()
            alive = {k: value for k, (value, at) in known.items() if at + 100 > aging.now}
            assert dict(store.all()) == alive
            assert store.get(key) == alive.get(key)


@pytest.mark.parametrize("ttl", [0, "0s", -5])
def test_ttl_below_a_millisecond_is_refused(ttl: Any) -> None:
    """Nothing would ever be there."""
    with pytest.raises(InvalidArgumentError, match="shorter than 1 ms"):
        kv().with_ttl(ttl)


def test_other_kinds_of_stores_have_no_ttl() -> None:
    """They have a retention, which the error names."""
    supplier = Stores.persistent_window_store("windows", "1h", "1m")
    with pytest.raises(InvalidArgumentError, match="only rows of key-value stores"):
        Stores.window_store_builder(supplier).with_ttl("1h")


def test_plain_rows_that_expire_have_a_folder_of_their_own() -> None:
    """Rows without a timestamp are not misread; timestamped rows stay as they are."""
    assert kv().with_ttl("1h").folder == "store.ttl"
    assert kv(kind=StoreKind.TIMESTAMPED_KEY_VALUE).with_ttl("1h").folder == "store"
