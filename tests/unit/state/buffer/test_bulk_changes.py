"""A batch leaves the buffer of ``suppress`` as single changes do."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.change import Change
from penstock.model.record import RecordContext
from penstock.model.time.duration import MAX_LONG
from penstock.serde.serdes import Serdes
from penstock.state.buffer.bulk_changes import BulkChanges
from penstock.state.spec import StoreKind, StoreSpec
from tests.state.kinds import Bench

SPEC = StoreSpec(
    name="store",
    kind=StoreKind.TIME_ORDERED_BUFFER,
    persistent=False,
    key_serde=Serdes.string(),
    value_serde=Serdes.string(),
)
CONTEXT = RecordContext(5, 6, 1, "topic", (("h", b"x"),))
VALUES = st.sampled_from([None, "a", "bb"])
#: A change of a key at a time, and how many changes leave the buffer then.
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("xyz"), VALUES, VALUES, st.integers(0, 2)),
    max_size=12,
)


def raw(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def bench() -> tuple[Bench, BulkChanges]:
    made = Bench(SPEC)
    assert isinstance(made.store.bulk, BulkChanges)
    return made, made.store.bulk


def evicted(store: Any, count: int) -> list[Any]:
    found: list[Any] = []
    store.evict_while(
        lambda: len(found) < count,
        lambda each: found.append((each.key, each.value, each.record_context)),
    )
    return found


@given(batches=st.lists(STEPS, max_size=3))
def test_changes_of_a_batch_are_those_of_single_puts(batches: list[Any]) -> None:
    """What leaves, in which order, sizes, and what is logged."""
    (one, _), (other, bulk) = bench(), bench()
    for steps in batches:
        overlay = bulk.overlay()
        for time, key, new, old, leaving in steps:
            one.store.put(time, key, Change(new, old), CONTEXT)
            overlay.put(time, key.encode(), raw(new), raw(old), CONTEXT)
            assert overlay.first_time == one.store.min_timestamp
            for expected in evicted(one.store, leaving):
                assert other.store.num_records == bulk.overlay().num_records
                left, value = overlay.take_first()
                change = Change(*(v and v.decode() for v in (value.new, value.old)))
                assert (left.decode(), change, value.context) == expected
            assert overlay.num_records == one.store.num_records
            assert overlay.size_bytes == one.store.buffer_size_bytes
        overlay.apply()
        for each in (one, other):
            each.store.flush()
        assert other.logged == one.logged
        assert (other.store.num_records, other.store.buffer_size_bytes) == (
            one.store.num_records, one.store.buffer_size_bytes,
        )  # fmt: skip
        for key in "xyz":
            buffered = [each.store.prior_value_for_buffered(key) for each in (one, other)]
            assert buffered[0] == buffered[1]
    assert evicted(other.store, 9) == evicted(one.store, 9)


def test_nothing_changes_before_the_batch_has_succeeded() -> None:
    made, bulk = bench()
    made.store.put(3, "x", Change("a", None), CONTEXT)
    overlay = bulk.overlay()
    overlay.put(1, b"y", b"b", None, CONTEXT)
    overlay.take_first()
    overlay.take_first()
    assert overlay.first_time == MAX_LONG
    assert (made.store.num_records, made.store.min_timestamp) == (1, 3)
    overlay.apply()
    assert made.store.num_records == 0
