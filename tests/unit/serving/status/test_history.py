"""Rates, shares and waits are differences of samples."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.latencies import sampled
from penstock.serving.status.history import KEPT_MS, Observation, StatusHistory
from penstock.serving.status.values import ApplicationStatus, NodeStatus, TaskStatus, Waiting

START = 1_700_000_000_000


def status(second: float, **given: Any) -> ApplicationStatus:
    return ApplicationStatus(at_ms=START + int(second * 1000), state="RUNNING", **given)


def seen(*samples: ApplicationStatus) -> Observation:
    history = StatusHistory()
    return [history.add(sample) for sample in samples][-1]


def test_a_rate_is_over_the_last_seconds() -> None:
    """An hour of silence before does not make a burst look slow."""
    found = seen(status(0), status(3600), status(3606, records=600, sent=60))
    assert (found.point.records, found.point.sent) == (100.0, 10.0)


def test_a_first_sample_has_no_rate() -> None:
    """What was processed before anybody looked says nothing of now."""
    assert seen(status(0, records=10**6)).point.records is None


def test_a_backlog_that_shrinks_has_a_time_when_it_is_gone() -> None:
    """Lag falls by 200 a second, so 1,000 records are gone after five."""
    lag = [{"in": {0: 2_000}}, {"in": {0: 600, 1: 400}}]
    found = seen(status(0, lag=lag[0]), status(5, lag=lag[1], records=1_500))
    assert found.lag == 1_000
    assert found.clear_s == pytest.approx(5.0)
    assert found.arriving == pytest.approx(100.0)


def test_a_backlog_that_grows_is_never_gone() -> None:
    """There is no number of seconds then."""
    found = seen(status(0, lag={"in": {0: 10}}), status(1, lag={"in": {0: 20}}))
    assert found.clear_s is None


def test_shares_of_nodes_and_tasks_are_of_one_processor() -> None:
    """Two of four seconds in a node are a half."""
    before = status(0, nodes=(NodeStatus(name="n"),), tasks=(TaskStatus(id="0_0", thread="t"),))
    after = status(
        4,
        nodes=(NodeStatus(name="n", records=40, busy_ns=2 * 10**9, dropped={"null-key": 8}),),
        tasks=(TaskStatus(id="0_0", thread="t", records=20, busy_ms=1000.0),),
    )
    found = seen(before, after)
    node = found.nodes["n"]
    assert (node.records, node.share, node.dropped) == (10.0, 0.5, 2.0)
    assert (found.tasks["0_0"].records, found.tasks["0_0"].share) == (5.0, 0.25)


def test_latencies_are_those_of_the_last_half_minute() -> None:
    """A slow start does not stay in p99 for ever."""
    slow, fast = sampled([60_000] * 10, 10), sampled([10] * 10, 10)
    found = seen(
        status(0, latencies=slow), status(1, latencies=slow), status(40, latencies=slow),
        status(41, latencies=slow.plus(fast)),
    )  # fmt: skip
    assert found.point.p99_ms == pytest.approx(10, rel=0.12)


def test_a_wait_begins_when_it_was_first_seen() -> None:
    """The same text again is the same wait; another one begins anew."""
    history, kafka = StatusHistory(), Waiting(what="no answer from Kafka")
    assert history.add(status(0)).waiting_since_ms is None
    assert history.add(status(5, waiting=kafka)).waiting_since_ms == START + 5_000
    assert history.add(status(9, waiting=kafka)).waiting_since_ms == START + 5_000
    other = history.add(status(12, waiting=Waiting(what="another")))
    assert other.waiting_since_ms == START + 12_000


def test_records_that_wait_without_progress_are_noticed() -> None:
    """An application whose input is empty is not stuck, however long it does nothing."""
    history = StatusHistory()
    history.add(status(0, records=5, lag={"in": {0: 0}}))
    assert history.add(status(60, records=5, lag={"in": {0: 0}})).idle_since_ms is None
    assert history.add(status(61, records=5, lag={"in": {0: 9}})).idle_since_ms == START + 60_000
    assert history.add(status(62, records=6, lag={"in": {0: 8}})).idle_since_ms is None


def test_an_application_that_counts_anew_has_no_negative_rate() -> None:
    """Its totals begin at nothing after it was closed and started again."""
    found = seen(status(0, records=1_000), status(1, records=10), status(2, records=30))
    assert found.point.records == pytest.approx(20.0)


def test_a_series_is_fine_for_minutes_and_coarse_for_an_hour() -> None:
    """A page that is opened has an hour at once, in some hundred points."""
    history = StatusHistory()
    for second in range(2 * 3600):
        history.add(status(second, records=second))
    points = history.points()
    assert points[-1].at_ms - points[0].at_ms <= KEPT_MS
    assert 600 <= len(points) <= 700
    assert points[-1].at_ms - points[-2].at_ms == 1_000
    assert points[1].at_ms - points[0].at_ms == 10_000
    assert [p.at_ms for p in history.points(points[-3].at_ms)] == [p.at_ms for p in points[-2:]]
