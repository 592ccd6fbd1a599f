"""Time-ordered buffers: in order, complete, and the same after a restart or a restore."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.change import Change
from penstock.model.record import RecordContext
from penstock.model.time.duration import MAX_LONG
from penstock.state.buffer.buffered import Eviction
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import Bench, on_disk

SUPPRESS = StoreSpec(name="store", kind=StoreKind.TIME_ORDERED_BUFFER, persistent=False)
#: On a persistent buffer the retention is the grace period of the join.
JOIN = StoreSpec(name="store", kind=StoreKind.TIME_ORDERED_BUFFER, retention_ms=20)

Record = tuple[str, str, int]
records = st.lists(
    st.tuples(st.sampled_from(["a", "ab", "b"]), st.text("xyz", min_size=1), st.integers(0, 100)),
    max_size=30,
)


def context(timestamp: int) -> RecordContext:
    return RecordContext(timestamp, 7, 0, "in", (("h", b"x"), ("n", None)))


def drain(bench: Bench, until: int = MAX_LONG) -> list[Eviction]:
    found: list[Eviction] = []
    bench.store.evict_while(lambda: bench.store.min_timestamp <= until, found.append)
    return found


def suppress(bench: Bench, records: list[Record]) -> None:
    for key, value, time in records:
        bench.store.put(time, key, Change(value, None), context(time))


@given(records=records, until=st.integers(0, 100))
def test_suppressed_changes_leave_by_time_of_their_first_change(
    records: list[Record], until: int
) -> None:
    """A later change of a key replaces the value and keeps the place."""
    bench = Bench(SUPPRESS)
    suppress(bench, records)
    first = {key: time for key, _, time in reversed(records)}
    last = {key: value for key, value, _ in records}
    order = sorted(first, key=lambda key: (first[key], key))
    wanted = [(key, last[key]) for key in order if first[key] <= until]
    assert [(gone.key, gone.value.new) for gone in drain(bench, until)] == wanted
    assert bench.store.num_records == len(first) - len(wanted)
    drain(bench)
    assert (bench.store.num_records, bench.store.buffer_size_bytes) == (0, 0)
    assert bench.store.min_timestamp == MAX_LONG


@given(before=records, after=records, until=st.integers(0, 100))
def test_restored_suppression_goes_on_as_the_old_one_would(
    before: list[Record], after: list[Record], until: int
) -> None:
    """The changelog has place, prior value, change and context of every buffered key."""
    old, new = Bench(SUPPRESS), Bench(SUPPRESS)
    suppress(old, before)
    old.store.flush()
    drain(old, until)
    suppress(old, after)
    old.store.flush()
    new.store.restore(old.logged)
    assert new.store.num_records == old.store.num_records
    assert new.store.buffer_size_bytes == old.store.buffer_size_bytes
    for key in ["a", "ab", "b"]:
        found = new.store.prior_value_for_buffered(key)
        assert found == old.store.prior_value_for_buffered(key)
    assert drain(new) == drain(old)


def join(bench: Bench, records: list[Record]) -> list[Any]:
    """Does what the join does: puts each record, evicts; refused records come out at once."""
    seen: list[Any] = []
    for key, value, time in records:
        if not bench.store.put(0, key, value, context(time)):
            seen.append(("late", key, value))
        bench.store.evict_while(lambda: True, seen.append)
    return seen


@settings(max_examples=15)
@given(records=records)
def test_join_buffer_gives_records_back_once_grace_has_passed(records: list[Record]) -> None:
    """Each record comes out once, by time, key and arrival, or was too late to wait."""
    memory = Bench(JOIN)
    with on_disk(JOIN) as disk:
        seen = join(disk, records)
        assert seen == join(memory, records)
        assert disk.logged == memory.logged
        newest = max((time for _, _, time in records), default=0)
        waiting = [time for _, _, time in records if time > newest - 20]
        assert disk.store.num_records == len(records) - len(seen)
        assert disk.store.num_records == len(waiting)


@settings(max_examples=15)
@given(before=records, after=records)
def test_join_buffer_survives_restart_and_restore(
    before: list[Record], after: list[Record]
) -> None:
    """What waits, how long, and in which order is the same on the other side."""
    with on_disk(JOIN) as restarted:
        steady, restored = Bench(JOIN), Bench(JOIN)
        join(steady, before)
        join(restarted, before)
        restarted.reopen()
        restored.store.restore(steady.logged)
        sizes = {bench.store.buffer_size_bytes for bench in (steady, restarted, restored)}
        assert len(sizes) == 1
        wanted = join(steady, after)
        assert join(restarted, after) == wanted
        assert join(restored, after) == wanted
