"""Rows that were written lately: the newest are known, and memory has a limit."""

from __future__ import annotations

from penstock.state.engine.recent import UNKNOWN, RecentRows


def _rows(names: str, value: bytes = b"v") -> dict[bytes, bytes | None]:
    return {name.encode(): value for name in names}


def test_a_newer_row_replaces_an_older_one() -> None:
    """Also when the older one is in the half that will go first."""
    recent = RecentRows(most_bytes=8 * 172)
    recent.add(_rows("abc", b"1"))
    recent.add(_rows("bcd", b"2"))
    assert recent.get_all([b"a", b"b", b"d", b"e"]) == [b"1", b"2", b"2", UNKNOWN]
    assert [recent.get(key) for key in (b"a", b"b", b"e")] == [b"1", b"2", UNKNOWN]


def test_the_oldest_rows_go_when_memory_is_full() -> None:
    """Eight rows fit: the rows of the newest batches stay."""
    recent = RecentRows(most_bytes=8 * 172)
    for names in ("abcd", "efgh", "ijkl"):
        recent.add(_rows(names))
    assert recent.get_all([b"a", b"e", b"i"]) == [UNKNOWN, b"v", b"v"]


def test_a_batch_that_does_not_fit_leaves_nothing_old() -> None:
    """Rows that the batch has replaced must not be found again."""
    recent = RecentRows(most_bytes=8 * 172)
    recent.add(_rows("a", b"1"))
    recent.add(_rows("abcdefghi", b"2"))
    assert recent.get_all([b"a", b"b"]) == [UNKNOWN, UNKNOWN]


def test_many_keys_of_which_few_are_here_are_not_worth_a_look() -> None:
    """Each look costs a little; of few keys, or of those of the last batch, it is worth it."""
    rows = RecentRows()
    rows.add({b"%d" % n: b"row" for n in range(5_000)})
    assert not rows.has_few_of([b"%d" % n for n in range(5_000)])
    assert not rows.has_few_of([b"%d" % n for n in range(0, 10_000, 2)])
    assert rows.has_few_of([b"%d" % n for n in range(4_900, 50_000)])
    assert not rows.has_few_of([b"%d" % n for n in range(6_000, 6_100)])
