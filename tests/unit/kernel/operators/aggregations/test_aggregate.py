"""Folding a grouped stream."""

from typing import Any

import pytest

from penstock.model.change import Change
from penstock.model.versioned import ValueAndTimestamp
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Aggregate, Reduce
from tests.unit.kernel.single_node import Forwarded, SingleNode, joined, timestamped_store

HEADERS = (("h", b""),)


def aggregate(*, fn: Any = joined, **options: Any) -> Aggregate:
    return Aggregate(name="n", store="store", initializer=lambda: "", fn=fn, **options)


def reduce(**options: Any) -> Reduce:
    return Reduce(name="n", store="store", fn=lambda a, b: f"{a}+{b}", **options)


def test_each_record_updates_the_row_of_its_key_and_is_forwarded() -> None:
    """Without a cache there is one update per record, under the record's headers."""
    node = SingleNode(aggregate(), timestamped_store())
    assert node.pipe("a", "1", 5, HEADERS) == [Forwarded("a", Change("1", None), 5, HEADERS)]
    assert node.pipe("b", "2", 6) == [Forwarded("b", Change("2", None), 6)]
    assert node.pipe("a", "3", 7) == [Forwarded("a", Change("1,3", None), 7)]
    assert node.stores["store"].get("a") == ValueAndTimestamp("1,3", 7)


@pytest.mark.parametrize(("key", "value"), [(None, "v"), ("k", None), (None, None)])
@pytest.mark.parametrize("node", [aggregate(), reduce()])
def test_null_keys_and_null_values_are_dropped(node: Any, key: Any, value: Any) -> None:
    """Trap: a null value does not delete the row of a stream aggregation, it is ignored."""
    task = SingleNode(node, timestamped_store())
    task.pipe("k", "1", 0)
    assert task.pipe(key, value, 5) == []
    assert task.drops == ["null-key-or-value"]
    assert task.stores["store"].get("k") == ValueAndTimestamp("1", 0)


@pytest.mark.parametrize("node", [aggregate(), reduce()])
def test_the_result_carries_the_highest_timestamp_so_far(node: Any) -> None:
    """Trap: a late record updates the value, but does not turn the row's time back."""
    task = SingleNode(node, timestamped_store())
    assert [task.pipe("k", v, t)[0].timestamp for v, t in (("1", 5), ("2", 9), ("3", 7))] == [
        5, 9, 9,
    ]  # fmt: skip
    assert task.stores["store"].get("k").timestamp == 9


def test_an_aggregate_of_none_deletes_the_row_and_its_timestamp() -> None:
    """Trap: the next record starts from the initializer and from its own, earlier time."""
    node = SingleNode(
        aggregate(fn=lambda k, v, a: None if v == "x" else joined(k, v, a)), timestamped_store()
    )
    node.pipe("k", "1", 9)
    assert node.pipe("k", "x", 3) == [Forwarded("k", Change(None, None), 9)]
    assert node.stores["store"].get("k") is None
    assert node.pipe("k", "2", 4) == [Forwarded("k", Change("2", None), 4)]


def test_old_values_are_sent_where_a_later_node_asks_for_them() -> None:
    """The first old value is the initial aggregate in an aggregation, None in a reduction."""
    node = SingleNode(aggregate(sends_old=True), timestamped_store())
    node.pipe("k", "1", 0)
    node.pipe("k", "2", 0)
    assert [f.value for f in node.out] == [Change("1", ""), Change("1,2", "1")]
    node = SingleNode(reduce(sends_old=True), timestamped_store())
    node.pipe("k", "1", 0)
    node.pipe("k", "2", 0)
    assert [f.value for f in node.out] == [Change("1", None), Change("1+2", "1")]


def test_the_first_value_starts_a_reduction() -> None:
    """The function sees two values or is not called at all."""
    node = SingleNode(reduce(), timestamped_store())
    assert [node.pipe("k", v, 0)[0].value.new for v in "abc"] == ["a", "a+b", "a+b+c"]


def test_behind_a_cache_only_the_last_update_is_forwarded() -> None:
    """Trap: caching changes how many updates are seen; the flush carries row time and headers."""
    node = SingleNode(
        aggregate(sends_old=True), timestamped_store(caching=True), cache_bytes=10_000
    )
    assert node.pipe("k", "1", 5) == []
    assert node.pipe("k", "2", 3, HEADERS) == []
    node.stores["store"].flush()
    assert node.out == [Forwarded("k", Change("1,2", None), 5, HEADERS)]
    node.pipe("k", "3", 8)
    node.stores["store"].flush()
    assert node.out[1:] == [Forwarded("k", Change("1,2,3", "1,2"), 8)]


def versioned(history_ms: int = 100) -> StoreSpec:
    return StoreSpec(
        name="store", kind=StoreKind.VERSIONED_KEY_VALUE, history_retention_ms=history_ms
    )


def test_a_versioned_store_keeps_each_result_as_a_version() -> None:
    """A late record is folded into the latest aggregate, which keeps its later timestamp."""
    node = SingleNode(aggregate(versioned=True), versioned())
    assert node.pipe("k", "1", 50) == [Forwarded("k", Change("1", None, True), 50)]
    assert node.pipe("k", "2", 40) == [Forwarded("k", Change("1,2", None, True), 50)]
    assert node.stores["store"].get("k", 49) is None
    assert node.stores["store"].get("k").value == "1,2"


def test_what_a_versioned_store_does_not_take_is_not_forwarded() -> None:
    """A key that starts further back than the history is in no table, so it is no update."""
    node = SingleNode(aggregate(versioned=True), versioned(history_ms=10))
    node.pipe("a", "1", 1_000)
    assert node.pipe("b", "2", 5) == []
    assert node.stores["store"].get("b") is None
