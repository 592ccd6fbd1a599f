"""Turning records into a table.

Exercises ``table_forwarder``.
"""

from penstock.model.change import Change
from penstock.model.versioned import ValueAndTimestamp
from tests.unit.kernel.several_nodes import Out, SeveralNodes, rows, source, versions


def test_null_key_is_dropped() -> None:
    """A row needs a key."""
    task = SeveralNodes(source("t", "s"), stores=(rows("s"),))
    assert task.pipe("t", None, "x", 1) == []
    assert task.drops == ["null-key"]


def test_without_a_store_every_record_is_a_change_without_old_value() -> None:
    """What nobody reads is not stored."""
    task = SeveralNodes(source("t", sends_old=True))
    task.pipe("t", "a", "1", 1)
    task.pipe("t", "a", None, 2)
    assert task.changes == [Change("1", None), Change(None, None)]


def test_old_value_is_sent_only_when_a_later_node_asks() -> None:
    """Reading it costs a look-up per record."""
    for sends_old, old in ((False, None), (True, "1")):
        task = SeveralNodes(source("t", "s", sends_old=sends_old), stores=(rows("s"),))
        task.pipe("t", "a", "1", 1)
        task.pipe("t", "a", "2", 2)
        assert task.changes[-1] == Change("2", old)


def test_out_of_order_update_is_applied() -> None:
    """A table without versions takes updates in the order they arrive, whatever their time."""
    task = SeveralNodes(source("t", "s"), stores=(rows("s"),))
    task.pipe("t", "a", "new", 9)
    assert task.pipe("t", "a", "old", 3) == [Out("a", "old", 3)]
    assert task.stores["s"].get("a") == ValueAndTimestamp("old", 3)


def test_tombstone_deletes_the_row_and_is_forwarded() -> None:
    """A null value deletes."""
    task = SeveralNodes(source("t", "s"), stores=(rows("s"),))
    task.pipe("t", "a", "1", 1)
    assert task.pipe("t", "a", None, 2) == [Out("a", None, 2)]
    assert task.stores["s"].get("a") is None


def test_versioned_out_of_order_update_is_forwarded_but_not_the_latest() -> None:
    """Streams see every version; later table operators tell the latest from the others."""
    task = SeveralNodes(source("t", "s"), stores=(versions("s"),))
    task.pipe("t", "a", "new", 9)
    task.pipe("t", "a", "old", 3)
    assert task.changes == [Change("new", None), Change("old", None, is_latest=False)]


def test_version_older_than_the_history_goes_no_further() -> None:
    """What the store refuses does not exist for later nodes either."""
    task = SeveralNodes(source("t", "s"), stores=(versions("s", history_ms=100),))
    task.pipe("t", "a", "new", 100_000)
    assert task.pipe("t", "a", "old", 3) == []


def test_cached_store_forwards_on_flush_only() -> None:
    """Behind a cache several updates of a key become one change."""
    spec = rows("s", caching=True)
    task = SeveralNodes(source("t", "s", sends_old=True), stores=(spec,), cache_bytes=10_000)
    task.pipe("t", "a", "1", 1)
    assert task.pipe("t", "a", "2", 2) == []
    task.stores["s"].flush()
    assert task.changes == [Change("2", None)]
