"""Session stores: RocksDB and memory, cached or not, agree with each other and with a dict."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.windows.windowed import Window, Windowed
from tests.state.kinds import Bench, OrderedSpec, on_disk, session

Step = tuple[Any, ...]
Sessions = dict[Windowed[str], str]
SMALL_CACHE = 400
LAYOUTS: list[dict[str, Any]] = [{}, {"time_ordered": True}]

key = st.sampled_from(["a", "ab", "b", "a\0", "\x7f"])
any_key = st.none() | key
time = st.integers(0, 300)
sessions = st.builds(
    lambda key, start, length: Windowed(key, Window(start, start + length)),
    key,
    time,
    st.sampled_from([0, 0, 3, 30]),
)
value = st.none() | st.text("xyz", min_size=1, max_size=2)
writes = st.one_of(
    st.tuples(st.just("put"), sessions, value), st.tuples(st.just("remove"), sessions)
)
step = st.one_of(
    writes,
    st.tuples(st.just("fetch"), key),
    st.tuples(st.just("fetch_range"), any_key, any_key),
    st.tuples(st.just("find_sessions"), key, time, time),
    st.tuples(st.just("find_sessions_range"), any_key, any_key, time, time),
    st.tuples(st.just("backward_find_sessions"), key, time, time),
    st.tuples(st.just("backward_find_sessions_range"), any_key, any_key, time, time),
    st.tuples(st.just("flush")),
)
steps = st.lists(step, max_size=40)
puts = st.lists(writes, max_size=40)


def run(bench: Bench, one: Step) -> Any:
    """Does one step at its own record time; gives iterators as lists."""
    name, *arguments = one
    bench.task.at(bench.task.context.timestamp + 1)
    result = getattr(bench.store, name)(*arguments)
    return list(result) if hasattr(result, "peek_next_key") else result


def everything(bench: Bench) -> list[Any]:
    store = bench.store
    return [list(store.fetch_range(None, None)), list(store.find_sessions("a", 0, 2**63 - 1))]


@pytest.mark.parametrize(
    ("layout", "cache_bytes"), list(product(LAYOUTS, [None, SMALL_CACHE])), ids=str
)
@settings(max_examples=15)
@given(steps=steps)
def test_rocksdb_and_memory_engine_agree(
    layout: dict[str, Any], cache_bytes: int | None, steps: list[Step]
) -> None:
    """Where the bytes lie changes no result, no changelog record and no drop."""
    spec = session(caching=cache_bytes is not None, **layout)
    memory = Bench(spec, cache_bytes=cache_bytes)
    with on_disk(spec, cache_bytes) as disk:
        for one in steps:
            assert run(disk, one) == run(memory, one)
        assert disk.logged == memory.logged
        assert disk.dropped == memory.dropped


class Model:
    """A session store as a dict; a removal moves time only where segments do the keeping."""

    def __init__(self, spec: OrderedSpec) -> None:
        self.spec = spec
        self.stream_time = -1
        self.entries: Sessions = {}

    def put(self, at: Windowed[str], value: str | None) -> None:
        self.stream_time = max(self.stream_time, at.end)
        self.entries.pop(at, None)
        if value is not None:
            self.entries[at] = value

    def remove(self, at: Windowed[str]) -> None:
        if self.spec.persistent:
            self.stream_time = max(self.stream_time, at.end)
        self.entries.pop(at, None)

    def visible(self) -> Sessions:
        oldest = self.stream_time - self.spec.retention_ms + 1
        return {at: value for at, value in self.entries.items() if at.end >= oldest}


@pytest.mark.parametrize(
    "spec", [session(), session(persistent=False), session(time_ordered=True)], ids=str
)
@given(steps=puts)
def test_store_agrees_with_a_dict(spec: OrderedSpec, steps: list[Step]) -> None:
    """Reads find every live session of the key they ask for, and nothing else."""
    bench, model = Bench(spec), Model(spec)
    for one in steps:
        run(bench, one)
        getattr(model, one[0])(*one[1:])
        assert dict(bench.store.fetch_range(None, None)) == model.visible()
    for name in ["a", "ab", "b", "a\0"]:
        wanted = {at: v for at, v in model.visible().items() if at.key == name}
        assert dict(bench.store.fetch(name)) == wanted
        touching = {at: v for at, v in wanted.items() if at.end >= 100 and at.start <= 200}
        assert dict(bench.store.find_sessions(name, 100, 200)) == touching
        assert all(
            bench.store.fetch_session(name, at.start, at.end) == v for at, v in wanted.items()
        )


@pytest.mark.parametrize(
    "spec", [session(), session(persistent=False), session(time_ordered=True)], ids=str
)
@given(steps=puts)
def test_sessions_by_end_time_are_complete_and_in_order(
    spec: OrderedSpec, steps: list[Step]
) -> None:
    """Final results are read this way: each session once, the first end first."""
    bench = Bench(spec)
    for one in steps:
        run(bench, one)
    found = list(bench.store.find_sessions_ending(50, 250))
    ends = [at.end for at, _ in found]
    assert ends == sorted(ends)
    visible = {at: v for at, v in bench.store.fetch_range(None, None) if 50 <= at.end <= 250}
    assert visible.items() <= dict(found).items()
    assert len(dict(found)) == len(found)


@pytest.mark.parametrize("cache_bytes", [200, 10_000])
@pytest.mark.parametrize("fields", [{}, {"persistent": False}], ids=str)
@given(steps=puts)
def test_cached_store_reads_like_an_uncached_one(
    cache_bytes: int, fields: dict[str, Any], steps: list[Step]
) -> None:
    """With a retention that outlives the test, a cache delays only what others see."""
    plain = Bench(session(retention_ms=10_000, **fields))
    spec = session(retention_ms=10_000, caching=True, **fields)
    cached = Bench(spec, cache_bytes=cache_bytes)
    for one in steps:
        run(plain, one)
        run(cached, one)
        assert everything(cached) == everything(plain)
        backward = ("backward_find_sessions_range", None, "b", 20, 250)
        assert run(cached, backward) == run(plain, backward)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(max_examples=15)
@given(before=puts, after=steps)
def test_restart_changes_nothing(
    layout: dict[str, Any], before: list[Step], after: list[Step]
) -> None:
    """Stream time survives, not only the sessions."""
    spec = session(**layout)
    with on_disk(spec) as restarted:
        steady = Bench(spec)
        for one in before:
            assert run(restarted, one) == run(steady, one)
        restarted.reopen()
        for one in after:
            assert run(restarted, one) == run(steady, one)


@pytest.mark.parametrize("fields", [*LAYOUTS, {"persistent": False}], ids=str)
@given(steps=puts)
def test_store_restored_from_its_changelog_equals_the_old_one(
    fields: dict[str, Any], steps: list[Step]
) -> None:
    """The changelog is the store: nothing visible is missing, nothing hidden comes back."""
    spec = session(**fields)
    old, new = Bench(spec), Bench(spec)
    for name, at, *value in steps:
        # Operators remove sessions; the put of None would move time, and logs the same.
        run(old, ("remove", at) if value == [None] else (name, at, *value))
    new.store.restore(old.logged)
    assert everything(new) == everything(old)
    assert new.logged == []


@pytest.mark.parametrize("time_ordered", [False, True])
def test_retention_bounds_what_is_on_disk(tmp_path: Path, time_ordered: bool) -> None:
    """The number of physical entries levels off while time goes on."""
    bench = Bench(session(time_ordered=time_ordered), tmp_path)
    counts = []
    for start in range(1_000):
        bench.store.put(Windowed("a", Window(start, start + 5)), "x")
        counts.append(bench.physical_entries())
    assert max(counts) <= (100 + 2 * 25) * (2 if time_ordered else 1)
    bench.store.close()
