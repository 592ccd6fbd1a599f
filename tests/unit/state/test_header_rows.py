"""Stores that keep record headers: bytes, changelog, restore."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import (
    AggregationWithHeaders,
    Serde,
    Stores,
    ValueAndTimestamp,
    ValueTimestampHeaders,
    Window,
    Windowed,
)
from penstock.errors import SerializationError
from penstock.model.record import Headers
from penstock.state.header_rows import encode_headers, face, split_row
from penstock.state.open import open_store
from penstock.state.spec import StoreHeaders, StoreSpec
from tests.state.kit import Task

TRACE: Headers = (("trace", b"7"), ("empty", b""), ("none", None))
KEY_VALUE = Stores.timestamped_key_value_store_with_headers_builder(
    Stores.persistent_timestamped_key_value_store_with_headers("store")
)
WINDOW = Stores.timestamped_window_store_with_headers_builder(
    Stores.persistent_timestamped_window_store_with_headers("store", "1h", "10s")
)
SESSION = Stores.session_store_with_headers_builder(
    Stores.persistent_session_store_with_headers("store", "1h")
)


@given(st.lists(st.tuples(st.text(), st.none() | st.binary(max_size=200))), st.binary())
def test_headers_come_back_with_what_follows_them(
    headers: list[tuple[str, bytes | None]], value: bytes
) -> None:
    """Whatever their names and sizes."""
    assert split_row(encode_headers(tuple(headers)) + value) == (tuple(headers), value)


def test_bytes_are_those_of_kafka_streams() -> None:
    """KIP-1271: sizes are Kafka's signed varints, -1 stands for no value, no headers are one 0."""
    assert encode_headers(()) == b"\x00"
    assert encode_headers((("a", b"xyz"),)) == b"\x0e\x02\x02a\x06xyz"
    assert encode_headers((("a", None),)) == b"\x08\x02\x02a\x01"
    long = encode_headers((("a", bytes(100)),))
    assert long[:3] == b"\xd2\x01\x02"


def opened(spec: StoreSpec, cache_bytes: int | None = None) -> tuple[Any, Task]:
    task = Task(cache_bytes)
    return open_store(spec, task.env), task


def test_key_value_store_gives_headers_back() -> None:
    """Through every way to read."""
    store, _ = opened(KEY_VALUE)
    row = ValueTimestampHeaders("v", 5, TRACE)
    store.put("a", row)
    store["b"] = ValueTimestampHeaders("w", 6)
    assert store.get("a") == row
    assert list(store.all()) == [("a", row), ("b", ("w", 6, ()))]
    assert store.delete("a") == row


def test_changelog_has_the_plain_value_and_the_headers_of_the_row() -> None:
    """So a store without headers can read it; a tombstone has those of the record."""
    store, task = opened(KEY_VALUE)
    task.at(9, headers=(("now", b"1"),))
    store.put("a", ValueTimestampHeaders("v", 5, TRACE))
    store.delete("a")
    log = task.logs["store"]
    assert log.records == [(b"a", b"v", 5), (b"a", None, 9)]
    assert log.headers == [TRACE, (("now", b"1"),)]


@pytest.mark.parametrize("cache_bytes", [None, 100_000])
def test_cache_and_log_keep_the_headers_of_each_row(cache_bytes: int | None) -> None:
    """The last write of a key counts, with its own headers."""
    store, task = opened(KEY_VALUE.with_caching_enabled(), cache_bytes)
    store.put("a", ValueTimestampHeaders("v", 5, (("n", b"1"),)))
    store.put("a", ValueTimestampHeaders("w", 6, (("n", b"2"),)))
    store.flush()
    assert store.get("a") == ("w", 6, (("n", b"2"),))
    assert task.logs["store"].headers[-1] == (("n", b"2"),)


@pytest.mark.parametrize("headers", [TRACE, ()])
def test_restored_rows_are_what_was_logged(headers: Headers) -> None:
    """Put with headers, restart, get gives them; old records without headers give rows without."""
    store, _ = opened(KEY_VALUE)
    store.restore([(b"a", b"v", 5, headers), (b"b", b"x", 6, ()), (b"b", None, 7, TRACE)])
    assert list(store.all()) == [("a", ("v", 5, headers))]
    windows, task = opened(WINDOW)
    windows.put("a", ValueTimestampHeaders("v", 5, headers), 10_000)
    ((key, value, timestamp),) = task.logs["store"].records
    assert (value, timestamp, task.logs["store"].headers) == (b"v", 5, [headers])
    again, _ = opened(WINDOW)
    again.restore([(key, value, timestamp, headers)])
    assert again.fetch("a", 10_000) == ("v", 5, headers)


def test_session_store_keeps_headers_with_its_aggregation() -> None:
    """In the store, in the changelog and after a restore."""
    store, task = opened(SESSION)
    session = Windowed("a", Window(5, 8))
    store.put(session, AggregationWithHeaders("v", TRACE))
    task.at(9)
    ((key, value, _),) = task.logs["store"].records
    assert (value, task.logs["store"].headers) == (b"v", [TRACE])
    again, _ = opened(SESSION)
    again.restore([(key, value, 9, TRACE)])
    for each in (store, again):
        assert list(each.fetch("a")) == [(session, ("v", TRACE))]
        assert face(each, StoreHeaders.KEPT).fetch_session("a", 5, 8) == "v"


def test_store_can_be_seen_without_its_headers() -> None:
    """And what is written that way takes the headers of the record that is being processed."""
    store, task = opened(KEY_VALUE)
    plain = face(store, StoreHeaders.KEPT)
    store.put("a", ValueTimestampHeaders("v", 5, TRACE))
    assert plain.get("a") == ValueAndTimestamp("v", 5)
    task.at(0, headers=(("from", b"in"),))
    plain.put("b", ValueAndTimestamp("w", 6))
    assert store.get("b") == ("w", 6, (("from", b"in"),))


def test_serde_sees_the_headers_of_the_row() -> None:
    """A serde whose bytes depend on headers survives a store."""

    class ByHeader(Serde[str]):
        def encode(self, value: str) -> bytes:
            raise AssertionError("the headers decide")

        def decode(self, data: bytes) -> str:
            raise AssertionError("the headers decide")

        def serialize(self, topic: str, value: Any, headers: Headers = ()) -> bytes:
            return str(value).encode(dict(headers)["encoding"].decode())  # type: ignore[union-attr]

        def deserialize(self, topic: str, data: bytes | None, headers: Headers = ()) -> str:
            return (data or b"").decode(dict(headers)["encoding"].decode())  # type: ignore[union-attr]

    supplier = Stores.in_memory_key_value_store("store")
    spec = Stores.timestamped_key_value_store_with_headers_builder(supplier, None, ByHeader())
    store, task = opened(spec)
    for encoding in (b"utf-16", b"latin-1"):
        row = ValueTimestampHeaders("é", 5, (("encoding", encoding),))
        store.put("a", row)
        assert store.get("a") == row
        assert task.logs["store"].records[-1][1] == "é".encode(encoding.decode())


@pytest.mark.parametrize(
    ("spec", "said"), [(KEY_VALUE, "ValueTimestampHeaders"), (SESSION, "AggregationWithHeaders")]
)
def test_value_of_another_shape_is_refused(spec: StoreSpec, said: str) -> None:
    """The error names the class that the store takes."""
    store, _ = opened(spec)
    key: Any = "a" if spec is KEY_VALUE else Windowed("a", Window(0, 1))
    with pytest.raises(SerializationError, match=f"the store takes {said}"):
        store.put(key, 5)


def test_rows_with_headers_have_a_folder_of_their_own() -> None:
    """Bytes of the other format are never misread: the store is restored instead."""
    assert KEY_VALUE.folder == "store.headers"
    assert StoreSpec(name="store", kind=KEY_VALUE.kind).folder == "store"
