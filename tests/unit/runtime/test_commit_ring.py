"""Commits are kept, the more sparsely the older they are."""

from __future__ import annotations

from penstock.runtime.spark.driver.observing.commit_ring import CommitRing


def test_the_newest_commits_are_all_there_and_older_ones_thinned_out() -> None:
    """A slider reaches minutes back, and memory stays small."""
    ring = CommitRing(most=40)
    for number in range(1_000):
        ring.note(number, {("t", 0): number}, at_ms=number)
    numbers = [commit.number for commit in ring.latest()]
    assert len(numbers) <= 40
    assert numbers[-20:] == [*range(980, 1_000)]
    assert numbers == sorted(numbers)
    assert numbers[0] < 900
    assert ring.latest()[-1].end("t", 0) == 999
    assert ring.latest()[-1].end("t", 1) is None


def test_a_run_that_counts_from_the_beginning_forgets_the_one_before() -> None:
    """Numbers of another run would mean other states."""
    ring = CommitRing()
    ring.note(7, {})
    ring.note(0, {})
    assert [commit.number for commit in ring.latest()] == [0]


def test_a_commit_knows_up_to_where_topics_were_read() -> None:
    """So that the state before a record can be found."""
    ring = CommitRing()
    ring.note(1, {("log", 0): 9}, positions={("in", 0): 4, ("in", 1): 7})
    assert ring.latest()[0].positions == {"in": {0: 4, 1: 7}}
