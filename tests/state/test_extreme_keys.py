"""Keys of bytes 0x00 and 0xff: listings have exactly what reads by key find, in every layer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.serdes import Serdes
from penstock.state.bytes_store import BytesStore
from penstock.state.engine.memory import MemoryStore
from penstock.state.engine.pending import Checkpoint, CommittedView, PendingStore
from penstock.state.engine.rocks import open_rocks
from penstock.state.open import open_store
from penstock.state.spec import StoreSpec
from tests.state.kinds import session, versioned, window
from tests.state.kit import Task, kv

SERDES = {"key_serde": Serdes.bytes(), "value_serde": Serdes.bytes()}
ENGINES = ["memory", "rocks", "pending", "pending-rocks"]
LAYERS = list(product(ENGINES, [None, 500, 100_000]))
_ENDS = st.sampled_from([b"", b"\0", b"\xff", b"checkpoint", b"checkpoint\0", b"checkpoint\xff"])
_MANY = st.integers(0, 40).map(lambda size: b"\xff" * size)
_FEW = st.lists(st.sampled_from([0, 1, 254, 255]), max_size=4).map(bytes)
KEYS = st.lists(st.tuples(_FEW | _MANY, _ENDS).map(b"".join), max_size=12)


def _engine(name: str, folder: Path) -> BytesStore:
    inner = open_rocks(folder / "store", "store") if "rocks" in name else MemoryStore()
    return PendingStore(inner) if "pending" in name else inner


@contextmanager
def _opened(engine: str, spec: StoreSpec, cache: int | None) -> Iterator[tuple[Any, BytesStore]]:
    folder = Path(mkdtemp(prefix="penstock-state-"))
    made = _engine(engine, folder)
    store = open_store(spec, Task(cache, lambda name: made).env)
    try:
        yield store, made
    finally:
        store.close()
        shutil.rmtree(folder)


def _apply(engine: BytesStore) -> None:
    """Commit what was written so far, if the engine has batches."""
    if isinstance(engine, PendingStore):
        engine.seal(Checkpoint(engine.checkpoint.batch + 1, 0))
        engine.apply()


@pytest.mark.parametrize(("engine", "cache"), LAYERS)
@settings(max_examples=25)
@given(first=KEYS, second=KEYS, bounds=st.tuples(_FEW | _MANY, _FEW | _MANY))
def test_key_value_store_lists_every_key_that_get_finds(
    engine: str, cache: int | None, first: list[bytes], second: list[bytes], bounds: Any
) -> None:
    """No key is reserved: what ``get`` finds is in ``all``, ``range`` and ``prefix_scan``."""
    spec = kv(persistent=True, caching=cache is not None, **SERDES)
    with _opened(engine, spec, cache) as (store, made):
        for key in first:
            store.put(key, b"1")
        _apply(made)
        for key in second:
            store.put(key, b"2")
        want = dict.fromkeys(first, b"1") | dict.fromkeys(second, b"2")
        low, high = sorted(bounds)
        assert {key: store.get(key) for key in want} == want
        assert list(store.all()) == sorted(want.items())
        assert list(store.reverse_all()) == sorted(want.items(), reverse=True)
        assert dict(store.range(low, high)) == {k: v for k, v in want.items() if low <= k <= high}
        assert dict(store.range(low, None)) == {k: v for k, v in want.items() if low <= k}
        found = dict(store.prefix_scan(low, bytes))
        assert found == {key: value for key, value in want.items() if key.startswith(low)}


@pytest.mark.parametrize("layout", [{}, {"persistent": False}, {"time_ordered": True}], ids=str)
@pytest.mark.parametrize(("engine", "cache"), LAYERS)
@settings(max_examples=10)
@given(first=KEYS, second=KEYS, bounds=st.tuples(_FEW | _MANY, _FEW | _MANY))
def test_window_store_lists_every_window_that_fetch_finds(
    engine: str,
    cache: int | None,
    layout: Any,
    first: list[bytes],
    second: list[bytes],
    bounds: Any,
) -> None:
    """The bytes of a key never reach into the times behind it."""
    spec = window(caching=cache is not None, **SERDES, **layout)
    with _opened(engine, spec, cache) as (store, made):
        for keys, start in ((first, 10), (second, 60)):
            for key in keys:
                store.put(key, b"v", start)
            _apply(made)
        want = {(key, 10) for key in first} | {(key, 60) for key in second}
        low, high = sorted(bounds)
        assert all(store.fetch(key, start) == b"v" for key, start in want)
        assert {(at.key, at.start) for at, _ in store.all()} == want
        ranged = {(at.key, at.start) for at, _ in store.fetch_range(low, high, 0, 100)}
        assert ranged == {at for at in want if low <= at[0] <= high}
        for key in {key for key, _ in want}:
            starts = [start for start, _ in store.fetch(key, 0, 100)]
            assert starts == sorted(start for each, start in want if each == key)


@pytest.mark.parametrize("layout", [{}, {"persistent": False}, {"time_ordered": True}], ids=str)
@pytest.mark.parametrize(("engine", "cache"), LAYERS)
@settings(max_examples=10)
@given(first=KEYS, second=KEYS, bounds=st.tuples(_FEW | _MANY, _FEW | _MANY))
def test_session_store_lists_every_session_that_fetch_finds(
    engine: str,
    cache: int | None,
    layout: Any,
    first: list[bytes],
    second: list[bytes],
    bounds: Any,
) -> None:
    """The bytes of a key never reach into the times behind it."""
    spec = session(caching=cache is not None, **SERDES, **layout)
    with _opened(engine, spec, cache) as (store, made):
        want = set()
        for keys, end in ((first, 20), (second, 70)):
            for key in keys:
                store.put(Windowed(key, Window(10, end)), b"v")
            want |= {(key, end) for key in keys}
            _apply(made)
        low, high = sorted(bounds)
        assert all(store.fetch_session(key, 10, end) == b"v" for key, end in want)
        assert {(at.key, at.end) for at, _ in store.fetch_range(None, None)} == want
        ranged = {(at.key, at.end) for at, _ in store.fetch_range(low, high)}
        assert ranged == {at for at in want if low <= at[0] <= high}
        for key in {key for key, _ in want}:
            assert {at.end for at, _ in store.fetch(key)} == {e for k, e in want if k == key}


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25)
@given(first=KEYS, second=KEYS)
def test_versioned_store_keeps_every_version_of_such_keys(
    engine: str, first: list[bytes], second: list[bytes]
) -> None:
    """A version of one key is never taken for a row of another, nor for the checkpoint."""
    with _opened(engine, versioned(**SERDES), None) as (store, made):
        for keys, time in ((first, 10), (second, 60)):
            for key in keys:
                store.put(key, b"%d" % time, time)
            _apply(made)
        for key in {*first, *second}:
            times = [t for keys, t in ((second, 60), (first, 10)) if key in keys]
            assert [each.timestamp for each in store.versions(key, 0, 100)] == times
            assert store.get(key).value == b"%d" % times[0]


@pytest.mark.parametrize("engine", ["pending", "pending-rocks"])
@settings(max_examples=25)
@given(first=KEYS, second=KEYS, deleted=st.tuples(_FEW | _MANY, _FEW | _MANY))
def test_batches_keep_their_checkpoint_beside_any_key(
    engine: str, first: list[bytes], second: list[bytes], deleted: Any
) -> None:
    """The checkpoint is not a row, no row is the checkpoint, and a wipe leaves neither."""
    folder = Path(mkdtemp(prefix="penstock-state-"))
    inner = open_rocks(folder / "store", "store") if "rocks" in engine else MemoryStore()
    store = PendingStore(inner)
    store.write([(key, b"1") for key in first])
    _apply(store)
    low, high = sorted(deleted)
    store.delete_range(low, high)
    store.write([(key, b"2") for key in second])
    want = {key: b"1" for key in first if not low <= key < high} | dict.fromkeys(second, b"2")
    for _ in range(2):
        assert list(store.scan(None, None)) == sorted(want.items())
        _apply(store)
        assert store.multi_get([*want]) == [*want.values()]
        assert dict(CommittedView(store).scan(None, None)) == want
    assert PendingStore(inner).checkpoint == store.checkpoint
    store.wipe()
    assert not list(inner.scan(None, None))
    store.close()
    shutil.rmtree(folder)


def test_cached_window_whose_start_has_the_bytes_of_the_mark_is_found() -> None:
    """Every start is an ordinary number, also 2004-10-05T23:12:28.671Z."""
    spec = window(caching=True, time_ordered=True, **SERDES)
    start = int.from_bytes(b"\xffkey\xff")
    with _opened("memory", spec, 100_000) as (store, _):
        store.put(b"ann", b"1", start)
        assert [(at.key, at.start) for at, _ in store.all()] == [(b"ann", start)]
