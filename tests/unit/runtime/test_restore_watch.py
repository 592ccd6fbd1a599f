"""A restore listener hears of each restore in Kafka Streams' order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from penstock.processor.listeners import StateRestoreListener
from penstock.runtime.spark.driver.observing.restore_watch import RestoreWatch
from penstock.runtime.spark.exchange.stage_request import Restore
from tests.unit.runtime.restore_calls import Heard

PART = ("app-counts-changelog", 0)
BEGUN = Restore("counts", *PART, start=3, end=9, position=3, records=0)
HALF = replace(BEGUN, position=6, records=3)
WHOLE = replace(BEGUN, position=9, records=5)


def watch_of(listener: StateRestoreListener, answers: Iterable[list[Restore]] = ()) -> RestoreWatch:
    remaining = iter(answers)
    watch = RestoreWatch(lambda: next(remaining, []), interval_s=0.001)
    watch.listener = listener
    return watch


def test_a_listener_hears_start_batches_and_end() -> None:
    """Each batch counts only the records since the one before."""
    watch = watch_of(heard := Heard())
    for restore in (BEGUN, HALF, HALF):
        watch.progressed([restore])
    watch.completed([WHOLE])
    assert heard.calls == [
        ("start", PART, "counts", 3, 9),
        ("batch", PART, "counts", 6, 3),
        ("batch", PART, "counts", 9, 2),
        ("end", PART, "counts", 5),
    ]


def test_a_restore_that_begins_again_was_suspended() -> None:
    """A slot that was lost has restored a part, which the next one counts anew."""
    watch = watch_of(heard := Heard())
    watch.progressed([HALF])
    watch.progressed([replace(BEGUN, start=0, position=1, records=1)])
    assert heard.calls[2:] == [
        ("suspended", PART, "counts", 3),
        ("start", PART, "counts", 0, 9),
        ("batch", PART, "counts", 1, 1),
    ]


def test_a_restore_is_heard_of_once_after_its_end() -> None:
    """The next restore of the same store is a new one."""
    watch = watch_of(heard := Heard())
    watch.completed([WHOLE])
    watch.completed([WHOLE])
    assert [call[0] for call in heard.calls] == ["start", "batch", "end"] * 2


def test_the_slots_are_asked_while_batches_run() -> None:
    """At the end of the application an unfinished restore is suspended."""
    heard, has_half = Heard(), threading.Event()

    def ask() -> list[Restore]:
        if heard.calls:
            has_half.set()
            return [HALF]
        return [BEGUN]

    watch = RestoreWatch(ask, interval_s=0.001)
    watch.listener = heard
    with watch.following():
        assert has_half.wait(10)
    assert heard.calls[0] == ("start", PART, "counts", 3, 9)
    assert heard.calls[-1][0] == "suspended"
    assert len([call for call in heard.calls if call[0] == "start"]) == 1


def test_an_answer_from_before_the_end_of_a_restore_is_left_out() -> None:
    """A slot may answer just before its restore is complete, and be heard just after."""
    heard, asked, answered = Heard(), threading.Event(), threading.Event()

    def ask() -> list[Restore]:
        if asked.is_set():
            return []
        asked.set()
        assert answered.wait(10)
        return [HALF]

    watch = RestoreWatch(ask, interval_s=0.001)
    watch.listener = heard
    with watch.following():
        assert asked.wait(10)
        watch.completed([WHOLE])
        answered.set()
    assert [call[0] for call in heard.calls] == ["start", "batch", "end"]


def test_a_listener_that_fails_is_logged_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The batch has been committed when a listener hears of it."""

    class Failing(StateRestoreListener):
        def on_batch_restored(self, *told: Any) -> None:
            raise ValueError("no")

    watch = watch_of(Failing())
    with caplog.at_level(logging.ERROR, logger="penstock"):
        watch.completed([WHOLE, replace(WHOLE, store="sums")])
    assert [record.getMessage() for record in caplog.records] == [
        "the restore listener failed in on_batch_restored for 'counts'",
        "the restore listener failed in on_batch_restored for 'sums'",
    ]
