"""``streams.query``: what partitions answer, and why they do not.

Exercises ``query.position``, ``query.queries``, ``query.request`` and ``query.result``.
"""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock import query
from penstock.errors import InvalidArgumentError, InvalidStateError, StreamsError
from penstock.model.versioned import VersionedRecord
from penstock.query import FailureReason, Position, PositionBound, StateQueryRequest
from penstock.runtime.spark.driver.stores.state_query import run_query
from penstock.runtime.spark.driver.stores.store_view import StoreView
from penstock.state.spec import StoreKind, StoreSpec


class Store:
    """Answers what it was given, and keeps what it was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers
        self.asked: list[tuple[Any, ...]] = []

    def query(self, store: str, partition: int, method: str, arguments: tuple[Any, ...]) -> Any:
        self.asked.append((partition, method, *arguments))
        found = self._answers[method]
        if isinstance(found, Exception):
            raise found
        return found


def asked(
    kind: StoreKind, answers: dict[str, Any], request: StateQueryRequest,
    position: Position | None = None, *, is_active: bool = True, is_global: bool = False,
    is_placed: bool = True,
) -> tuple[query.StateQueryResult, Store]:  # fmt: skip
    store = Store(answers)
    serde = ps.Serdes.string()
    spec = StoreSpec(name="s", kind=kind, key_serde=serde, value_serde=serde)
    config = ps.StreamsConfig({"application.id": "app"})
    view = StoreView(spec, 4, config, store, is_placed=is_placed)
    seen = Position() if position is None else position
    return run_query(view, request, seen, is_active=is_active, is_global=is_global), store


def request(of: query.Query) -> StateQueryRequest:
    return StateQueryRequest.in_store("s").with_query(of)


TIMED = ps.ValueAndTimestamp("v", 7)
KV, TIMED_KV = StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE


@pytest.mark.parametrize(
    ("kind", "of", "call", "found", "expected"),
    [
        (TIMED_KV, query.KeyQuery.with_key("k"), ("get", "k"), TIMED, "v"),
        (TIMED_KV, query.KeyQuery.with_key("k").skip_cache(), ("get", "k"), TIMED, "v"),
        (KV, query.KeyQuery.with_key("k"), ("get", "k"), "v", "v"),
        (TIMED_KV, query.TimestampedKeyQuery.with_key("k"), ("get", "k"), TIMED, TIMED),
        (
            KV, query.RangeQuery.with_range("a", "b"),
            ("range", "a", "b"), [("a", "v")], [("a", "v")],
        ),
        (KV, query.RangeQuery.with_no_bounds(), ("range", None, None), [], []),
        (KV, query.RangeQuery.with_lower_bound("a"), ("range", "a", None), [], []),
        (
            KV, query.RangeQuery.with_upper_bound("b").with_descending_keys(),
            ("reverse_range", None, "b"), [], [],
        ),
        (
            TIMED_KV, query.TimestampedRangeQuery.with_no_bounds().with_ascending_keys(),
            ("range", None, None), [("a", TIMED)], [("a", TIMED)],
        ),
        (
            StoreKind.TIMESTAMPED_WINDOW,
            query.WindowKeyQuery.with_key_and_window_start_range("k", 0, 9),
            ("fetch", "k", 0, 9), [(0, TIMED)], [(0, "v")],
        ),
        (
            StoreKind.WINDOW, query.WindowRangeQuery.with_window_start_range(0, 9),
            ("fetch_all", 0, 9), [("w", "v")], [("w", "v")],
        ),
        (
            StoreKind.SESSION, query.WindowRangeQuery.with_key("k"),
            ("fetch", "k"), [("w", 1)], [("w", 1)],
        ),
        (
            StoreKind.VERSIONED_KEY_VALUE, query.VersionedKeyQuery.with_key("k").as_of(5),
            ("get", "k", 5), VersionedRecord("v", 3), VersionedRecord("v", 3),
        ),
        (
            StoreKind.VERSIONED_KEY_VALUE,
            query.MultiVersionedKeyQuery.with_key("k")
            .from_time(1).to_time(9).with_ascending_timestamps(),
            ("versions", "k", 1, 9),
            [VersionedRecord("b", 5), VersionedRecord("a", 3)],
            [VersionedRecord("a", 3), VersionedRecord("b", 5)],
        ),
    ],
)  # fmt: skip
def test_each_kind_of_query_asks_its_method(
    kind: StoreKind, of: query.Query, call: tuple[Any, ...], found: Any, expected: Any
) -> None:
    """And gives values as their readers expect them."""
    result, store = asked(kind, {call[0]: found}, request(of).with_partitions([1]))
    assert store.asked == [(1, *call)]
    assert result.partition_results[1].value() == expected


def test_a_key_is_asked_in_its_partition_only() -> None:
    """A range goes to all of them."""
    of_key, store = asked(KV, {"get": "v"}, request(query.KeyQuery.with_key("k")))
    assert len(of_key.partition_results) == len(store.asked) == 1
    assert of_key.only_partition_result().result == "v"
    of_range, _ = asked(KV, {"range": []}, request(query.RangeQuery.with_no_bounds()))
    assert sorted(of_range.partition_results) == [0, 1, 2, 3]
    with pytest.raises(InvalidStateError, match="several-results"):
        of_range.only_partition_result()


def test_versions_come_newest_first() -> None:
    """As in Kafka Streams."""
    found = [VersionedRecord("a", 3), VersionedRecord("b", 5)]
    of = query.MultiVersionedKeyQuery.with_key("k")
    for asks in (of, of.with_descending_timestamps()):
        result, _ = asked(StoreKind.VERSIONED_KEY_VALUE, {"versions": found}, request(asks))
        rows = result.only_partition_result().result
        assert [row.timestamp for row in rows] == [5, 3]


def failure(*given: Any, **more: Any) -> FailureReason | None:
    result, store = asked(*given, **more)
    assert store.asked == []
    return next(iter(result.partition_results.values())).failure


def test_a_partition_that_cannot_answer_says_why() -> None:
    """Without being asked."""
    ask = request(query.KeyQuery.with_key("k"))
    assert failure(KV, {}, ask.with_partitions([7])) is FailureReason.DOES_NOT_EXIST
    assert failure(KV, {}, ask.require_active(), is_active=False) is FailureReason.NOT_ACTIVE
    assert failure(StoreKind.SESSION, {}, ask) is FailureReason.UNKNOWN_QUERY_TYPE
    bound = PositionBound.at(Position().with_component("in", 0, 5))
    behind = Position.from_next_offsets({("in", 0): 5})
    assert failure(KV, {}, ask.with_position_bound(bound), behind) is FailureReason.NOT_UP_TO_BOUND


def test_a_bound_that_is_reached_is_answered() -> None:
    """The position of an answer is the bound of the next question: one reads one's own writes."""
    ask = request(query.KeyQuery.with_key("k"))
    bound = PositionBound.at(Position().with_component("in", 0, 5))
    seen = Position.from_next_offsets({("in", 0): 6})
    result, _ = asked(KV, {"get": "v"}, ask.with_position_bound(bound), seen)
    assert result.only_partition_result().is_success
    assert result.position == seen


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StreamsError("store-not-copied", "elsewhere"), FailureReason.NOT_PRESENT),
        (StreamsError("copy-catching-up", "not yet"), FailureReason.NOT_PRESENT),
        # Its store is on its way to another thread.
        (StreamsError("worker-lost", "gone"), FailureReason.NOT_PRESENT),
        (StreamsError("store-read-failed", "the disk"), FailureReason.STORE_EXCEPTION),
    ],
)
def test_a_store_that_fails_is_no_exception(error: Exception, reason: FailureReason) -> None:
    """The other partitions have answered."""
    result, _ = asked(KV, {"get": error}, request(query.KeyQuery.with_key("k")))
    found = result.only_partition_result()
    assert found.failure is reason
    assert found.is_failure
    with pytest.raises(InvalidStateError, match="query-failed"):
        found.value()


def test_execution_info_is_given_when_it_is_wanted() -> None:
    """How long it took, and what was done."""
    ask = request(query.KeyQuery.with_key("k"))
    without, _ = asked(KV, {"get": None}, ask.with_all_partitions())
    assert next(iter(without.partition_results.values())).execution_info == ()
    result, _ = asked(KV, {"get": "v"}, ask.enable_execution_info())
    assert "get" in result.only_partition_result().execution_info[0]


def test_a_global_store_has_one_answer() -> None:
    """It has no partitions."""
    ask = request(query.KeyQuery.with_key("k"))
    result, _ = asked(KV, {"get": "v"}, ask, is_global=True, is_active=False)
    assert result.global_result is not None
    assert result.global_result.result == "v"
    assert result.partition_results == {}


def test_positions_are_merged_and_compared() -> None:
    """Partition by partition."""
    one = Position().with_component("a", 0, 3).with_component("b", 1, 2)
    two = Position().with_component("a", 0, 1).with_component("a", 1, 9)
    both = one.merge(two)
    assert both.partition_positions("a") == {0: 3, 1: 9}
    assert both.topics() == {"a", "b"}
    assert both.dominates(one)
    assert both.dominates(two)
    assert not one.dominates(two)
    assert Position.from_next_offsets({("a", 0): 0}) == Position.empty()
    assert PositionBound.unbounded().is_unbounded


def test_a_query_without_a_key_is_refused() -> None:
    """At once, not on another host."""
    with pytest.raises(InvalidArgumentError, match="null-key"):
        query.KeyQuery.with_key(None)


def test_partitions_that_are_all_behind_count_as_one_answer() -> None:
    """Nobody knows which partition has the key, so all are asked; the caller looks at one."""
    behind = request(query.KeyQuery.with_key("k")).with_position_bound(
        PositionBound.at(Position().with_component("t", 0, 9))
    )
    result, _ = asked(KV, {"get": None}, behind, is_placed=False)
    assert result.only_partition_result().failure is FailureReason.NOT_UP_TO_BOUND
