"""What happened between two samples is said in words."""

from __future__ import annotations

from typing import Any

from penstock.serving.status.events import EventLog, happened
from penstock.serving.status.values import (
    ApplicationStatus,
    RestoreProgress,
    TaskStatus,
    ThreadStatus,
)


def status(**given: Any) -> ApplicationStatus:
    return ApplicationStatus(**{"at_ms": 7, "state": "RUNNING", **given})


def said(before: ApplicationStatus, after: ApplicationStatus) -> list[str]:
    return [event.text for event in happened(before, after)]


def test_a_task_that_another_thread_runs_has_moved() -> None:
    """A task that is new has not."""
    before = status(tasks=(TaskStatus(id="0_0", thread="a"),))
    after = status(tasks=(TaskStatus(id="0_0", thread="b"), TaskStatus(id="0_1", thread="b")))
    assert said(before, after) == ["task 0_0 moved from a to b"]


def test_threads_come_and_go() -> None:
    """A thread that was never there has not gone."""
    alive, gone = ThreadStatus(name="a"), ThreadStatus(name="a", is_alive=False)
    assert said(status(threads=(alive,)), status(threads=(gone,))) == ["a is gone"]
    assert said(status(threads=(gone,)), status(threads=(alive,))) == ["a is back"]
    assert said(status(), status(threads=(gone,))) == []


def test_a_restore_is_told_when_it_begins_and_when_it_is_done() -> None:
    """Not at every step."""
    half = RestoreProgress(store="s", partition=2, start=0, position=500, end=1_000)
    assert said(status(), status(restoring=(half,))) == ["s-2 is being restored: 1,000 changes"]
    assert said(status(restoring=(half,)), status()) == ["s-2 is restored"]
    assert said(status(restoring=(half,)), status(restoring=(half,))) == []


def test_states_and_leaders_are_told() -> None:
    """In the words of Kafka Streams, since they stand in the log, too."""
    assert said(status(), status(state="REBALANCING")) == ["RUNNING → REBALANCING"]
    assert said(status(), status(is_leader=False)) == ["another instance processes"]


def test_only_the_last_events_are_kept() -> None:
    """A page shows some, and memory stays small."""
    log = EventLog()
    for number in range(200):
        kept = log.add(status(state=f"STATE-{number}"))
    assert len(kept) == 60
    assert kept[-1].text == "STATE-198 → STATE-199"
