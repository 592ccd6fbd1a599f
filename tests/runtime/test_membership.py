"""The driver in its consumer group: who leads, and on whose behalf offsets are committed."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.config import StreamsConfig
from penstock.errors import StreamsError
from penstock.runtime.spark.driver.instances import membership as module
from penstock.runtime.spark.driver.instances.membership import GroupMember, away_s, join_group
from tests.runtime.fake_group import LOG, Group
from tests.runtime.slot_processes import happens


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Group:
    made = Group()

    def new_consumer(settings: dict[str, Any]) -> Group:
        made.settings = settings
        return made

    monkeypatch.setattr(module, "new_consumer", new_consumer)
    return made


@pytest.fixture
def member(group: Group) -> Iterator[GroupMember]:
    made = GroupMember({"group.id": "app", "auto.offset.reset": "earliest"}, "app-batches", _no)
    yield made
    made.close()


def _no() -> None:
    return None


def code_of(member: GroupMember) -> str | None:
    try:
        member.check()
    except StreamsError as error:
        return error.code
    return None


def test_the_owner_of_the_batch_log_leads(group: Group, member: GroupMember) -> None:
    """The log has one partition, so one member of the group does."""
    assert code_of(member) == "not-leading"
    group.assign(LOG)
    assert member.leads.wait(60)
    assert member.has_joined.is_set()
    assert code_of(member) is None
    assert group.paused == LOG


def test_a_member_without_a_share_has_joined_and_does_not_lead(
    group: Group, member: GroupMember
) -> None:
    """An instance that waits must not look as if it had not started."""
    group.assign([])
    assert member.has_joined.wait(60)
    assert not member.leads.is_set()
    assert group.paused == []


def test_a_member_that_loses_the_log_no_longer_leads(group: Group, member: GroupMember) -> None:
    """The group may have given it to another one while this one was paused."""
    group.assign(LOG)
    assert member.leads.wait(60)
    group.revoke([])
    group.revoke(LOG)
    assert happens(lambda: code_of(member) == "not-leading", within_s=60)


def test_a_member_says_whether_the_group_has_not_heard_of_it(
    group: Group, member: GroupMember
) -> None:
    """When Kafka was away, it does not say that another instance leads."""
    group.assign(LOG)
    assert member.leads.wait(60)
    group.lose(LOG)
    assert happens(lambda: not member.is_leading, within_s=60)
    with pytest.raises(StreamsError, match="has not heard of this instance"):
        member.check()
    group.assign([])
    assert happens(lambda: "another instance" in why(member), within_s=60)


def why(member: GroupMember) -> str:
    try:
        member.check()
    except StreamsError as error:
        return error.message
    return ""


def test_transactions_name_no_member_whatever_the_group_does(
    group: Group, member: GroupMember
) -> None:
    """A batch would fail that has begun before another instance came or went."""
    group.assign([])
    assert member.has_joined.wait(60)
    assert member.metadata() == b"generation 0"
    assert member.act(needs_group=False)
    assert code_of(member) is None
    group.assign(LOG)
    assert member.leads.wait(60)
    assert member.metadata() == b"generation 0"


def test_only_a_member_of_the_group_acts_without_transactions(
    group: Group, member: GroupMember
) -> None:
    assert not member.act(needs_group=True)
    assert code_of(member) == "not-leading"
    assert member.act(needs_group=False)
    assert code_of(member) is None


def test_a_member_that_declines_comes_back_later(group: Group, member: GroupMember) -> None:
    group.assign(LOG)
    assert member.leads.wait(60)
    member.decline(0.2)
    assert happens(lambda: group.left == 1 and not member.leads.is_set(), within_s=60)
    assert group.subscriptions == 1
    assert happens(lambda: group.subscriptions == 2, within_s=60)


def test_changes_are_told(group: Group) -> None:
    """Whoever waits for the lead is woken up."""
    changes = threading.Semaphore(0)
    member = GroupMember({}, "app-batches", changes.release)
    group.assign(LOG)
    assert changes.acquire(timeout=60)
    group.revoke(LOG)
    assert changes.acquire(timeout=60)
    member.close()


def test_offsets_are_committed_by_the_thread_that_polls(group: Group, member: GroupMember) -> None:
    """The client hangs when two threads wait for the group at once."""
    member.commit({})
    member.commit({("in", 1): 7})
    assert group.committed == [("in", 1, 7)]
    assert group.threads == {"penstock-member"}


def test_a_refused_commit_is_the_callers_error(group: Group, member: GroupMember) -> None:
    """And the member goes on."""
    group.refusal = KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
    with pytest.raises(KafkaException):
        member.commit({("in", 0): 1})
    group.refusal = None
    member.commit({("in", 0): 2})
    assert group.committed == [("in", 0, 2)]


@pytest.mark.parametrize("leave", [True, False])
def test_a_member_leaves_or_falls_silent(
    group: Group, member: GroupMember, monkeypatch: pytest.MonkeyPatch, *, leave: bool
) -> None:
    """A static member that comes back soon keeps its place."""
    # Whoever waits for the thread in vain would take so long.
    monkeypatch.setattr(module, "_CLOSE_S", 60.0)
    group.assign(LOG)
    assert member.leads.wait(60)
    began = time.monotonic()
    member.close(leave=leave)
    assert time.monotonic() - began < 30
    assert group.is_closed is leave
    assert not member.leads.is_set()


def test_what_leading_rests_on_cannot_be_set_by_the_user(group: Group, member: GroupMember) -> None:
    """Offsets are committed with the batches, never by the client itself."""
    assert group.settings["group.id"] == "app"
    assert group.settings["enable.auto.commit"] is False
    assert group.settings["partition.assignment.strategy"] == "cooperative-sticky"
    assert group.settings["auto.offset.reset"] == "latest"


@pytest.mark.parametrize(
    ("given", "is_quiet"),
    [
        ({}, False),
        ({"penstock.slot.pool": "sql"}, False),
        ({"processing.guarantee": "exactly_once_v2"}, False),
        ({"penstock.slot.pool": "sql", "processing.guarantee": "exactly_once_v2"}, True),
    ],
)
def test_members_of_a_pool_poll_seldom_if_nobody_waits_for_their_commits(
    group: Group, given: dict[str, str], is_quiet: bool
) -> None:
    """Twenty of them would wake four hundred times a second for nothing."""
    config = StreamsConfig({"application.id": "app", "bootstrap.servers": "x:1", **given})
    member = join_group(config, "app-batches", _no)
    try:
        assert happens(lambda: group.poll_s > 0, within_s=60)
        assert (group.poll_s > 0.1) == is_quiet
        assert group.settings["group.id"] == "app"
        assert group.settings["session.timeout.ms"] == 15_000
    finally:
        member.close()


def test_a_commit_waits_until_the_group_has_taken_in_another_member(
    group: Group, member: GroupMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets that are committed meanwhile are refused, and nothing is wrong with them."""
    group.assign(LOG)
    assert member.leads.wait(60)
    commit, refusals = group.commit, [KafkaError.REBALANCE_IN_PROGRESS] * 2

    def busy(**given: Any) -> None:
        if refusals:
            raise KafkaException(KafkaError(refusals.pop()))
        commit(**given)

    monkeypatch.setattr(group, "commit", busy)
    member.commit({("in", 0): 7})
    assert refusals == []
    assert group.committed == [("in", 0, 7)]


@pytest.mark.parametrize("is_reported", [True, False])
def test_a_member_that_is_shut_out_says_so(
    group: Group, member: GroupMember, is_reported: bool
) -> None:
    """Another process has its group.instance.id: waiting for its turn would never end."""
    group.assign(LOG)
    assert member.leads.wait(10)
    fenced = KafkaError(KafkaError.FENCED_INSTANCE_ID, "fenced by newer instance")
    if is_reported:
        # librdkafka reports it beside the messages.
        group.settings["error_cb"](fenced)
    else:
        group.fail(fenced)
    assert happens(lambda: code_of(member) == "instance-id-in-use", within_s=10)
    assert not member.is_leading
    with pytest.raises(StreamsError, match="fenced by newer instance"):
        member.raise_failure()


def test_an_error_that_passes_leaves_the_member_in_the_group(
    group: Group, member: GroupMember
) -> None:
    group.fail(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    group.assign(LOG)
    assert member.leads.wait(10)
    assert code_of(member) is None


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, f"app-{socket.gethostname()}-{os.getpid()}"),
        ({"client.id": "mine"}, "mine"),
        ({"main.consumer.client.id": "other"}, "other"),
    ],
    # A process number in the name of a test would differ between the processes of one run.
    ids=["its own", "given", "of the consumer"],
)
def test_a_member_has_a_name_that_kafkas_tools_show(
    group: Group, given: dict[str, str], name: str
) -> None:
    settings = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1", **given}
    join_group(StreamsConfig(settings), "app-batches", _no).close()
    assert group.settings["client.id"] == name


def test_a_static_member_stays_away_until_its_session_has_ended() -> None:
    """The group keeps its share for it, and would hand it the lead again and again."""
    settings = {"application.id": "app", "bootstrap.servers": "127.0.0.1:1"}
    named = StreamsConfig({**settings, "group.instance.id": "one"})
    assert away_s(named, 3) > 15.0
    assert away_s(StreamsConfig(settings), 3) == pytest.approx(12.0)


def test_the_client_is_not_closed_while_it_commits(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That may never return. A broker that is away may hold a commit up for long."""
    monkeypatch.setattr(module, "_CLOSE_S", 0.05)
    monkeypatch.setattr(module, "_COMMIT_S", 0.05)
    is_committing, may_end = threading.Event(), threading.Event()

    def slow(**given: Any) -> None:
        is_committing.set()
        assert may_end.wait(30)

    monkeypatch.setattr(group, "commit", slow)
    member = GroupMember({}, "app-batches", lambda: None)
    with pytest.raises(StreamsError, match="did not take the offsets"):
        member.commit({("in", 0): 1})
    assert is_committing.is_set()
    member.close()
    assert not group.is_closed
    may_end.set()
    assert happens(lambda: group.is_closed, 30)
