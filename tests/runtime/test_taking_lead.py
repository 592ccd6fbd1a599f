"""The group's choice and the end of a leader, in orders that have cost a whole session before."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.config import StreamsConfig
from penstock.runtime.spark.driver.instances import membership
from penstock.runtime.spark.driver.instances.beacon import Beacon, Life
from penstock.runtime.spark.driver.instances.instance import Instance
from penstock.runtime.spark.driver.instances.membership import GroupMember
from penstock.runtime.spark.driver.instances.taking_lead import takes_lead
from tests.runtime.fake_group import LOG, Group
from tests.runtime.shared_log import CONFIG, Log, led_by, new, record_of, shared_log
from tests.runtime.slot_processes import happens

EXACTLY_ONCE = StreamsConfig({**CONFIG, "processing.guarantee": "exactly_once_v2"})


class Survivor:
    """A real member and a real instance; the test is the group, the log and the other process."""

    def __init__(self, log: Log, group: Group) -> None:
        self.log, self.group = log, group
        self.member = GroupMember({}, "app-batches", lambda: None)
        self.instance: Instance = new(lambda: self.member.is_leading, EXACTLY_ONCE)
        self.leader = Beacon("127.0.0.1", "leader", lambda: True)
        log.write("instance/leader", record_of("leader", self.leader, started_ms=1).to_json())
        led_by(log, "leader")
        self.sees(Life.LEADS)

    def sees(self, life: Life) -> None:
        assert happens(lambda: self.instance.life_of_leader() is life, within_s=60)

    def takes_lead(self) -> bool:
        life = self.instance.life_of_leader()
        return takes_lead(self.member, self.instance, life, EXACTLY_ONCE)

    def close(self) -> None:
        self.leader.close()
        self.instance.close()
        self.member.close()


@pytest.fixture
def survivor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Survivor]:
    group = Group()
    monkeypatch.setattr(membership, "new_consumer", lambda settings: group)
    made = Survivor(shared_log(monkeypatch), group)
    yield made
    made.close()


def test_the_choice_of_the_group_is_declined_while_another_one_leads(survivor: Survivor) -> None:
    survivor.group.assign(LOG)
    assert survivor.member.leads.wait(60)
    assert not survivor.takes_lead()
    assert happens(lambda: survivor.group.left == 1, within_s=60)


def test_a_decline_is_void_if_the_leader_ends_before_it_is_carried_out(
    survivor: Survivor,
) -> None:
    """Otherwise this instance takes the lead, loses it at once, and is out of the group."""
    survivor.group.assign(LOG)
    assert survivor.member.leads.wait(60)
    goes_on = threading.Event()
    survivor.group.events.put(lambda: goes_on.wait(60) and None)
    assert happens(survivor.group.events.empty, within_s=60)
    assert not survivor.takes_lead()
    survivor.leader.close()
    survivor.sees(Life.GONE)
    assert survivor.takes_lead()
    goes_on.set()
    assert not happens(lambda: survivor.group.left > 0, within_s=0.3)
    assert survivor.member.is_leading


def test_who_has_declined_stands_in_when_the_leader_ends(survivor: Survivor) -> None:
    """It is out of the group for a while; transactions do not need the group."""
    survivor.group.assign(LOG)
    assert survivor.member.leads.wait(60)
    assert not survivor.takes_lead()
    assert happens(lambda: survivor.group.left == 1, within_s=60)
    survivor.leader.close()
    survivor.sees(Life.GONE)
    assert survivor.takes_lead()


def test_who_fails_after_its_generation_is_written_stands_in_again(survivor: Survivor) -> None:
    """By the log it is the leader, so no other instance would, and the group does not know."""
    survivor.leader.close()
    survivor.sees(Life.GONE)
    assert survivor.takes_lead()
    led_by(survivor.log, survivor.instance.id, generation=2)
    assert survivor.takes_lead()


def test_who_is_fenced_by_another_one_stands_down(survivor: Survivor) -> None:
    """Its beacon must not say any longer that it leads: the group's choice would decline for it."""
    survivor.leader.close()
    survivor.sees(Life.GONE)
    assert survivor.takes_lead()
    led_by(survivor.log, survivor.instance.id, generation=2)
    other = new(lambda: True)
    led_by(survivor.log, other.id, generation=3)
    survivor.sees(Life.LEADS)
    assert not survivor.takes_lead()
    assert not survivor.member.is_leading
    other.close()
