"""Typed key-value stores behave the same over every engine, cached or not, logged or not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.versioned import ValueAndTimestamp
from penstock.state.bytes_store import BytesStore
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.engines import ENGINES
from tests.state.kit import Forwarded, Task, kv

PLAIN, TIMESTAMPED = StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE
LAYERS = list(product([*sorted(ENGINES), "lru"], [False, True], [False, True]))
# Small enough to evict in the middle of a test, large enough to hold a few entries.
SMALL_CACHE = 200

Step = tuple[str, Any, Any]
key = st.sampled_from(["a", "ab", "b", "ba", "c"])
value = st.none() | st.text("xyz", max_size=2)
step = st.one_of(
    st.tuples(st.just("put"), key, value),
    st.tuples(st.just("put_if_absent"), key, value),
    st.tuples(st.just("delete"), key, st.none()),
    st.tuples(st.just("put_all"), st.lists(st.tuples(key, value), max_size=4), st.none()),
    st.tuples(st.just("get"), key, st.none()),
    st.tuples(st.just("range"), st.none() | key, st.none() | key),
    st.tuples(st.just("reverse_range"), st.none() | key, st.none() | key),
    st.tuples(st.just("prefix_scan"), key, st.just(str.encode)),
    st.tuples(st.just("flush"), st.none(), st.none()),
)
steps = st.lists(step, max_size=40)


class Model:
    """The same store as a dict."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}

    def put(self, key: str, value: Any) -> None:
        self.entries.pop(key, None)
        if value is not None:
            self.entries[key] = value

    def put_if_absent(self, key: str, value: Any) -> Any:
        old = self.entries.get(key)
        if old is None:
            self.put(key, value)
        return old

    def put_all(self, entries: list[tuple[str, Any]], _: object) -> None:
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: str, _: object) -> Any:
        return self.entries.pop(key, None)

    def get(self, key: str, _: object) -> Any:
        return self.entries.get(key)

    def range(self, start: str | None, end: str | None) -> list[tuple[str, Any]]:
        return sorted(
            (key, value)
            for key, value in self.entries.items()
            if (start is None or key >= start) and (end is None or key <= end)
        )

    def reverse_range(self, start: str | None, end: str | None) -> list[tuple[str, Any]]:
        return self.range(start, end)[::-1]

    def prefix_scan(self, prefix: str, _: object) -> list[tuple[str, Any]]:
        return [entry for entry in self.range(None, None) if entry[0].startswith(prefix)]

    def flush(self, *_: object) -> None:
        return None


def run(store: Any, step: Step, wrap: Callable[[Any], Any]) -> Any:
    """Does one step on a typed store; iterators come back as lists."""
    name, first, second = step
    if name == "put_all":
        return store.put_all([(key, wrap(value)) for key, value in first])
    if name in ("put", "put_if_absent"):
        return getattr(store, name)(first, wrap(second))
    if name in ("get", "delete"):
        return getattr(store, name)(first)
    if name == "flush":
        return store.flush()
    with getattr(store, name)(first, second) as found:
        return list(found)


def as_stamped(value: Any) -> Any:
    return None if value is None else ValueAndTimestamp(value, 7)


@contextmanager
def opened(
    engine: str, *, cache_bytes: int | None, logged: bool, kind: StoreKind = PLAIN
) -> Iterator[tuple[Task, Any]]:
    directory = Path(mkdtemp(prefix="penstock-state-"))

    def make(name: str) -> BytesStore:
        return ENGINES[engine](directory)

    task = Task(cache_bytes, make)
    store = task.open(spec_of(engine, cached=cache_bytes is not None, logged=logged, kind=kind))
    try:
        yield task, store
    finally:
        store.close()
        shutil.rmtree(directory)


def spec_of(engine: str, *, cached: bool, logged: bool, kind: StoreKind) -> StoreSpec:
    is_lru = engine == "lru"
    return kv(
        kind=kind,
        persistent=not is_lru,
        max_entries=100 if is_lru else None,
        caching=cached,
        logging=logged,
    )


@settings(max_examples=25)
@pytest.mark.parametrize("kind", [PLAIN, TIMESTAMPED])
@pytest.mark.parametrize(("engine", "cached", "logged"), LAYERS)
@given(steps=steps)
def test_store_agrees_with_a_dict(
    engine: str, kind: StoreKind, steps: list[Step], *, cached: bool, logged: bool
) -> None:
    """Every answer is the dict's, whatever lies underneath; the changelog rebuilds the store."""
    wrap = as_stamped if kind == TIMESTAMPED else lambda value: value
    cache_bytes = SMALL_CACHE if cached else None
    with opened(engine, cache_bytes=cache_bytes, logged=logged, kind=kind) as (task, store):
        model = Model()
        for name, first, second in steps:
            expected = getattr(model, name)(first, second)
            answer = run(store, (name, first, second), wrap)
            assert answer == unwrapped(expected, wrap), name
            assert list(store.all()) == unwrapped(model.range(None, None), wrap)
            assert list(store) == sorted(model.entries)
        store.flush()
        if logged:
            again = Task().open(kv(kind=kind))
            again.restore(task.logs["store"].records)
            assert list(again.all()) == list(store.all())
        else:
            assert task.logs == {}


def unwrapped(expected: Any, wrap: Callable[[Any], Any]) -> Any:
    if isinstance(expected, list):
        return [(key, wrap(value)) for key, value in expected]
    return wrap(expected)


@settings(max_examples=60)
@pytest.mark.parametrize("engine", ["memory", "lru"])
@given(steps=steps, sizes=st.lists(st.integers(0, 1_000), min_size=2, max_size=4))
def test_cache_size_never_changes_store_or_changelog(
    engine: str, steps: list[Step], sizes: list[int]
) -> None:
    """However large the cache, the store ends equal and each key's last logged value too.

    Tombstones of keys that the changelog never had are the one thing that may differ.
    """
    outcomes = []
    for cache_bytes in (None, *sizes):
        with opened(engine, cache_bytes=cache_bytes, logged=True) as (task, store):
            for offset, each in enumerate(steps):
                task.at(offset, offset)
                run(store, each, lambda value: value)
            store.flush()
            logged = {
                key: (value, timestamp)
                for key, (value, timestamp) in task.logs["store"].latest().items()
                if value is not None
            }
            outcomes.append((list(store.all()), logged))
    assert all(outcome == outcomes[0] for outcome in outcomes)


@settings(max_examples=60)
@given(steps=steps, cache_bytes=st.integers(0, 1_000))
def test_changes_passed_on_form_a_chain_to_the_final_store(
    steps: list[Step], cache_bytes: int
) -> None:
    """Each old value is the new one of the change before, and the last ones are the store."""
    with opened("memory", cache_bytes=cache_bytes, logged=True) as (task, store):
        forwarded = Forwarded(task)
        store.set_flush_listener(forwarded, send_old=True)
        for offset, each in enumerate(steps):
            task.at(offset, offset)
            run(store, each, lambda value: value)
        store.flush()
        seen: dict[str, Any] = {}
        for key, new, old in forwarded.changes:
            assert seen.get(key) == old
            seen[key] = new
        assert {key: new for key, new in seen.items() if new is not None} == dict(store.all())
        assert len(task.logs["store"].records) == len(forwarded.changes)
