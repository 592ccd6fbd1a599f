"""Holding a table's changes back."""

from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.model.change import Change
from penstock.serde.serdes import Serdes
from penstock.serde.windowed import TimeWindowedSerde
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import Suppress
from tests.unit.kernel.single_node import Forwarded, SingleNode, windowed


def buffer(key_serde: Any) -> StoreSpec:
    return StoreSpec(
        name="buffer",
        kind=StoreKind.TIME_ORDERED_BUFFER,
        persistent=False,
        key_serde=key_serde,
    )


def until_closed(grace_ms: int = 0) -> SingleNode:
    node = Suppress(
        name="n",
        buffer="buffer",
        wait_ms=grace_ms,
        until_window_closes=True,
        safe_to_drop_tombstones=True,
    )
    return SingleNode(node, buffer(TimeWindowedSerde(Serdes.string(), 10)))


def until_time(wait_ms: int = 100, **options: Any) -> SingleNode:
    node = Suppress(
        name="n", buffer="buffer", wait_ms=wait_ms, until_window_closes=False, **options
    )
    return SingleNode(node, buffer(Serdes.string()))


def change(new: str | None, old: str | None = None) -> Change:
    return Change(new, old)


@pytest.mark.parametrize(("stream_time", "is_released"), [(14, False), (15, True), (16, True)])
def test_a_window_is_released_when_stream_time_reaches_end_plus_grace(
    stream_time: int, is_released: bool
) -> None:
    """Trap: equality releases, just as it closes the window."""
    node = until_closed(grace_ms=5)
    node.pipe(windowed("k", 0, 10), change("1"), 3)
    released = node.pipe(windowed("k", 10, 20), change("2"), stream_time)
    assert [f.key for f in released] == ([windowed("k", 0, 10)] if is_released else [])


def test_the_last_change_is_released_once_with_its_own_time_and_headers() -> None:
    """Not with those of the record that moved stream time on."""
    node = until_closed()
    node.pipe(windowed("k", 0, 10), change("1"), 3, (("h", b"1"),))
    node.pipe(windowed("k", 0, 10), change("2", "1"), 2, (("h", b"2"),))
    assert node.pipe(windowed("k", 10, 20), change("3"), 12) == [
        Forwarded(windowed("k", 0, 10), change("2", "1"), 2, (("h", b"2"),))
    ]
    assert node.pipe(windowed("k", 10, 20), change("4"), 13) == []


def test_the_position_of_the_held_back_record_comes_along() -> None:
    """Sinks and processors further down see where the released record was read from."""
    node = until_closed()
    seen: list[tuple[int, int]] = []
    node.executor.forward = lambda *record: seen.append(
        (node.context.offset, node.context.partition)
    )
    node.pipe(windowed("k", 0, 10), change("1"), 3)
    node.pipe(windowed("k", 10, 20), change("2"), 15)
    assert seen == [(0, 3)]
    assert node.context.offset == 1


def test_windows_are_released_in_order_of_time_then_of_serialized_key() -> None:
    """Trap: not in the order in which they were held back."""
    node = until_closed()
    for key, start in (("b", 10), ("b", 0), ("a", 0)):
        node.pipe(windowed(key, start, start + 10), change("v"), 5)
    released = node.pipe(windowed("z", 40, 50), change("v"), 45)
    assert [(f.key.key, f.key.start) for f in released] == [("a", 0), ("b", 0), ("b", 10)]


def test_tombstones_are_not_released_where_nothing_was_emitted_before() -> None:
    """A window that was emptied before it closed never existed for anyone."""
    node = until_closed()
    node.pipe(windowed("k", 0, 10), change("1"), 3)
    node.pipe(windowed("k", 0, 10), change(None, "1"), 4)
    assert node.pipe(windowed("k", 10, 20), change("2"), 15) == []


def test_a_time_limit_counts_from_the_first_change_of_the_key() -> None:
    """Later changes replace the value and do not put the release off; tombstones are released."""
    node = until_time(100)
    node.pipe("a", change("1"), 10)
    node.pipe("a", change(None, "1"), 60)
    assert node.pipe("b", change("2"), 109) == []
    assert node.pipe("b", change("3"), 110) == [Forwarded("a", change(None, "1"), 60)]


def test_without_waiting_time_changes_go_straight_through() -> None:
    """The record itself may be released at once."""
    node = until_time(0)
    assert node.pipe("a", change("1"), 10) == [Forwarded("a", change("1"), 10)]


def test_a_late_record_is_released_at_once() -> None:
    """Its time plus the limit has passed already."""
    node = until_time(100)
    node.pipe("a", change("1"), 500)
    assert [f.key for f in node.pipe("b", change("2"), 400)] == ["b"]


def test_a_full_buffer_emits_its_earliest_records_early() -> None:
    """Only as many as needed."""
    node = until_time(1_000, max_records=2, emits_early=True)
    node.pipe("a", change("1"), 20)
    node.pipe("b", change("2"), 10)
    assert node.out == []
    assert [f.key for f in node.pipe("c", change("3"), 30)] == ["b"]


def test_a_buffer_is_measured_in_bytes_too() -> None:
    """Whichever limit is passed first counts."""
    node = until_time(1_000, max_bytes=200, emits_early=True)
    node.pipe("a", change("1"), 10)
    assert [f.key for f in node.pipe("b", change("x" * 200), 20)] == ["a", "b"]


def test_a_full_buffer_stops_with_an_error_that_says_how_full_it_is() -> None:
    """The strict way: rather no result than an early one."""
    node = until_time(1_000, max_records=1)
    node.pipe("a", change("1"), 10)
    with pytest.raises(StreamsError, match="'n' is too full: 2 of 1 records") as caught:
        node.pipe("b", change("2"), 11)
    assert caught.value.code == "suppress-buffer-full"
