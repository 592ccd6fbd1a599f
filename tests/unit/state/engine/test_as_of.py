"""A store as of an earlier moment shows exactly what it had: ``state.engine.as_of``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UnavailableError
from penstock.state.bytes_store import Write
from penstock.state.engine.as_of import StoreAsOf, Undo
from penstock.state.engine.memory import MemoryStore

KEYS = st.binary(min_size=1, max_size=2)
WRITES = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=2)), max_size=6)


class Kept:
    """A store, and what it had at moments that are still read."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.moments: list[tuple[StoreAsOf, dict[bytes, bytes]]] = []
        self._newest: Undo | None = None
        self._rows: dict[bytes, bytes] = {}

    def write(self, writes: list[Write]) -> None:
        if self._newest is not None:
            self._newest.note(self.store, writes)
        self.store.write(writes)
        for key, value in writes:
            self._rows.pop(key, None)
            if value is not None:
                self._rows[key] = value

    def remember(self) -> None:
        undo = Undo()
        if self._newest is not None:
            self._newest.later = undo
        self._newest = undo
        self.moments.append((StoreAsOf(self.store, undo), dict(self._rows)))


@given(st.lists(WRITES | st.none(), max_size=12), KEYS, KEYS)
def test_every_moment_shows_what_the_store_had(
    steps: list[list[Write] | None], low: bytes, high: bytes
) -> None:
    """By key, over all rows and over a range, whatever was written later."""
    kept = Kept()
    for writes in steps:
        if writes is None:
            kept.remember()
        else:
            kept.write(writes)
    for as_of, rows in kept.moments:
        wanted = sorted(rows.items())
        assert list(as_of.scan(None, None)) == wanted
        assert list(as_of.scan(low, high)) == [row for row in wanted if low <= row[0] < high]
        assert list(as_of.scan(low, None)) == [row for row in wanted if low <= row[0]]
        assert [as_of.get(key) for key in (low, high)] == [rows.get(low), rows.get(high)]


@given(st.lists(WRITES | st.none(), max_size=12))
def test_two_moments_differ_only_in_keys_that_were_written_between_them(
    steps: list[list[Write] | None],
) -> None:
    """Whoever follows moments looks only at those keys; backwards nothing is known."""
    kept = Kept()
    for writes in steps:
        if writes is None:
            kept.remember()
        else:
            kept.write(writes)
    for number, (before, old) in enumerate(kept.moments):
        for later, new in kept.moments[number:]:
            changed = before.changed_until(later)
            assert changed is not None
            assert {key for key in old | new if old.get(key) != new.get(key)} <= changed
        for earlier, _ in kept.moments[:number]:
            assert before.changed_until(earlier) is None


def test_what_was_not_kept_is_not_taken_for_unchanged() -> None:
    """A moment with too many changes is given up, and says so."""
    kept = Kept()
    kept.remember()
    kept.remember()
    (first, _), (second, _) = kept.moments
    assert first.is_whole
    undo = kept._newest
    assert undo is not None
    undo.is_whole = False
    assert not first.is_whole
    for read in (lambda: first.get(b"a"), lambda: list(first.scan(None, None))):
        with pytest.raises(UnavailableError, match="too many rows were overwritten"):
            read()
    assert first.changed_until(second) == set()
    kept.remember()
    assert second.changed_until(kept.moments[2][0]) is None


def test_what_is_written_during_a_scan_does_not_show() -> None:
    """The scan began before, and goes on over the rows of its moment."""
    kept = Kept()
    kept.write([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    kept.remember()
    kept.write([(b"b", None)])
    scan = kept.moments[0][0].scan(None, None)
    assert next(scan) == (b"a", b"1")
    kept.write([(b"b", b"9"), (b"c", None), (b"d", b"4")])
    assert list(scan) == [(b"b", b"2"), (b"c", b"3")]


def test_a_write_is_noted_once_and_only_for_the_newest_moment() -> None:
    """The values of a key that changes often are kept once for each moment."""
    kept = Kept()
    kept.write([(b"a", b"0")])
    kept.remember()
    undo = kept._newest
    assert undo is not None
    for number in range(5):
        kept.write([(b"a", b"%d" % number)])
    kept.remember()
    kept.write([(b"a", b"9"), (b"z", b"1")])
    assert len(undo) == 1
    assert undo.all() == {b"a": b"0", b"z": None}
