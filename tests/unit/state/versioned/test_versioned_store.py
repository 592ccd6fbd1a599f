"""Versioned stores: the recorded Java run, what is too old, and the bytes of a segment."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidStateError, NullArgumentError
from penstock.model.versioned import (
    PUT_RETURN_CODE_NOT_PUT,
    PUT_RETURN_CODE_VALID_TO_UNDEFINED,
    VersionedRecord,
)
from penstock.state.versioned.versioned_bytes import default_versioned_interval_ms
from penstock.state.versioned.versioned_segment import SegmentVersions
from tests.state.kinds import Bench, versioned
from tests.state.kit import Forwarded

LATEST, NOT_PUT = PUT_RETURN_CODE_VALID_TO_UNDEFINED, PUT_RETURN_CODE_NOT_PUT


def test_late_version_takes_its_place_in_history() -> None:
    """A put gives the time at which the next version, or a deletion, takes over."""
    store = Bench(versioned()).store
    assert [store.put("a", "v10", 10), store.put("a", "v20", 20)] == [LATEST, LATEST]
    assert store.get("a") == VersionedRecord("v20", 20)
    assert store.get("a", 15) == VersionedRecord("v10", 10)
    assert store.get("a", 9) is None
    assert store.put("a", "v15", 15) == 20
    assert store.get("a", 16) == VersionedRecord("v15", 15)
    assert store.delete("a", 30) == VersionedRecord("v20", 20)
    assert (store.get("a"), store.get("a", 29)) == (None, VersionedRecord("v20", 20))
    assert store.put("a", "v25", 25) == 30
    assert store.put("a", None, 12) == 15
    assert store.get("a", 13) is None


def test_all_versions_within_the_history_can_be_read() -> None:
    """Those of a key come newest first; what is older than the history has gone."""
    store = Bench(versioned()).store
    for key, value, time in (
        ("a", "old", 20),
        ("b", "b", 30),
        ("a", "mid", 500),
        ("a", "new", 1000),
    ):
        store.put(key, value, time)
    store.flush()
    assert sorted(store.all_versions(), key=lambda each: (each[0], -each[1].timestamp)) == [
        ("a", VersionedRecord("new", 1000)),
        ("a", VersionedRecord("mid", 500, 1000)),
        ("b", VersionedRecord("b", 30)),
    ]


def test_history_ends_at_the_retention_but_the_latest_version_stays() -> None:
    """History retention is the grace period of puts, too."""
    bench = Bench(versioned())
    store = bench.store
    store.put("a", "old", 20)
    store.put("a", "new", 30)
    store.put("b", "far", 1000)
    assert store.get("a", 25) is None
    assert store.get("a", 40) == store.get("a") == VersionedRecord("new", 30)
    assert [store.put("c", "x", 900), store.put("c", "x", 899)] == [LATEST, NOT_PUT]
    assert bench.dropped == 1
    assert store.delete("c", 899) is None
    assert bench.dropped == 2
    assert store.get("c") == VersionedRecord("x", 900)


def test_versions_know_until_when_they_were_valid() -> None:
    """Deletions are no versions; the latest one has no end."""
    store = Bench(versioned()).store
    for value, time in [("1", 10), ("2", 20), (None, 25), ("3", 40)]:
        store.put("a", value, time)
    one, two, three = (
        VersionedRecord("1", 10, 20), VersionedRecord("2", 20, 25), VersionedRecord("3", 40),
    )  # fmt: skip
    assert store.versions("a") == [three, two, one]
    assert store.versions("a", 20, 39) == [two]
    assert store.versions("b") == []


def test_changelog_has_every_put_at_its_own_time() -> None:
    """Also those that were too old, as in Kafka Streams."""
    bench = Bench(versioned())
    bench.task.at(7)
    bench.store.put("a", "x", 500)
    bench.store.put("a", "late", 5)
    bench.store.delete("a", 501)
    assert bench.logged == [(b"a", b"x", 500), (b"a", b"late", 5), (b"a", None, 501)]


def test_deletion_is_not_forgotten_by_a_restore() -> None:
    """Restoring works record by record: a skipped deletion would bring a value back."""
    old, new = Bench(versioned()), Bench(versioned())
    old.store.delete("a", 1)
    old.store.put("a", "x", 0)
    old.store.put("b", "y", 500)
    new.store.restore(old.logged)
    assert (old.store.get("a"), new.store.get("a")) == (None, None)


def test_store_is_never_cached_and_refuses_null_keys_and_calls_after_close() -> None:
    """A cache would keep one version per key."""
    bench = Bench(versioned(persistent=False))
    assert not bench.store.set_flush_listener(Forwarded(bench.task), send_old=False)
    with pytest.raises(NullArgumentError):
        bench.store.put(None, "x", 0)
    bench.store.close()
    assert not bench.store.is_open
    with pytest.raises(InvalidStateError, match="store 'store' is closed"):
        bench.store.get("a")


def test_segment_has_the_bytes_of_kafka_streams() -> None:
    """Recorded from Kafka Streams 4.1: a gap becomes a deletion, values lie at the end."""
    segment = SegmentVersions.of(b"a", 10, 20)
    first = "0000000000000014000000000000000a000000000000000a0000000161"
    assert segment.encode().hex() == first
    segment.insert_as_latest(25, 30, b"bcd")
    assert segment.encode().hex() == (
        "000000000000001e000000000000000a000000000000001900000003"
        "0000000000000014ffffffff000000000000000a0000000161626364"
    )
    segment.insert_as_earliest(5, None)
    assert segment.encode().hex() == (
        "000000000000001e0000000000000005000000000000001900000003"
        "0000000000000014ffffffff000000000000000a000000010000000000000005ffffffff61626364"
    )
    assert SegmentVersions.decode(segment.encode()).versions == segment.versions


def test_lone_deletion_has_the_bytes_of_kafka_streams() -> None:
    """It is a version of no length; what comes behind it leaves no gap."""
    segment = SegmentVersions.of(None, 10, 10)
    lone = "000000000000000a000000000000000a000000000000000affffffff"
    assert segment.encode().hex() == lone
    segment.insert_as_latest(15, 20, b"x")
    assert segment.encode().hex() == (
        "0000000000000014000000000000000a000000000000000f00000001000000000000000affffffff78"
    )


def test_overlap_from_a_half_done_write_is_cut() -> None:
    """An older program may have died between its two writes."""
    segment = SegmentVersions(30, [(20, b"b"), (10, b"a")])
    segment.insert_as_latest(20, 25, b"b")
    assert (segment.next_timestamp, segment.versions) == (25, [(20, b"b"), (10, b"a")])
    segment = SegmentVersions(30, [(20, b"b")])
    segment.insert_as_latest(20, 25, b"b")
    assert (segment.next_timestamp, segment.versions) == (25, [(20, b"b")])


def test_default_segments_grow_with_the_history() -> None:
    """Kafka Streams' steps."""
    steps = [(3_000, 2_000), (60_000, 20_000), (300_000, 60_000), (3_600_000, 300_000)]
    assert [default_versioned_interval_ms(history) for history, _ in steps] == [
        interval for _, interval in steps
    ]
    assert default_versioned_interval_ms(24 * 3_600_000) == 3_600_000
