"""The thread that asks all slots: servers stay, and what takes long is named.

Exercises ``executors.slot_watch`` over real connections.
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
from penstock.runtime.spark.driver.executors import slot_watch
from penstock.runtime.spark.driver.executors.slot_watch import SlotWatch
from penstock.runtime.spark.driver.placement import Placement
from penstock.runtime.spark.exchange.channel import OK, accepted, listen, receive, send
from penstock.runtime.spark.exchange.doing import Doing
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
                assert receive(connection) == ("doing", "app-1-x", 0)
                self.asked += 1
                send(connection, (OK, self.answer))

    def close(self) -> None:
        for opened in self._unanswered:
            opened.close()


class Shown:
    busy_with: str | None = None


@contextmanager
def watched(server: Server, placement: Placement, shown: Shown) -> Iterator[SlotWatch]:
    placement.endpoints[0] = server.endpoint
    watch = SlotWatch(placement, SECRET, "app-1-x", shown)
    watch.start()
    try:
        yield watch
    finally:
        watch.end(keeps_slots=False)
        server.close()


@pytest.fixture
def placement(monkeypatch: pytest.MonkeyPatch) -> Placement:
    for name, seconds in (("_LOOK_S", 0.05), ("_SILENCE_S", 0.2), ("_LONG_S", 0.3)):
        monkeypatch.setattr(slot_watch, name, seconds)
    return Placement(cast("Any", None))


def happens(is_true: Any) -> bool:
    deadline = time.monotonic() + 30
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(is_true())


def test_slots_are_asked_while_the_driver_does_something_else(placement: Placement) -> None:
    """Otherwise a to_spark function of two minutes ends all of them."""
    server, shown = Server(), Shown()
    with watched(server, placement, shown):
        assert happens(lambda: server.asked > 3)
    assert shown.busy_with is None


def test_slots_that_are_kept_for_the_next_run_are_asked_until_it_begins(
    placement: Placement,
) -> None:
    """While the broker is away there is no run; the next one has a watch of its own."""
    server, shown = Server(), Shown()
    with watched(server, placement, shown) as first:
        first.end(keeps_slots=True)
        before = server.asked
        assert happens(lambda: server.asked > before + 3)
        with watched(server, placement, shown):
            pass
        assert placement.watch is not first
        time.sleep(0.3)
        ended = server.asked
        time.sleep(0.3)
        assert server.asked == ended


def test_a_record_that_takes_long_is_named(placement: Placement) -> None:
    """With its place in the input and the line of the program, until it is done."""
    server, shown = Server(), Shown()
    server.answer = [Doing(TaskId(0, 1), ("words", 0, 7), "app.py:41 in score")]
    with watched(server, placement, shown) as watch:
        with watch.over_stage(STAGE):
            assert happens(lambda: shown.busy_with is not None)
            assert "task 0_1" in (shown.busy_with or "")
            assert "app.py:41 in score" in (shown.busy_with or "")
            assert "topic 'words' partition 0 offset 7" in (shown.busy_with or "")
        assert shown.busy_with is None


def test_records_that_follow_each_other_are_not_named(placement: Placement) -> None:
    """A stage may take long with many records: it is not one of them that takes long."""
    server, shown = Server(), Shown()
    with watched(server, placement, shown) as watch, watch.over_stage(STAGE):
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
    with watched(server, placement, shown) as watch, watch.over_stage(STAGE):
        began = time.monotonic()
        assert happens(lambda: shown.busy_with is not None)
        assert time.monotonic() - began >= 1.5
        assert "app.py:41 in score" in (shown.busy_with or "")


def test_a_process_that_does_not_answer_is_named_with_its_records(placement: Placement) -> None:
    """A function that keeps Python's lock lets no other thread answer."""
    server, shown = Server(), Shown()
    server.answer = None
    with watched(server, placement, shown) as watch, watch.over_stage(STAGE):
        assert happens(lambda: shown.busy_with is not None)
        assert "does not answer" in (shown.busy_with or "")
        assert "'words' partition 0 offsets 5 to 8" in (shown.busy_with or "")
