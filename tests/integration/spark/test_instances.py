"""Several processes with one ``application.id``: one leads, and what happens when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import pytest

from penstock.kafka.admin import Admin
from tests.integration.spark.instances import Instance, exact, wait_for, words

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Records = Callable[[str], list[tuple[Any, Any]]]
Start = Callable[..., Instance]
Write = Callable[..., None]

WORDS = 10
#: A machine under load needs this long for what takes seconds otherwise.
PATIENCE_S = 60


def all_counted(committed: Records, sink: str, each: int) -> bool:
    return exact(committed(sink)) == {f"w{number}": each for number in range(WORDS)}


def test_second_instance_waits_and_leads_at_once_when_the_first_closes(
    start: Start, topics: Any, produce: Write, committed: Records
) -> None:
    """A clean close hands the lead over; nobody waits for the end of its session."""
    source, sink = topics
    produce(source, *words(100))
    first = start(session_timeout_ms=300_000)
    first.wait_until_running()
    second = start()
    wait_for(lambda: second.state == "REBALANCING" and second.told()["waiting_for"], 90)
    assert second.told()["waiting_for"] == "another instance leads the application"
    assert first.state == "RUNNING"
    assert first.end() == 0
    second.wait_until_running(PATIENCE_S)
    produce(source, *words(100))
    wait_for(lambda: all_counted(committed, sink, 20), PATIENCE_S)


@pytest.mark.slow
def test_second_instance_leads_after_the_first_is_killed(
    start: Start, topics: Any, produce: Write, committed: Records
) -> None:
    """The group gives the lead away when the session ends; nothing is lost or doubled."""
    source, sink = topics
    produce(source, *words(3_000))
    first = start(pause_s=0.001)
    first.wait_until_running()
    second = start()
    wait_for(lambda: second.told().get("waiting_for"), 90)
    first.send(SIGKILL)
    second.wait_until_running(PATIENCE_S)
    wait_for(lambda: all_counted(committed, sink, 300), PATIENCE_S)


@pytest.mark.parametrize("threads", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_paused_driver_wakes_up_and_changes_nothing(
    start: Start, topics: Any, produce: Write, committed: Records, threads: int
) -> None:
    """Its successor goes on exactly, also with another number of threads; both stay alive."""
    source, sink = topics
    first = start(pause_s=0.001)
    first.wait_until_running()
    second = start(pause_s=0.001, num_stream_threads=threads)
    wait_for(lambda: second.told().get("waiting_for"), 90)
    produce(source, *words(6_000))
    wait_for(lambda: len(committed(sink)), PATIENCE_S)
    first.send(SIGSTOP)
    second.wait_until_running(PATIENCE_S)
    first.send(SIGCONT)
    wait_for(lambda: all_counted(committed, sink, 600), PATIENCE_S)
    produce(source, *words(100))
    wait_for(lambda: all_counted(committed, sink, 610), PATIENCE_S)
    wait_for(lambda: sorted(leads(each) for each in (first, second)) == [False, True], PATIENCE_S)
    assert [each.process.poll() for each in (first, second)] == [None, None]


def leads(instance: Instance) -> bool:
    return instance.is_running


@pytest.mark.slow
def test_group_has_a_member_while_the_application_runs(
    start: Start, topics: Any, kafka_admin: Admin, application_id: str
) -> None:
    """Kafka's tools see that an application is alive, and that it has left."""
    instance = start()
    instance.wait_until_running()
    assert len(kafka_admin.group(application_id).members) == 1
    assert instance.end() == 0
    time.sleep(0.5)
    assert len(kafka_admin.group(application_id).members) == 0
