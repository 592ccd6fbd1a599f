"""An ``instance`` among others: who is next when the leader's process has ended."""

from __future__ import annotations

import time

import pytest

from penstock.config import StreamsConfig
from penstock.runtime.spark.driver.instances import instance as module
from penstock.runtime.spark.driver.instances.beacon import Beacon, Life
from penstock.runtime.spark.driver.instances.instance import instance_host
from penstock.runtime.spark.exchange.batch_log import Cut, LogState
from tests.runtime.shared_log import CONFIG, Log, led_by, new, record_of, shared_log
from tests.runtime.slot_processes import happens


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    return shared_log(monkeypatch)


def test_an_instance_registers_and_leaves(log: Log) -> None:
    """The others see where it can be reached."""
    instance = new()
    assert log.state.instances[instance.id] == instance.record
    assert instance.record.host == "127.0.0.1"
    instance.close()
    assert log.state.instances == {}


def test_nobody_has_led_yet(log: Log) -> None:
    """Then only the group decides."""
    instance = new()
    assert instance.life_of_leader() is None
    assert not instance.is_next()
    instance.close()


def test_a_leader_that_lives_is_left_alone(log: Log) -> None:
    """The follower watches it."""
    leader, follower = new(lambda: True), new()
    led_by(log, leader.id)
    assert happens(lambda: follower.life_of_leader() is Life.LEADS, within_s=60)
    assert not follower.is_next()
    assert leader.life_of_leader() is None
    for each in (leader, follower):
        each.close()


def test_the_oldest_instance_takes_over(log: Log) -> None:
    """The others give it time, and then take their turn, one after the other."""
    first = new()
    time.sleep(0.01)
    second = new()
    gone = Beacon("127.0.0.1", "gone", lambda: True)
    log.write("instance/gone", record_of("gone", gone).to_json())
    led_by(log, "gone")
    assert happens(lambda: first.life_of_leader() is Life.LEADS, within_s=60)
    gone.close()
    assert happens(first.is_next, within_s=60)
    assert happens(lambda: second.life_of_leader() is Life.GONE, within_s=60)
    assert not second.is_next()
    assert happens(second.is_next, within_s=60)
    for each in (first, second):
        each.close()


def test_instances_that_are_dead_are_not_waited_for(log: Log) -> None:
    """Their records stay until a leader has had the time to remove them."""
    gone = Beacon("127.0.0.1", "gone", lambda: True)
    for name in ("gone", "dead-1", "dead-2", "dead-3"):
        log.write(f"instance/{name}", record_of(name, gone).to_json())
    survivor = new()
    led_by(log, "gone")
    assert happens(lambda: survivor.life_of_leader() is Life.LEADS, within_s=60)
    gone.close()
    assert happens(lambda: survivor.life_of_leader() is Life.GONE, within_s=60)
    assert survivor.is_next()
    survivor.close()


def test_a_leader_that_has_lost_the_lead_is_replaced_after_a_while(log: Log) -> None:
    """The group may wait for the session of a dead member before it chooses another one."""
    leads = [True]
    leader, follower = new(lambda: leads[0]), new()
    led_by(log, leader.id)
    assert happens(lambda: follower.life_of_leader() is Life.LEADS, within_s=60)
    leads[0] = False
    assert happens(lambda: follower.life_of_leader() is Life.FOLLOWS, within_s=60)
    assert happens(follower.is_next, within_s=60)
    for each in (leader, follower):
        each.close()


def test_an_instance_that_was_cut_off_does_not_take_the_lead_back(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has lost the lead and not heard yet who has it."""
    instance = new()
    led_by(log, instance.id, generation=3)
    newer = LogState(generation=4)
    monkeypatch.setattr(module, "read_log", lambda topic, settings, is_whole: newer)
    assert not happens(instance.is_next, within_s=1)
    newer.generation = 3
    assert instance.is_next()
    instance.close()


def test_a_leader_that_has_left_is_gone(log: Log) -> None:
    """It removes its own record when it ends properly."""
    leader, follower = new(lambda: True), new()
    led_by(log, leader.id)
    leader.close()
    assert happens(follower.is_next, within_s=60)
    follower.close()


def test_an_instance_for_queries_never_takes_over(log: Log) -> None:
    """It has no Spark."""
    reader = new(may_lead=False)
    led_by(log, "somebody")
    assert reader.life_of_leader() is Life.GONE
    assert not reader.is_next()
    assert reader.record.has_copies
    reader.close()


def test_the_leader_removes_records_of_the_dead(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed could not do it itself."""
    monkeypatch.setattr(module, "_SWEEP_S", 0.05)
    dead = Beacon("127.0.0.1", "dead", lambda: False)
    log.write("instance/dead", record_of("dead", dead).to_json())
    dead.close()
    leader = new(lambda: True)
    assert happens(lambda: set(log.state.instances) == {leader.id}, within_s=60)
    leader.close()


def test_a_cut_of_an_older_generation_is_not_taken(log: Log) -> None:
    """A driver that was paused may write one after its successor has begun."""
    newer, older = Cut(2, 5, {("c", 0): 9}), Cut(1, 7, {("c", 0): 4})
    log.write("cut", newer.to_json())
    log.write("cut", older.to_json())
    assert log.state.cut == newer


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({}, "127.0.0.1"),
        ({"spark.master": "local[4]"}, "127.0.0.1"),
        ({"spark.driver.host": "driver.example"}, "driver.example"),
        ({"application.server": "127.0.0.1:8080"}, "127.0.0.1"),
        ({"application.server": "0.0.0.0:8080"}, "127.0.0.1"),
        ({"application.server": "10.1.2.3:8080"}, "10.1.2.3"),
        ({"application.server": "10.1.2.3:8080", "spark.driver.host": "10.1.2.4"}, "10.1.2.4"),
    ],
)
def test_an_instance_is_found_where_the_driver_is(settings: dict[str, str], host: str) -> None:
    """Or where its HTTP server is, if other machines can reach that."""
    assert instance_host(settings) == host


# Other machines


def test_a_leader_on_another_machine_is_not_looked_for_on_this_one(log: Log) -> None:
    """127.0.0.1 is another machine's there; to find nothing here does not mean that it is gone."""
    follower, elsewhere = new(), Beacon("127.0.0.1", "far", lambda: True)
    elsewhere.close()
    log.write("instance/far", record_of("far", elsewhere, machine="other").to_json())
    led_by(log, "far")
    assert not happens(lambda: follower.life_of_leader() is not Life.SILENT, within_s=1)
    assert not follower.is_next()
    follower.close()


def test_records_of_other_machines_are_kept_until_they_were_out_of_reach_for_long(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal may come from a firewall. Without an end, every restarted pod would stay listed."""
    monkeypatch.setattr(module, "_SWEEP_S", 0.05)
    monkeypatch.setattr(module, "_FORGET_LOOKS", 10)
    monkeypatch.setattr(module, "is_loopback", lambda host: False)
    lost = Beacon("127.0.0.1", "lost", lambda: False)
    here = Beacon("127.0.0.1", "reached", lambda: False)
    lost.close()
    log.write("instance/lost", record_of("lost", lost, machine="other").to_json())
    log.write("instance/reached", record_of("reached", here, machine="other").to_json())
    leader = new(lambda: True)
    assert not happens(lambda: "lost" not in log.state.instances, within_s=0.3)
    assert happens(lambda: "lost" not in log.state.instances, within_s=10)
    assert "reached" in log.state.instances
    leader.close()
    here.close()


def test_nobody_can_look_for_a_loopback_address_of_another_machine(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So its record stays for a day."""
    monkeypatch.setattr(module, "_SWEEP_S", 0.02)
    monkeypatch.setattr(module, "_FORGET_LOOKS", 0)
    lost = Beacon("127.0.0.1", "lost", lambda: False)
    lost.close()
    log.write("instance/lost", record_of("lost", lost, machine="other").to_json())
    leader = new(lambda: True)
    assert not happens(lambda: "lost" not in log.state.instances, within_s=0.5)
    leader.close()


def test_an_instance_that_was_taken_for_gone_registers_again(log: Log) -> None:
    """Its network may have been away for a while."""
    instance = new()
    log.write(f"instance/{instance.id}", instance.record.to_json())
    log.write(f"instance/{instance.id}", None)
    assert log.state.instances == {instance.id: instance.record}
    instance.close()
    assert log.state.instances == {}


# Tags


def test_an_instance_shows_its_tags(log: Log) -> None:
    instance = new(config=tagged("a"))
    assert log.state.instances[instance.id].tags == {"zone": "a"}
    instance.close()


@pytest.mark.parametrize(("other", "is_told"), [("a", True), ("b", False), (None, True)])
def test_a_leader_whose_copies_are_all_in_its_own_rack_says_so_once(
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    other: str | None,
    is_told: bool,
) -> None:
    leader, follower = new(config=tagged("a")), new(config=tagged(other))
    for _ in range(2):
        leader._warn_of_tags([follower.record])
    told = [each.getMessage() for each in caplog.records if "zone='a'" in each.getMessage()]
    assert len(told) == is_told
    for each in (leader, follower):
        each.close()


def tagged(zone: str | None) -> StreamsConfig:
    tags = {} if zone is None else {StreamsConfig.client_tag_prefix("zone"): zone}
    listed = {"rack.aware.assignment.tags": "zone", "num.standby.replicas": 1}
    return StreamsConfig({**CONFIG, **listed, **tags})
