"""Typed key-value stores: serdes, errors and what Python's map syntax means.

Exercises ``state.codec`` and ``engine.closed``.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.errors import (
    ConfigError,
    InvalidArgumentError,
    InvalidStateError,
    NullArgumentError,
    SerializationError,
    StreamsError,
)
from penstock.model.record import Headers
from penstock.model.versioned import ValueAndTimestamp
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.state.spec import StoreKind
from tests.state.kit import Task, kv

TIMESTAMPED = StoreKind.TIMESTAMPED_KEY_VALUE


def open_filled() -> Any:
    store = Task().open(kv(value_serde=Serdes.long()))
    store.put_all([("a", 1), ("b", 2), ("c", 3), ("ca", 4)])
    return store


class Nothing(Serde[str]):
    """Writes nothing at all, as a serializer may."""

    def encode(self, value: str) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> str:
        return data.decode()

    def serialize(self, topic: str, value: str | None, headers: Headers = ()) -> bytes | None:
        return None


class TopicSerde(Serde[str]):
    """Puts the topic in front."""

    def encode(self, value: str) -> bytes:
        return value.encode()

    def decode(self, data: bytes) -> str:
        return data.decode()

    def serialize(self, topic: str, value: str | None, headers: Headers = ()) -> bytes | None:
        return f"{topic}:{value}".encode()

    def deserialize(self, topic: str, data: bytes | None, headers: Headers = ()) -> str | None:
        return None if data is None else data.decode().removeprefix(f"{topic}:")


def test_map_syntax_reads_writes_and_deletes() -> None:
    """A store reads like a dict, with KeyError for what is absent."""
    store = open_filled()
    store["d"] = 5
    assert store["d"] == 5
    assert "d" in store
    del store["d"]
    assert "d" not in store
    with pytest.raises(KeyError):
        store["d"]
    with pytest.raises(KeyError):
        del store["d"]
    assert list(store) == ["a", "b", "c", "ca"]


def test_put_if_absent_and_delete_give_the_old_value() -> None:
    """None says that there was none."""
    store = open_filled()
    assert store.put_if_absent("a", 9) == 1
    assert store.put_if_absent("z", 9) is None
    assert store.delete("a") == 1
    assert store.delete("a") is None
    assert [store.get("a"), store.get("z")] == [None, 9]


def test_ranges_include_both_bounds() -> None:
    """None is open; order is that of the key's bytes."""
    store = open_filled()
    assert list(store.range("b", "c")) == [("b", 2), ("c", 3)]
    assert list(store.reverse_range("b", "c")) == [("c", 3), ("b", 2)]
    assert list(store.range(None, "a")) == [("a", 1)]
    assert list(store.range("ca", None)) == [("ca", 4)]
    assert [key for key, _ in store.reverse_all()] == ["ca", "c", "b", "a"]


def test_range_the_wrong_way_round_is_empty_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    """Not an error: serdes of numbers do not keep the order of negative ones."""
    store = open_filled()
    with caplog.at_level(logging.WARNING), store.range("c", "a") as found:
        assert list(found) == []
    assert "'c' to 'a' is empty" in caplog.text


@pytest.mark.parametrize("serializer", [Serdes.string(), str.encode])
def test_prefix_scan_takes_a_serde_or_a_function(serializer: object) -> None:
    """The prefix may have another type than the key."""
    assert list(open_filled().prefix_scan("c", serializer)) == [("c", 3), ("ca", 4)]


def test_prefix_scan_of_the_highest_bytes_has_no_end() -> None:
    """Nothing comes after 0xff, so the range is open."""
    store = Task().open(kv(key_serde=Serdes.bytes()))
    store.put_all([(b"\xfe", "1"), (b"\xff", "2"), (b"\xff\xff\x01", "3")])
    assert [key for key, _ in store.prefix_scan(b"\xff", bytes)] == [b"\xff", b"\xff\xff\x01"]
    assert [key for key, _ in store.prefix_scan(b"\xff\xff", bytes)] == [b"\xff\xff\x01"]
    assert len(list(store.prefix_scan(b"", bytes))) == 3


def test_bad_prefix_is_refused() -> None:
    """The error names the store and what was given."""
    store = open_filled()
    with pytest.raises(NullArgumentError):
        store.prefix_scan(None, Serdes.string())
    with pytest.raises(NullArgumentError):
        store.prefix_scan("a", None)
    with pytest.raises(InvalidArgumentError, match="bad-prefix"):
        store.prefix_scan(7, Serdes.string())


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get(None),
        lambda store: store.put(None, 1),
        lambda store: store.put_if_absent(None, 1),
        lambda store: store.put_all([("x", 1), (None, 1)]),
        lambda store: store.delete(None),
        lambda store: store[None],
        lambda store: None in store,
    ],
)
def test_null_key_is_refused(call: Any) -> None:
    """And nothing is written, not even the good part of put_all."""
    store = open_filled()
    with pytest.raises(NullArgumentError, match="store 'store': the key is None"):
        call(store)
    assert store.get("x") is None


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get("a"),
        lambda store: store.put("a", 1),
        lambda store: store.put_all([("a", 1)]),
        lambda store: store.delete("a"),
        lambda store: store.all(),
        lambda store: store.range("a", "b"),
        lambda store: store.prefix_scan("a", str.encode),
        lambda store: list(store),
        lambda store: store.approximate_num_entries(),
    ],
)
def test_closed_store_refuses_every_call(call: Any) -> None:
    """Also through a method that was taken before."""
    store = open_filled()
    get = store.get
    store.close()
    store.close()
    store.flush()
    assert not store.is_open
    with pytest.raises(InvalidStateError, match="store 'store' is closed"):
        call(store)
    with pytest.raises(InvalidStateError):
        get("a")


def test_value_that_does_not_fit_names_store_part_type_and_serde() -> None:
    """The error says what to change."""
    store = open_filled()
    with pytest.raises(SerializationError) as caught:
        store.put("a", "text")
    message = str(caught.value)
    for part in ("'store'", "value 'text'", "'str'", "LongSerde", "serde of values"):
        assert part in message
    with pytest.raises(SerializationError, match="key 5 of type 'int' does not fit StringSerde"):
        store.get(5)
    with pytest.raises(SerializationError, match="key 5"):
        store.put(5, 1)
    assert store.get("a") == 1


def test_bytes_of_another_serde_name_store_and_serde() -> None:
    """A store opened with the wrong serde says so at the first read."""
    store = Task().open(kv(key_serde=Serdes.long(), value_serde=Serdes.long()))
    store.restore([(b"12345678", b"text", 0), (b"short", b"12345678", 0)])
    with pytest.raises(SerializationError, match="value of 4 bytes b'text' cannot be read"):
        store.get(int.from_bytes(b"12345678", "big"))
    with pytest.raises(SerializationError, match="value of 4 bytes"):
        next(store.all())
    with pytest.raises(SerializationError, match="key of 5 bytes"):
        next(store.reverse_all())


def test_timestamped_store_says_what_it_takes() -> None:
    """A bare value is the usual mistake."""
    store = Task().open(kv(kind=TIMESTAMPED))
    for wrong in ("x", 7, "abc", ("x", "y")):
        with pytest.raises(SerializationError, match="store-serde-mismatch"):
            store.put("a", wrong)
    with pytest.raises(SerializationError, match=r"ValueAndTimestamp\(value, timestamp\)"):
        store.put("a", "x")


def test_timestamped_value_of_none_deletes() -> None:
    """As ValueAndTimestamp.make does in Java."""
    store = Task().open(kv(kind=TIMESTAMPED))
    store.put("a", ValueAndTimestamp("x", 3))
    assert store.get("a") == ValueAndTimestamp("x", 3)
    assert isinstance(store.get("a"), ValueAndTimestamp)
    store.put("a", ValueAndTimestamp(None, 4))
    assert store.get("a") is None


@pytest.mark.parametrize(("part", "defaults"), [("key", {}), ("value", {"key": Serdes.string()})])
def test_missing_serde_names_the_store_and_the_setting(
    part: str, defaults: dict[str, Serde[Any]]
) -> None:
    """Found when the store is opened, before any record is lost."""
    task = Task()
    task.env.defaults = SerdeDefaults(**defaults)
    with pytest.raises(StreamsError, match=f"store 'store' has no {part} serde") as caught:
        task.open(kv())
    assert caught.value.code == "missing-serde"
    assert f"default.{part}.serde" in (caught.value.fix or "")
    assert isinstance(caught.value.__cause__, ConfigError)


def test_serde_that_needs_the_topic_gets_it() -> None:
    """A schema registry files schemas under the changelog's name."""
    task = Task()
    store = task.open(kv(key_serde=TopicSerde(), value_serde=TopicSerde()))
    store.put("k", "v")
    assert store.get("k") == "v"
    assert list(store.all()) == [("k", "v")]
    assert task.logs["store"].records == [(b"store-changelog:k", b"store-changelog:v", 0)]


def test_serializer_that_writes_nothing_deletes_as_value_and_fails_as_key() -> None:
    """No bytes is a tombstone, and a key cannot be one."""
    store = Task().open(kv(value_serde=Nothing()))
    store.restore([(b"a", b"old", 0)])
    store.put("a", "anything")
    assert store.get("a") is None
    with pytest.raises(SerializationError, match="returned None for a key"):
        Task().open(kv(key_serde=Nothing())).get("a")


def test_iterator_of_a_store_is_a_snapshot_that_can_peek() -> None:
    """Deleting while iterating is the usual clean-up loop."""
    store = open_filled()
    with store.all() as entries:
        assert entries.peek_next_key() == "a"
        for key, _ in entries:
            store.delete(key)
    assert list(store.all()) == []
