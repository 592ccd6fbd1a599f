"""``succession``: whose turn it is to lead when nobody does, by a clock that the test sets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.succession import LastLeader, Succession
from penstock.runtime.spark.exchange.batch_log import InstanceRecord

TURN_S, IDLE_S, TAKEOVER_S = 1.5, 4.0, 8.0


class Survivor:
    """The instance ``own``; ``a``, ``b`` and ``c`` have started in this order."""

    def __init__(self, own: str = "b", **lives: Life) -> None:
        self.now = 100.0
        self.leads = False
        self.lives = lives
        self.looks = 0
        self.line = [_record(name, number) for number, name in enumerate("abc")]
        self.succession = Succession(own, lambda: self.leads, self._look, lambda: self.now)

    def is_next(self, leader: str, life: Life | None, generation: int = 1, **given: float) -> bool:
        return self.succession.is_next(LastLeader(generation, leader, life, **given), self.line)

    def _look(self, others: Sequence[InstanceRecord]) -> dict[str, Life]:
        self.looks += 1
        return {each.id: self.lives.get(each.id, Life.FOLLOWS) for each in others}


def _record(name: str, started_ms: int) -> InstanceRecord:
    return InstanceRecord(name, 1, "127.0.0.1", 1, "", started_ms)


@pytest.mark.parametrize("life", [Life.LEADS, Life.SILENT, Life.UNKNOWN, None])
def test_only_the_group_may_replace_a_leader_that_may_be_alive(life: Life | None) -> None:
    """Silence is not an end."""
    survivor = Survivor()
    for _ in range(3):
        assert not survivor.is_next("a", life)
        survivor.now += 100.0
    assert survivor.looks == 0


def test_the_first_in_line_takes_over_at_once() -> None:
    assert Survivor("b").is_next("a", Life.GONE)


def test_the_others_take_their_turn_later() -> None:
    survivor = Survivor("c")
    assert not survivor.is_next("a", Life.GONE)
    survivor.now += TURN_S
    assert survivor.is_next("a", Life.GONE)


def test_the_time_since_the_end_was_seen_counts() -> None:
    """Spark may have been starting here meanwhile."""
    survivor = Survivor("c")
    assert survivor.is_next("a", Life.GONE, since=survivor.now - TURN_S)


def test_those_that_are_gone_as_well_are_not_waited_for() -> None:
    assert Survivor("c", b=Life.GONE).is_next("a", Life.GONE)


def test_one_that_is_taking_over_already_gets_the_time_for_it() -> None:
    """Its generation is not written yet. To fence it would only begin the takeover anew."""
    survivor = Survivor("c", b=Life.LEADS)
    assert not survivor.is_next("a", Life.GONE)
    survivor.now += TURN_S + TAKEOVER_S - 0.1
    assert not survivor.is_next("a", Life.GONE)
    survivor.now += 0.2
    assert survivor.is_next("a", Life.GONE)


def test_one_behind_in_line_that_is_taking_over_gets_the_time_too() -> None:
    """The group may have chosen it."""
    survivor = Survivor("b", c=Life.LEADS)
    survivor.now += TURN_S
    assert not survivor.is_next("a", Life.GONE)


def test_others_are_not_asked_all_the_time() -> None:
    survivor = Survivor("c")
    for _ in range(10):
        survivor.is_next("a", Life.GONE)
    assert survivor.looks == 1


def test_who_stands_in_and_fails_goes_on_at_once() -> None:
    """The group knows nothing of it, and would let the session of the dead leader end first."""
    survivor = Survivor("b")
    survivor.leads = True
    assert survivor.is_next("b", None, generation=2)


def test_who_has_lost_the_lead_takes_it_back_only_if_nobody_else_does() -> None:
    """The group's new choice takes a generation, and then it is the leader that counts."""
    survivor = Survivor("b")
    assert not survivor.is_next("b", None, generation=2)
    survivor.now += IDLE_S - 0.1
    assert not survivor.is_next("b", None, generation=2)
    assert not survivor.is_next("c", Life.LEADS, generation=3)
    survivor.now += 0.2
    assert not survivor.is_next("c", Life.LEADS, generation=3)
    assert not survivor.is_next("b", None, generation=4)
    survivor.now += IDLE_S
    assert survivor.is_next("b", None, generation=4)


def test_a_leader_that_says_that_it_does_not_lead_is_replaced_after_a_while() -> None:
    """It comes first in line itself, even if it has started last."""
    survivor = Survivor("a", c=Life.FOLLOWS)
    assert not survivor.is_next("c", Life.FOLLOWS)
    survivor.now += IDLE_S
    assert not survivor.is_next("c", Life.FOLLOWS)
    survivor.now += TURN_S
    assert survivor.is_next("c", Life.FOLLOWS)
