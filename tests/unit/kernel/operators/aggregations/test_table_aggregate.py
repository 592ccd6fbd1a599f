"""Folding a grouped table."""

from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.change import Change
from penstock.topology.nodes import TableAggregate, TableReduce
from tests.unit.kernel.several_nodes import Out, SeveralNodes, rows


def add(key: Any, value: str, aggregate: str) -> str:
    return f"{aggregate}+{value}"


def subtract(key: Any, value: str, aggregate: str) -> str | None:
    return None if value == "last" else f"{aggregate}-{value}"


def aggregating(*, sends_old: bool = False) -> SeveralNodes:
    node = TableAggregate(
        name="n", store="s", initializer=str, adder=add, subtractor=subtract, sends_old=sends_old
    )
    return SeveralNodes(node, stores=(rows("s"),))


def reducing() -> SeveralNodes:
    node = TableReduce(
        name="n",
        store="s",
        adder=lambda a, b: f"{a}+{b}",
        subtractor=lambda a, b: None if b == "last" else f"{a}-{b}",
    )
    return SeveralNodes(node, stores=(rows("s"),))


def test_subtractor_comes_before_adder_in_one_update() -> None:
    """A change within a group is one new aggregate."""
    task = aggregating(sends_old=True)
    task.pipe("n", "g", Change("1", None), 1)
    assert task.pipe("n", "g", Change("2", "1"), 2) == [Out("g", "+1-1+2", 2)]
    assert task.changes[-1] == Change("+1-1+2", "+1")


def test_nothing_is_subtracted_from_an_empty_group() -> None:
    """There is no aggregate that could contain the old row."""
    assert aggregating().pipe("n", "g", Change("2", "1"), 1) == [Out("g", "+2", 1)]


def test_result_has_the_later_timestamp_of_record_and_aggregate() -> None:
    """A late row does not make an aggregate older."""
    task = aggregating()
    task.pipe("n", "g", Change("1", None), 9)
    assert task.pipe("n", "g", Change("2", None), 3) == [Out("g", "+1+2", 9)]
    assert task.pipe("n", "g", Change(None, "2"), 4) == [Out("g", "+1+2-2", 9)]


def test_aggregate_that_became_null_forgets_its_timestamp() -> None:
    """The next row starts from the initializer, at its own time."""
    task = aggregating()
    task.pipe("n", "g", Change("last", None), 9)
    assert task.pipe("n", "g", Change(None, "last"), 4) == [Out("g", None, 9)]
    assert task.pipe("n", "g", Change("1", None), 5) == [Out("g", "+1", 5)]


def test_null_after_subtracting_starts_anew_within_the_same_update() -> None:
    """The initializer comes into play again, the time does not."""
    task = aggregating()
    task.pipe("n", "g", Change("last", None), 9)
    assert task.pipe("n", "g", Change("1", "last"), 5) == [Out("g", "+1", 9)]


def test_reduce_starts_with_the_first_row() -> None:
    """There is no initializer: the first row is the value."""
    task = reducing()
    assert task.pipe("n", "g", Change("1", None), 5) == [Out("g", "1", 5)]
    assert task.pipe("n", "g", Change("2", "1"), 3) == [Out("g", "1-1+2", 5)]
    assert task.pipe("n", "g", Change("3", "last"), 3) == [Out("g", "3", 5)]


@pytest.mark.parametrize("make", [aggregating, reducing])
def test_null_key_is_an_error(make: Any) -> None:
    """A grouping never forwards one."""
    with pytest.raises(StreamsError, match="without a key"):
        make().pipe("n", None, Change("a", None), 1)
