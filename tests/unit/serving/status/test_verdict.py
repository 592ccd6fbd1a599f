"""One sentence says whether it is well; the worst thing that is true comes first."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.serving.status.history import StatusHistory
from penstock.serving.status.values import (
    ApplicationStatus,
    Failure,
    RestoreProgress,
    Waiting,
)
from penstock.serving.status.verdict import Level, Verdict, verdict


def after(seconds: float = 5.0, before: dict[str, Any] | None = None, **given: Any) -> Verdict:
    """Return what is said of a second sample; the first one is the same unless told otherwise."""
    history = StatusHistory()
    given.setdefault("state", "RUNNING")
    history.add(ApplicationStatus(at_ms=1_000_000, **{**given, **(before or {})}))
    return verdict(history.add(ApplicationStatus(at_ms=1_000_000 + int(seconds * 1000), **given)))


BROKEN = Failure(
    at_ms=1_003_000, code="user-function", message="node 'f' raised KeyError\n  record: …",
    fix="handle it", site="app.py:3",
)  # fmt: skip


def test_an_application_that_keeps_up_is_well() -> None:
    """A few records always wait for the next commit."""
    found = after(before={"records": 0}, records=50_000, lag={"in": {0: 900}})
    assert (found.level, found.headline) == (Level.WELL, "All is well")
    assert "10,000 records/s" in found.detail


def test_a_backlog_says_how_long_it_takes() -> None:
    """It is busy, and nobody has to do anything."""
    found = after(
        before={"records": 0, "lag": {"in": {0: 200_000}}}, records=10_000, lag={"in": {0: 150_000}}
    )
    assert (found.level, found.headline) == (Level.BUSY, "Catching up")
    assert "15 s" in found.detail


def test_a_backlog_that_grows_is_a_warning() -> None:
    """More arrives than is processed: somebody has to add threads."""
    found = after(
        before={"records": 0, "lag": {"in": {0: 90_000}}}, records=5_000, lag={"in": {0: 95_000}}
    )
    assert (found.level, found.headline) == (Level.WARNING, "Falling behind")
    assert "2,000/s arrive" in found.detail
    assert found.fix


def test_a_wait_says_for_what_how_long_and_what_to_do() -> None:
    """The text is a sentence, whatever the message was."""
    waiting = Waiting(what="no answer from Kafka", fix="see whether it runs")
    found = after(75, waiting=waiting)
    assert found == Verdict(
        Level.WARNING, "Waiting for 1 min 15 s", "No answer from Kafka.", "See whether it runs."
    )


def test_records_that_wait_for_half_a_minute_without_progress_are_bad() -> None:
    """RUNNING alone says nothing."""
    found = after(31, records=7, lag={"in": {0: 3}})
    assert (found.level, found.headline) == (Level.BAD, "Stuck for 31 s")


def test_an_error_names_the_line_of_the_program() -> None:
    """It has ended, so it is the first thing to say."""
    found = after(state="ERROR", error=BROKEN, waiting=Waiting(what="x"))
    assert found.level is Level.BAD
    assert "[user-function]" in found.detail
    assert "app.py:3" in found.detail
    assert found.fix == "handle it"


def test_a_failure_that_passed_is_mentioned_for_a_minute() -> None:
    """Afterwards it is only in the list of failures."""
    assert after(failures=(BROKEN,)).level is Level.WARNING
    assert after(120, failures=(BROKEN,)).level is Level.WELL


def test_a_restore_says_how_far_it_is() -> None:
    """Of all stores together."""
    restoring = tuple(
        RestoreProgress(store="s", partition=number, start=0, position=number * 100, end=100)
        for number in range(2)
    )
    found = after(state="REBALANCING", restoring=restoring)
    assert (found.level, found.headline) == (Level.BUSY, "Restoring its state: 50%")


@pytest.mark.parametrize(
    ("given", "headline"),
    [
        ({"state": "REBALANCING"}, "Starting"),
        ({"is_paused": True}, "Paused"),
        ({"is_leader": False}, "Standing by"),
        ({"state": "PENDING_SHUTDOWN"}, "Stopping"),
        ({"state": "NOT_RUNNING"}, "Stopped"),
        ({"state": "ERROR"}, "Ended with an error"),
    ],
)
def test_each_state_has_a_headline(given: dict[str, Any], headline: str) -> None:
    """Words of people, and not of Kafka Streams."""
    assert after(**given).headline == headline
