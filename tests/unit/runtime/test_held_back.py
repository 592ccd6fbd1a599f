"""Inputs that wait behind an open transaction of another program."""

from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.observing.held_back import HeldBack


class Planner:
    def __init__(self) -> None:
        self.waiting: dict[TopicPartition, int] = {}

    def held_back(self) -> dict[TopicPartition, int]:
        return self.waiting


def test_an_input_that_stays_where_it_was_is_named() -> None:
    """A transaction that is open for a moment is nothing to tell."""
    planner = Planner()
    held = HeldBack(planner)
    planner.waiting = {("words", 1): 10, ("names", 0): 4}
    assert held.look(1.0) is None
    planner.waiting = {("words", 1): 10, ("names", 0): 9}
    assert held.look(2.0) == (
        "an open transaction of another program holds back records of 'words' partition 1"
    )
    planner.waiting = {}
    assert held.look(3.0) is None


def test_the_next_look_is_an_interval_after_the_last() -> None:
    """Each look asks the broker."""
    held = HeldBack(Planner())
    held.look(100.0)
    assert not held.is_due(104.0, 5.0)
    assert held.is_due(105.0, 5.0)
