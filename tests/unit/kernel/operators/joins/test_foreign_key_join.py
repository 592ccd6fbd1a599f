"""Joining two tables on a foreign key of the left one."""

from typing import Any

import pytest

from penstock.model.change import Change
from penstock.model.hashing import murmur3_128
from penstock.model.subscription import (
    Instruction,
    SubscriptionResponseWrapper,
    SubscriptionWrapper,
)
from penstock.serde.serdes import Serdes
from penstock.serde.subscription import SubscriptionWrapperSerde
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.nodes import (
    ForeignKeyLookUp,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    ForeignKeyUpdate,
)
from tests.unit.kernel.several_nodes import (
    Out,
    SeveralNodes,
    pipe_joined,
    rows,
    source,
)

DELETE = Instruction.DELETE_KEY_AND_PROPAGATE
DELETE_SILENTLY = Instruction.DELETE_KEY_NO_PROPAGATE
ALWAYS = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE

SUBSCRIPTIONS = StoreSpec(
    name="subs",
    kind=StoreKind.FOREIGN_KEY_SUBSCRIPTION,
    persistent=False,
    key_serde=Serdes.bytes(),
    value_serde=SubscriptionWrapperSerde(Serdes.string()),
)


def foreign_key(value: str) -> str | None:
    """The text before the colon; none without one."""
    key, colon, _ = value.partition(":")
    return key if colon else None


def subscribing(*, is_left_join: bool, **options: Any) -> SeveralNodes:
    node = ForeignKeySubscribe(
        name="s", foreign_key=foreign_key, with_key=False, is_left_join=is_left_join, **options
    )
    return SeveralNodes(node)


def sent(task: SeveralNodes, new: Any, old: Any) -> list[tuple[Any, Instruction]]:
    out = task.pipe("s", "k", Change(new, old), 1)
    return [(message.key, message.value.instruction) for message in out]


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("x:1", None, [("x", IF_FOUND)]),
        ("x:2", "x:1", [("x", IF_FOUND)]),
        ("y:1", "x:1", [("x", DELETE_SILENTLY), ("y", ALWAYS)]),
        (None, "x:1", [("x", DELETE)]),
        ("none", "x:1", [("x", DELETE)]),
        ("x:1", "none", [("x", IF_FOUND)]),
        ("none", None, []),
        ("none", "nothing", []),
        (None, "none", []),
        (None, None, []),
    ],
)
def test_inner_join_subscribes(new: Any, old: Any, expected: list[Any]) -> None:
    """A row whose foreign key changes ends one subscription before it begins the next."""
    assert sent(subscribing(is_left_join=False), new, old) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("x:1", None, [("x", ALWAYS)]),
        ("x:2", "x:1", [("x", ALWAYS)]),
        ("y:1", "x:1", [("x", DELETE_SILENTLY), ("y", ALWAYS)]),
        (None, "x:1", [("x", DELETE_SILENTLY), (None, ALWAYS)]),
        ("none", "x:1", [("x", DELETE_SILENTLY), (None, ALWAYS)]),
        ("x:1", "none", [("x", ALWAYS)]),
        ("none", None, [(None, ALWAYS)]),
        (None, "none", [(None, ALWAYS)]),
        (None, None, []),
    ],
)
def test_left_join_subscribes(new: Any, old: Any, expected: list[Any]) -> None:
    """Every change has an answer, also without a foreign key."""
    assert sent(subscribing(is_left_join=True), new, old) == expected


@pytest.mark.parametrize("given_up", [None, "none", "y:1"])
@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("z:1", None, [("z", ALWAYS)]),
        ("y:2", "y:1", [("y", ALWAYS)]),
        ("none", "nothing", [(None, ALWAYS)]),
        (None, "none", [(None, ALWAYS)]),
        (None, "y:1", [("y", DELETE)]),
    ],
)
def test_inner_join_answers_a_row_that_has_just_given_up_a_foreign_key(
    given_up: Any, new: Any, old: Any, expected: list[Any]
) -> None:
    """The answer that deletes the result will be dropped, until no message is on its way."""
    task = subscribing(is_left_join=False)
    sent(task, given_up, "x:1")
    assert sent(task, new, old) == expected
    task.settle()
    assert (None, ALWAYS) not in sent(task, "none", None)


def test_row_without_foreign_key_is_counted_as_dropped_by_an_inner_join() -> None:
    """It can have no result."""
    task = subscribing(is_left_join=False)
    sent(task, "none", None)
    assert task.drops == ["null-foreign-key"]


def test_message_carries_hash_key_and_partition() -> None:
    """The answer finds its way back, and shows which value it answers."""
    task = subscribing(is_left_join=False)
    message = task.pipe("s", "k", Change("x:1", None), 7)[0]
    expected = SubscriptionWrapper(murmur3_128(b"x:1"), IF_FOUND, "k", primary_partition=3)
    assert message == Out("x", expected, 7)
    assert task.pipe("s", "k", Change(None, "x:1"), 8)[0].value.hash is None


def test_out_of_order_change_of_a_versioned_table_is_ignored() -> None:
    """A join has the latest rows only."""
    task = subscribing(is_left_join=True, versioned=True)
    assert task.pipe("s", "k", Change("x:1", None, is_latest=False), 1) == []
    assert task.drops == ["out-of-order"]


def right_side(**update: Any) -> SeveralNodes:
    return SeveralNodes(
        ForeignKeyReceive(name="in", store="subs"),
        ForeignKeyLookUp(name="look", parents=("in",), table="t"),
        source("t", "ts"),
        ForeignKeyUpdate(name="up", parents=("t",), store="subs", **update),
        stores=(SUBSCRIPTIONS, rows("ts")),
    )


def subscribe(
    task: SeveralNodes,
    foreign: Any,
    key: str,
    how: Instruction,
    time: int = 1,
    *,
    digest: bytes = bytes(16),
) -> list[tuple[Any, Any, int]]:
    """Gives the answers as (key, foreign value, time)."""
    wrapper = SubscriptionWrapper(digest, how, key, primary_partition=5)
    return answers(task.pipe("in", foreign, wrapper, time), digest)


def answers(out: list[Out], digest: bytes = bytes(16)) -> list[tuple[Any, Any, int]]:
    assert all(answer.value.hash == digest for answer in out)
    assert all(answer.value.primary_partition == 5 for answer in out)
    return [(answer.key, answer.value.foreign_value, answer.timestamp) for answer in out]


def test_subscription_is_answered_with_the_row_at_the_later_time() -> None:
    """The answer depends on both, so it is as late as the later one."""
    task = right_side()
    assert subscribe(task, "x", "k", IF_FOUND) == []
    task.pipe("t", "x", "row", 9)
    assert subscribe(task, "x", "k", IF_FOUND, 5) == [("k", "row", 9)]
    assert subscribe(task, "x", "k", ALWAYS, 12) == [("k", "row", 12)]
    assert subscribe(task, "y", "k", ALWAYS, 12) == [("k", None, 12)]


def test_deleted_subscription_is_answered_only_if_asked() -> None:
    """With None, at the later time of row and message."""
    task = right_side()
    task.pipe("t", "x", "row", 9)
    assert subscribe(task, "x", "k", DELETE_SILENTLY) == []
    assert subscribe(task, "x", "k", DELETE, 5) == [("k", None, 9)]


def test_changed_row_answers_all_its_subscribers_in_key_order() -> None:
    """And no one else's; the answer has the time of the change."""
    task = right_side()
    for foreign, key in (("x", "k2"), ("x", "k1"), ("xx", "k3"), ("w", "k4")):
        subscribe(task, foreign, key, IF_FOUND)
    assert answers(task.pipe("t", "x", "row", 4)) == [("k1", "row", 4), ("k2", "row", 4)]
    subscribe(task, "x", "k1", DELETE_SILENTLY)
    assert answers(task.pipe("t", "x", None, 5)) == [("k2", None, 5)]


def test_subscriber_of_a_row_that_was_just_deleted_is_answered() -> None:
    """It may have changed before the answer about the deletion reached it."""
    task, newer = right_side(), b"newer".ljust(16)
    task.pipe("t", "x", "row", 1)
    subscribe(task, "x", "k", IF_FOUND)
    task.pipe("t", "x", None, 2)
    assert subscribe(task, "x", "k", IF_FOUND, 3, digest=newer) == [("k", None, 3)]
    assert subscribe(task, "x", "other", IF_FOUND, 3) == []
    assert subscribe(task, "x", "k", IF_FOUND, 4) == [("k", None, 4)]
    task.settle()
    assert subscribe(task, "x", "k", IF_FOUND, 5, digest=newer) == []


def test_subscriber_that_did_not_change_is_told_of_a_deleted_row_once() -> None:
    """It takes the answer under the hash that it had."""
    task = right_side()
    task.pipe("t", "x", "row", 1)
    subscribe(task, "x", "k", IF_FOUND)
    assert answers(task.pipe("t", "x", None, 2)) == [("k", None, 2)]
    assert subscribe(task, "x", "k", IF_FOUND, 3) == []


def test_null_foreign_key_is_answered_but_not_kept() -> None:
    """Only a left join sends one that wants an answer."""
    task = right_side()
    assert subscribe(task, None, "k", ALWAYS, 4) == [("k", None, 4)]
    assert subscribe(task, None, "k", IF_FOUND) == []
    assert task.drops == ["null-foreign-key"]
    assert task.stores["subs"].approximate_num_entries() == 0


def test_out_of_order_change_of_a_versioned_right_table_answers_no_one() -> None:
    """Subscribers have the latest row already."""
    task = right_side(versioned=True)
    subscribe(task, "x", "k", IF_FOUND)
    assert task.pipe("up", "x", Change("row", None, is_latest=False), 1) == []
    assert task.pipe("up", None, Change("row", None), 1) == []
    assert task.drops == ["out-of-order", "null-key"]


def resolving(*, is_left_join: bool) -> SeveralNodes:
    return SeveralNodes(
        source("t", "ts"),
        ForeignKeyResolve(name="j", table="t", joiner=pipe_joined, is_left_join=is_left_join),
        stores=(rows("ts"),),
    )


def answer(value: str | None, foreign_value: Any) -> SubscriptionResponseWrapper[Any]:
    digest = None if value is None else murmur3_128(value.encode())
    return SubscriptionResponseWrapper(digest, foreign_value)


def test_answer_is_joined_at_its_own_time() -> None:
    """The row's time has gone into it on the way."""
    task = resolving(is_left_join=False)
    task.pipe("t", "k", "x:1", 9)
    assert task.pipe("j", "k", answer("x:1", "row"), 4) == [Out("k", "x:1|row", 4)]


def test_answer_to_an_older_value_is_dropped() -> None:
    """The newer value has asked for itself."""
    task = resolving(is_left_join=False)
    task.pipe("t", "k", "x:2", 9)
    assert task.pipe("j", "k", answer("x:1", "row"), 4) == []
    assert task.pipe("j", "k", answer(None, None), 4) == []
    assert task.drops == ["stale-response"] * 2


def test_missing_right_row_is_a_tombstone_or_a_left_result() -> None:
    """A deleted left row is a tombstone in both joins."""
    for is_left_join, result in ((False, None), (True, "x:1|None")):
        task = resolving(is_left_join=is_left_join)
        task.pipe("t", "k", "x:1", 1)
        assert task.pipe("j", "k", answer("x:1", None), 4) == [Out("k", result, 4)]
        assert task.pipe("j", "gone", answer(None, None), 5) == [Out("gone", None, 5)]
