"""Versioned stores: RocksDB and memory agree with each other and with a list of versions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.versioned import (
    PUT_RETURN_CODE_NOT_PUT,
    PUT_RETURN_CODE_VALID_TO_UNDEFINED,
    VersionedRecord,
)
from penstock.state.spec import StoreSpec
from tests.state.kinds import Bench, on_disk, versioned

Step = tuple[Any, ...]
key = st.sampled_from(["a", "ab", "b"])
time = st.integers(0, 400)
value = st.none() | st.text("xyz", min_size=1, max_size=2)
writes = st.one_of(
    st.tuples(st.just("put"), key, value, time), st.tuples(st.just("delete"), key, time)
)
step = st.one_of(
    writes,
    st.tuples(st.just("get"), key),
    st.tuples(st.just("get"), key, time),
    st.tuples(st.just("versions"), key, time, time),
)
puts = st.lists(writes, max_size=40)
#: What a second write of a moment leaves behind of the first depends on Java's segments; that is
#: for the oracle's cases to say, a list of versions does not know.
single_puts = st.lists(writes, max_size=40, unique_by=lambda one: (one[1], one[-1]))
steps = st.lists(step, max_size=50)


def run(bench: Bench, one: Step) -> Any:
    return getattr(bench.store, one[0])(*one[1:])


@settings(max_examples=15)
@given(steps=steps)
def test_rocksdb_and_memory_engine_agree(steps: list[Step]) -> None:
    """Where the bytes lie changes no result, no changelog record and no drop."""
    memory = Bench(versioned())
    with on_disk(versioned()) as disk:
        for one in steps:
            assert run(disk, one) == run(memory, one)
        assert disk.logged == memory.logged
        assert disk.dropped == memory.dropped


class Model:
    """All versions of each key, whatever their age; a deletion is a version without a value."""

    def __init__(self, spec: StoreSpec) -> None:
        self.spec = spec
        self.stream_time = -1
        self.keys: dict[str, dict[int, str | None]] = {}

    @property
    def oldest(self) -> int:
        return self.stream_time - self.spec.history_retention_ms

    def put(self, key: str, value: str | None, time: int) -> int:
        if time < self.oldest:
            return PUT_RETURN_CODE_NOT_PUT
        self.stream_time = max(self.stream_time, time)
        versions = self.keys.setdefault(key, {})
        versions[time] = value
        later = [other for other in versions if other > time]
        return min(later, default=PUT_RETURN_CODE_VALID_TO_UNDEFINED)

    def delete(self, key: str, time: int) -> VersionedRecord[str] | None:
        found = None if time < self.oldest else self.get(key, time)
        self.put(key, None, time)
        return found

    def get(self, key: str, as_of: int | None = None) -> VersionedRecord[str] | None:
        versions = self.keys.get(key, {})
        times = [time for time in versions if as_of is None or time <= as_of]
        if not times or versions[max(times)] is None:
            return None
        is_latest = max(times) == max(versions)
        if as_of is not None and as_of < self.oldest and not is_latest:
            return None
        return VersionedRecord(str(versions[max(times)]), max(times))


@pytest.mark.parametrize("interval_ms", [1, 7, 30, 1_000])
@given(steps=single_puts)
def test_store_agrees_with_a_list_of_versions(interval_ms: int, steps: list[Step]) -> None:
    """Late writes take their place in history; segments are not seen from outside."""
    spec = versioned(segment_interval_ms=interval_ms)
    bench, model = Bench(spec), Model(spec)
    for one in steps:
        assert run(bench, one) == getattr(model, one[0])(*one[1:])
        for name in ["a", "ab", "b"]:
            assert bench.store.get(name) == model.get(name)
            for as_of in range(max(0, model.oldest), 400, 23):
                assert bench.store.get(name, as_of) == model.get(name, as_of)


@given(steps=puts)
def test_versions_follow_each_other_newest_first(steps: list[Step]) -> None:
    """Each version ends where the next one, or a deletion, begins."""
    bench = Bench(versioned())
    for one in steps:
        run(bench, one)
    for name in ["a", "ab", "b"]:
        found = bench.store.versions(name)
        times = [one.timestamp for one in found]
        assert times == sorted(set(times), reverse=True)
        for newer, older in pairwise(found):
            assert older.valid_to is not None
            assert older.valid_to <= newer.timestamp
        for one in found:
            if one.timestamp >= 0 and bench.store.get(name, one.timestamp) is not None:
                assert bench.store.get(name, one.timestamp).value == one.value


@settings(max_examples=15)
@given(before=puts, after=steps)
def test_restart_changes_nothing(before: list[Step], after: list[Step]) -> None:
    """History and stream time survive a restart."""
    with on_disk(versioned()) as restarted:
        steady = Bench(versioned())
        for one in before:
            assert run(restarted, one) == run(steady, one)
        restarted.reopen()
        for one in after:
            assert run(restarted, one) == run(steady, one)


@given(steps=puts)
def test_store_restored_from_its_changelog_equals_the_old_one(steps: list[Step]) -> None:
    """The changelog has key, value and the version's own time: that is all it takes."""
    old, new = Bench(versioned()), Bench(versioned())
    for one in steps:
        run(old, one)
    new.store.restore(old.logged)
    newest = max((time for _, _, time in old.logged), default=0)
    for name in ["a", "ab", "b"]:
        assert new.store.get(name) == old.store.get(name)
        for as_of in range(max(0, newest - 100), newest + 1):
            assert new.store.get(name, as_of) == old.store.get(name, as_of)
    assert new.logged == []


def test_history_retention_bounds_what_is_on_disk(tmp_path: Path) -> None:
    """The number of physical entries levels off while new versions keep coming."""
    bench = Bench(versioned(), tmp_path)
    sizes = []
    for time in range(1_000):
        bench.store.put("a", str(time), time)
        sizes.append(sum(len(value) for _, value in bench.engine.scan(None, None)))
    # A version takes 12 bytes and its value; a segment 16 more.
    assert max(sizes) <= (100 + 2 * 30) * (12 + 3) + 6 * 16
    assert bench.physical_entries() <= 7
    bench.store.close()
