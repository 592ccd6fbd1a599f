"""Window stores: RocksDB and memory, cached or not, agree with each other and with a dict."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.windowed import Window, Windowed
from penstock.state.spec import StoreKind
from tests.state.kinds import Bench, OrderedSpec, on_disk, window

Step = tuple[Any, ...]
SMALL_CACHE = 400

key = st.sampled_from(["a", "ab", "b", "a\0", "\x7f"])
any_key = st.none() | key
time = st.integers(0, 300)
span = st.tuples(time, time | st.just(2**63 - 1)).map(sorted)
value = st.none() | st.text("xyz", min_size=1, max_size=2)
step = st.one_of(
    st.tuples(st.just("put"), key, value, time),
    st.tuples(st.just("fetch"), key, time),
    st.tuples(st.just("fetch"), key, span),
    st.tuples(st.just("backward_fetch"), key, span),
    st.tuples(st.just("fetch_range"), any_key, any_key, span),
    st.tuples(st.just("backward_fetch_range"), any_key, any_key, span),
    st.tuples(st.just("fetch_all"), span),
    st.tuples(st.just("backward_fetch_all"), span),
    st.tuples(st.just("all")),
    st.tuples(st.just("backward_all")),
    st.tuples(st.just("flush")),
)
puts = st.lists(st.tuples(st.just("put"), key, value, time), max_size=40)
steps = st.lists(step, max_size=40)
LAYOUTS: list[dict[str, Any]] = [{}, {"retain_duplicates": True}, {"time_ordered": True}]


def run(bench: Bench, one: Step) -> Any:
    """Does one step at its own record time; gives iterators as lists."""
    name, *arguments = one
    bench.task.at(bench.task.context.timestamp + 1)
    if arguments and isinstance(arguments[-1], list):
        arguments[-1:] = arguments[-1]
    if name == "put" and arguments[1] is not None and bench.spec.kind != StoreKind.WINDOW:
        arguments[1] = ValueAndTimestamp(arguments[1], bench.task.context.timestamp - 1)
    result = getattr(bench.store, name)(*arguments)
    return list(result) if hasattr(result, "peek_next_key") else result


def everything(bench: Bench) -> list[Any]:
    return [list(bench.store.all()), list(bench.store.backward_all())]


@pytest.mark.parametrize(
    ("layout", "kind", "cache_bytes"),
    list(product(LAYOUTS, [StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW], [None, SMALL_CACHE])),
)
@settings(max_examples=15)
@given(steps=steps)
def test_rocksdb_and_memory_engine_agree(
    layout: dict[str, Any], kind: StoreKind, cache_bytes: int | None, steps: list[Step]
) -> None:
    """Where the bytes lie changes no result, no changelog record and no drop."""
    spec = window(kind=kind, caching=cache_bytes is not None, **layout)
    memory = Bench(spec, cache_bytes=cache_bytes)
    with on_disk(spec, cache_bytes) as disk:
        for one in steps:
            assert run(disk, one) == run(memory, one)
        assert disk.logged == memory.logged
        assert disk.dropped == memory.dropped


class Model:
    """A window store as a dict; gives what a read must find, in no special order."""

    def __init__(self, spec: OrderedSpec) -> None:
        self.spec = spec
        self.stream_time = -1
        self.entries: dict[tuple[str, int], str] = {}

    def put(self, key: str, value: str | None, start: int) -> None:
        self.stream_time = max(self.stream_time, start)
        self.entries.pop((key, start), None)
        if value is not None:
            self.entries[key, start] = value

    def visible(self) -> dict[Windowed[str], str]:
        oldest = self.stream_time - self.spec.retention_ms + 1
        if getattr(self.spec, "time_ordered", False):
            oldest -= 1
        return {
            Windowed(key, Window(start, start + self.spec.window_size_ms)): value
            for (key, start), value in self.entries.items()
            if start >= oldest
        }


@pytest.mark.parametrize(
    "spec", [window(), window(persistent=False), window(time_ordered=True)], ids=str
)
@given(steps=puts)
def test_store_agrees_with_a_dict(spec: OrderedSpec, steps: list[Step]) -> None:
    """Reads find every live window of the key they ask for, and nothing else."""
    bench, model = Bench(spec), Model(spec)
    for one in steps:
        run(bench, one)
        model.put(*one[1:])
        assert dict(bench.store.all()) == model.visible()
    for name in ["a", "ab", "b", "a\0"]:
        wanted = sorted((at.start, v) for at, v in model.visible().items() if at.key == name)
        assert list(bench.store.fetch(name, 0, 400)) == wanted
        assert list(bench.store.backward_fetch(name, 0, 400)) == wanted[::-1]
        assert all(bench.store.fetch(name, start) == v for start, v in wanted)


@given(steps=steps)
def test_memory_and_persistent_stores_hold_the_same(steps: list[Step]) -> None:
    """Their orders differ, their contents do not."""
    disk, memory = Bench(window()), Bench(window(persistent=False))
    for one in steps:
        here, there = run(disk, one), run(memory, one)
        if isinstance(here, list):
            assert sorted(map(str, here)) == sorted(map(str, there))
        else:
            assert here == there
    assert disk.logged == memory.logged


@pytest.mark.parametrize("cache_bytes", [200, 10_000])
@pytest.mark.parametrize("fields", [{}, {"persistent": False}, {"time_ordered": True}], ids=str)
@given(steps=puts)
def test_cached_store_reads_like_an_uncached_one(
    cache_bytes: int, fields: dict[str, Any], steps: list[Step]
) -> None:
    """With a retention that outlives the test, a cache delays only what others see."""
    spec = window(retention_ms=10_000, **fields)
    plain = Bench(spec)
    cached = Bench(window(retention_ms=10_000, caching=True, **fields), cache_bytes=cache_bytes)
    for one in steps:
        run(plain, one)
        run(cached, one)
        assert everything(cached) == everything(plain)
    assert list(cached.store.fetch("a", 5, 200)) == list(plain.store.fetch("a", 5, 200))
    reads = [bench.store.backward_fetch_range("a", "ab", 0, 250) for bench in (cached, plain)]
    assert list(reads[0]) == list(reads[1])


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(max_examples=15)
@given(before=puts, after=steps)
def test_restart_changes_nothing(
    layout: dict[str, Any], before: list[Step], after: list[Step]
) -> None:
    """Stream time and the order of duplicates survive, not only the entries."""
    spec = window(**layout)
    with on_disk(spec) as restarted:
        steady = Bench(spec)
        for one in before:
            assert run(restarted, one) == run(steady, one)
        restarted.reopen()
        for one in after:
            assert run(restarted, one) == run(steady, one)
        assert restarted.dropped == steady.dropped


@pytest.mark.parametrize("kind", [StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW])
@pytest.mark.parametrize(
    "fields",
    [*LAYOUTS, {"persistent": False}, {"persistent": False, "retain_duplicates": True}],
    ids=str,
)
@given(steps=puts)
def test_store_restored_from_its_changelog_equals_the_old_one(
    fields: dict[str, Any], kind: StoreKind, steps: list[Step]
) -> None:
    """The changelog is the store: nothing visible is missing, nothing hidden comes back."""
    spec = window(kind=kind, **fields)
    old, new = Bench(spec), Bench(spec)
    for one in steps:
        run(old, one)
    middle = len(old.logged) // 2
    new.store.restore(old.logged[:middle])
    new.store.restore(old.logged[middle:])
    assert everything(new) == everything(old)
    assert new.logged == []


@pytest.mark.parametrize("time_ordered", [False, True])
def test_retention_bounds_what_is_on_disk(tmp_path: Path, time_ordered: bool) -> None:
    """The number of physical entries levels off while time goes on."""
    bench = Bench(window(time_ordered=time_ordered), tmp_path)
    counts = []
    for start in range(2_000):
        bench.store.put("a", "x", start)
        bench.store.put("b", "y", start)
        counts.append(bench.physical_entries())
    # Retention and two segments, two keys; ordered by time there is an index entry for each.
    assert max(counts) <= (100 + 2 * 25) * 2 * (2 if time_ordered else 1)
    assert max(counts[1_000:]) == max(counts[200:1_000])
    bench.store.close()
