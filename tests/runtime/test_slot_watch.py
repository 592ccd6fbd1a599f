"""The thread that asks all slots: paused ones are noticed, and what takes long is named.

Exercises ``threads.slot_watch`` over real connections.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.threads import slot_watch
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.slot_watch import SlotWatch
from penstock.runtime.spark.exchange.channel import accepted, listen, receive, send
from penstock.runtime.spark.exchange.doing import Doing
from penstock.runtime.spark.exchange.questions import Answered, AskDoing, SlotId
from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest

SECRET = b"s" * 32
STAGE = StageRequest(batch=1, stage=0, slots=1, clock_ms=0, ranges={("words", 0): (5, 9)})


class Server:
    """A slot server that counts its questions, and answers with what a test gives it."""

    def __init__(self) -> None:
        self.asked = 0
        #: None lets questions wait, as a process does whose Python is kept by one function.
        self.answer: list[Doing] | None = []
        self._unanswered: list[socket.socket] = []
        self._socket = listen("127.0.0.1")
        self.endpoint = Endpoint("server", "127.0.0.1", self._socket.getsockname()[1], "1")
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            opened, _ = self._socket.accept()
            if self.answer is None:
                self._unanswered.append(opened)
                continue
            connection = accepted(opened, SECRET)
            assert connection is not None
            with connection:
                assert receive(connection) == AskDoing(SlotId("app-1-x", 0))
                self.asked += 1
                send(connection, Answered(self.answer))

    def close(self) -> None:
        for opened in self._unanswered:
            opened.close()


class Threads:
    """The stream threads of the placement, which the watch may give up."""

    secret = SECRET

    def __init__(self) -> None:
        self.given_up: list[str] = []
        self.are_awake = False

    def give_up(self, server: str) -> None:
        self.given_up.append(server)

    def is_awake(self, server: str) -> bool:
        return self.are_awake


class Shown:
    busy_with: str | None = None


@contextmanager
def watched(server: Server, placement: Placement, shown: Shown) -> Iterator[SlotWatch]:
    placement.endpoints[0] = server.endpoint
    watch = SlotWatch(placement, "app-1-x", shown)
    watch.start()
    try:
        yield watch
    finally:
        watch.end()
        server.close()


@pytest.fixture
def placement(monkeypatch: pytest.MonkeyPatch) -> Placement:
    for name, seconds in (("_LOOK_S", 0.05), ("_SILENCE_S", 0.2), ("_LONG_S", 0.3)):
        monkeypatch.setattr(slot_watch, name, seconds)
    monkeypatch.setattr(slot_watch, "SILENCE_S", 0.5)
    return Placement(cast("Any", Threads()), "app")


def happens(is_true: Any) -> bool:
    deadline = time.monotonic() + 30
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(is_true())


def test_slots_are_asked_whatever_the_driver_is_doing(placement: Placement) -> None:
    """A paused thread is noticed while a function of to_spark keeps the driver."""
    server, shown = Server(), Shown()
    with watched(server, placement, shown):
        assert happens(lambda: server.asked > 3)
    assert shown.busy_with is None
    assert placement.threads.given_up == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("is_awake", [False, True])
def test_an_idle_thread_that_is_silent_is_given_up_unless_its_process_runs(
    placement: Placement, is_awake: bool
) -> None:
    """A paused process holds its databases open; one that is only busy answers later."""
    server, shown = Server(), Shown()
    server.answer = None
    threads = cast("Any", placement.threads)
    threads.are_awake = is_awake
    with watched(server, placement, shown):
        if is_awake:
            time.sleep(2.0)
            assert threads.given_up == []
        else:
            assert happens(lambda: "server" in threads.given_up)


def test_a_record_that_takes_long_is_named(placement: Placement) -> None:
    """With its place in the input and the line of the program, until it is done."""
    server, shown = Server(), Shown()
    server.answer = [Doing(TaskId(0, 1), ("words", 0, 7), "app.py:41 in score")]
    with watched(server, placement, shown) as watch:
        with watch.over_stage(0, STAGE):
            assert happens(lambda: shown.busy_with is not None)
            assert "task 0_1" in (shown.busy_with or "")
            assert "app.py:41 in score" in (shown.busy_with or "")
            assert "topic 'words' partition 0 offset 7" in (shown.busy_with or "")
        assert shown.busy_with is None


def test_records_that_follow_each_other_are_not_named(placement: Placement) -> None:
    """A stage may take long with many records: it is not one of them that takes long."""
    server, shown = Server(), Shown()
    with watched(server, placement, shown) as watch, watch.over_stage(0, STAGE):
        for offset in range(20):
            server.answer = [Doing(TaskId(0, 1), ("words", 0, offset))]
            asked = server.asked
            assert happens(lambda before=asked: server.asked > before)
            assert shown.busy_with is None


def test_a_batch_over_columns_may_take_longer(
    placement: Placement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full batch of a backlog is no reason for a warning."""
    monkeypatch.setattr(slot_watch, "_LONG_BATCH_S", 1.5)
    server, shown = Server(), Shown()
    server.answer = [Doing(TaskId(0, 1), None, "app.py:41 in score")]
    with watched(server, placement, shown) as watch, watch.over_stage(0, STAGE):
        began = time.monotonic()
        assert happens(lambda: shown.busy_with is not None)
        assert time.monotonic() - began >= 1.5
        assert "app.py:41 in score" in (shown.busy_with or "")


def test_a_process_that_does_not_answer_is_named_with_its_records(placement: Placement) -> None:
    """A function that keeps Python's lock lets no other thread answer."""
    server, shown = Server(), Shown()
    server.answer = None
    with watched(server, placement, shown) as watch, watch.over_stage(0, STAGE):
        assert happens(lambda: shown.busy_with is not None)
        assert "does not answer" in (shown.busy_with or "")
        assert "'words' partition 0 offsets 5 to 8" in (shown.busy_with or "")
