"""The changelog records of a run: each key once, but every put of a versioned store."""

from __future__ import annotations

from penstock.runtime.spark.worker.changelog_buffer import ChangelogBuffer


def _taken(buffer: ChangelogBuffer) -> dict[str, list[tuple[bytes, bytes | None, int]]]:
    return {
        store: [logged.at(n) for n in range(len(logged.keys))] for store, logged in buffer.take()
    }


def test_a_key_is_logged_once_with_its_last_value() -> None:
    """Single records and batches of them may take turns."""
    buffer = ChangelogBuffer(set())
    buffer.log_all("s", [b"a", b"b"], [b"1", b"2"], [1, 2])
    buffer.log("s", b"b", None, 3)
    buffer.log_all("s", [b"a", b"c"], [b"4", b"5"], [4, 5])
    assert _taken(buffer) == {"s": [(b"a", b"4", 4), (b"b", None, 3), (b"c", b"5", 5)]}
    assert _taken(buffer) == {}


def test_two_batches_of_one_run_become_one() -> None:
    """The second replaces what it has in common with the first."""
    buffer = ChangelogBuffer(set())
    buffer.log_all("s", [b"a", b"b"], [b"1", b"2"], [1, 2])
    buffer.log_all("s", [b"b"], [b"3"], [3])
    assert _taken(buffer) == {"s": [(b"a", b"1", 1), (b"b", b"3", 3)]}


def test_every_put_of_a_versioned_store_is_logged() -> None:
    """What one of them does depends on those before it."""
    buffer = ChangelogBuffer({"v"})
    buffer.log("v", b"a", b"1", 1)
    buffer.log("v", b"a", b"2", 2)
    assert _taken(buffer) == {"v": [(b"a", b"1", 1), (b"a", b"2", 2)]}


def test_nothing_is_logged_of_an_empty_batch() -> None:
    """A table of which every record came and went has nothing to write."""
    buffer = ChangelogBuffer(set())
    buffer.log_all("s", [], [], [])
    assert _taken(buffer) == {}
