"""A task with an empty input waits for it, but only for a limited time."""

from __future__ import annotations

from penstock.runtime.spark.driver.idling import Idling

ORDERS, USERS = ("orders", 0), ("users", 0)
OTHER_ORDERS, OTHER_USERS = ("orders", 1), ("users", 1)
TASKS = [[ORDERS, USERS], [OTHER_ORDERS, OTHER_USERS]]
START = dict.fromkeys((ORDERS, USERS, OTHER_ORDERS, OTHER_USERS), 5)


def test_a_task_with_an_empty_input_waits_and_then_goes_on() -> None:
    """The time counts from when it was first seen."""
    idling = Idling(TASKS, 100)
    ends = {**START, ORDERS: 9}
    assert idling.held_back(START, ends, 1_000) == START
    assert idling.held_back(START, ends, 1_099) == START
    assert idling.held_back(START, ends, 1_100) == ends


def test_other_tasks_do_not_wait() -> None:
    """One partition without data holds back only the task that reads it."""
    ends = {**START, ORDERS: 9, OTHER_ORDERS: 7, OTHER_USERS: 6}
    allowed = Idling(TASKS, 100).held_back(START, ends, 1_000)
    assert allowed == {**ends, ORDERS: 5}


def test_data_on_every_input_ends_the_wait_and_a_new_one_begins_later() -> None:
    idling = Idling(TASKS, 100)
    idling.held_back(START, {**START, ORDERS: 9}, 1_000)
    both = {**START, ORDERS: 9, USERS: 6}
    assert idling.held_back(START, both, 1_050) == both
    assert idling.held_back(START, {**START, USERS: 6}, 1_150) == START


def test_without_patience_nothing_waits() -> None:
    """0 is the default, -1 switches it off as in Kafka Streams."""
    ends = {**START, ORDERS: 9}
    for patience_ms in (0, -1):
        assert Idling(TASKS, patience_ms).held_back(START, ends, 1_000) == ends


def test_an_input_that_the_batch_leaves_out_is_waited_for_as_an_empty_one() -> None:
    """A task that takes no part at all, such as one that was set aside, is not looked at."""
    idling = Idling(TASKS, 100)
    start = {ORDERS: 5}
    assert idling.held_back(start, {ORDERS: 9}, 1_000) == start
    assert idling.held_back(start, {ORDERS: 9}, 1_100) == {ORDERS: 9}
