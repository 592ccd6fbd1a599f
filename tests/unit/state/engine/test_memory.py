"""The memory engine's scans cost no more than the rows that are read."""

from __future__ import annotations

from itertools import islice

from penstock.state.engine.memory import MemoryStore


def filled(count: int) -> MemoryStore:
    store = MemoryStore()
    store.write([(b"%05d" % number, b"v") for number in range(count)])
    return store


def test_abandoned_scan_stops_watching_writes() -> None:
    """A loop that breaks early must not slow down every later write."""
    store = filled(1_000)
    scan = store.scan(None, None)
    next(scan)
    assert len(store._scans) == 1
    del scan
    assert not store._scans


def test_finished_scan_stops_watching_writes() -> None:
    """Also while somebody still holds it."""
    store = filled(1_000)
    scan = store.scan(None, None)
    assert len(list(scan)) == 1_000
    assert not store._scans
    assert next(scan, None) is None


def test_short_scan_watches_nothing() -> None:
    """It is complete from the start."""
    store = filled(10)
    scan = store.scan(None, None)
    store.put(b"00003", None)
    assert not store._scans
    assert len(list(scan)) == 10


def test_scan_remembers_only_what_lies_ahead() -> None:
    """The clean-up loop deletes behind the scan, which needs no former values."""
    store = filled(3_000)
    scan = store.scan(None, None)
    for key, _ in islice(scan, 2_000):
        store.put(key, None)
        (watching,) = store._scans.values()
        live = watching()
        assert live is not None
        assert not live._former
    assert len(list(scan)) == 1_000
