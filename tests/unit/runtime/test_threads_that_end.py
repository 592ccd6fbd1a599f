"""Applications that end, and others that begin at the same moment in the same stream threads."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.driver.threads import stream_threads as module
from penstock.runtime.spark.driver.threads.stream_threads import Seat, StreamThreads
from tests.unit.runtime.test_leaving_executors import Job, Thread

_SECRET = b"s" * 32


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[StreamThreads]:
    monkeypatch.setattr(module, "ThreadJob", Job)
    Job.started = []
    context: Any = SimpleNamespace(getConf=lambda: {"spark.master": "yarn"})
    made = StreamThreads(context, "pool", _SECRET)
    made.start("one", 1)
    yield made
    made.close()


def arrive(threads: StreamThreads, name: str, job: str) -> Thread:
    thread = Thread(name, "1", job)
    threads.arrived(thread)  # type: ignore[arg-type]
    return thread


def test_an_application_that_begins_while_the_last_one_ends_has_its_own_threads(
    threads: StreamThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threads of the last application are ending: none of them is offered to the next."""
    old = arrive(threads, "old", "job-0")
    monkeypatch.setattr(Job, "close", lambda *_: threads.start("two", 1))
    threads.leave("one")
    assert old.is_ended
    assert Job.started == [1, 1]
    assert threads.candidates(Seat("two", 0)) == []
    new = arrive(threads, "new", "job-1")
    assert not new.is_ended
    assert threads.candidates(Seat("two", 0)) == [new.endpoint]


def test_a_secluded_application_that_comes_again_has_the_shared_threads(
    threads: StreamThreads,
) -> None:
    """Its private thread has ended, and nobody would start it again."""
    threads.start("two", 1)
    shared = arrive(threads, "shared", "job-0")
    threads.seclude(Seat("one", 0))
    private = arrive(threads, "private", "job-1")
    assert threads.candidates(Seat("one", 0)) == [private.endpoint]
    threads.leave("one")
    assert [private.is_ended, shared.is_ended] == [True, False]
    threads.start("one", 1)
    for name in ("one", "two"):
        assert threads.candidates(Seat(name, 0)) == [shared.endpoint]


def test_the_last_application_takes_its_private_threads_along(threads: StreamThreads) -> None:
    threads.seclude(Seat("one", 0))
    private, shared = arrive(threads, "private", "job-1"), arrive(threads, "shared", "job-0")
    threads.leave("one")
    assert private.is_ended
    assert shared.is_ended
    late = arrive(threads, "late", "job-1")
    assert late.is_ended
