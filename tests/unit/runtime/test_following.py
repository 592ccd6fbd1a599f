"""A thread keeps a replica at the newest cut, and does not give up when that fails."""

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.batch_log import Cut
from penstock.runtime.spark.replica import following
from penstock.runtime.spark.replica.following import ReplicaThread

PATIENCE_S = 30.0


class Copies:
    """Notes which cuts it was told to follow; fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.followed: list[int] = []
        self.closed: list[bool] = []
        self.has_followed = threading.Event()
        self._failures = failures

    def follow(self, cut: Cut, is_closing: Callable[[], bool]) -> None:
        assert not is_closing()
        if self._failures:
            self._failures -= 1
            raise StreamsError("broken", "the changelog cannot be read")
        self.followed.append(cut.batch)
        self.has_followed.set()

    def close(self, *, is_promoted: bool) -> None:
        self.closed.append(is_promoted)


def thread(copies: Any, newest: Callable[[], Cut | None]) -> ReplicaThread:
    return ReplicaThread(copies, newest)


def test_each_new_cut_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """``wake`` is enough; nothing waits for the pause to end."""
    monkeypatch.setattr(following, "_PAUSE_S", PATIENCE_S)
    cuts: list[Cut | None] = [None]
    copies = Copies()
    running = thread(copies, lambda: cuts[0])
    for batch in (1, 2):
        copies.has_followed.clear()
        cuts[0] = Cut(1, batch, {})
        running.wake()
        assert copies.has_followed.wait(PATIENCE_S)
    running.wake()
    running.close()
    assert copies.followed == [1, 2]


def test_a_cut_that_failed_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy that cannot be kept is a warning, not the end of the application."""
    monkeypatch.setattr(following, "_PAUSE_S", 0.001)
    copies = Copies(failures=2)
    with caplog.at_level(logging.WARNING, logger=following.__name__):
        running = thread(copies, lambda: Cut(1, 5, {}))
        assert copies.has_followed.wait(PATIENCE_S)
        running.close()
    assert copies.followed == [5]
    said = "copies of stores are waiting: the changelog cannot be read"
    assert [record.getMessage() for record in caplog.records] == [said, said]


@pytest.mark.parametrize(
    ("error", "is_shown"), [(StreamsError("broken", "away"), False), (KeyError("store"), True)]
)
def test_a_fault_is_logged_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    is_shown: bool,
) -> None:
    """Otherwise a fault of this library looks like a broker that cannot be reached."""
    monkeypatch.setattr(following, "_PAUSE_S", 0.001)
    copies = Copies()

    def fail(cut: Cut, is_closing: Callable[[], bool]) -> None:
        copies.has_followed.set()
        raise error

    monkeypatch.setattr(copies, "follow", fail)
    with caplog.at_level(logging.WARNING, logger=following.__name__):
        running = thread(copies, lambda: Cut(1, 5, {}))
        assert copies.has_followed.wait(PATIENCE_S)
        running.close()
    assert bool(caplog.records[0].exc_info) == is_shown


@pytest.mark.parametrize("is_promoted", [True, False])
def test_the_databases_are_let_go_after_the_thread_has_ended(is_promoted: bool) -> None:
    """The replica is told whether this instance will lead, and so keeps the files or not."""
    copies = Copies()
    running = thread(copies, lambda: None)
    running.close(is_promoted=is_promoted)
    assert copies.closed == [is_promoted]
    assert not running._thread.is_alive()


def test_a_replica_that_is_in_use_is_closed_when_its_thread_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To close a client of Kafka's while another thread reads with it may never return."""
    monkeypatch.setattr(following, "_CLOSE_S", 0.05)
    copies, may_end = Copies(), threading.Event()

    def waiting(cut: Cut, is_closing: Callable[[], bool]) -> None:
        copies.has_followed.set()
        assert may_end.wait(PATIENCE_S)

    monkeypatch.setattr(copies, "follow", waiting)
    running = thread(copies, lambda: Cut(1, 5, {}))
    assert copies.has_followed.wait(PATIENCE_S)
    running.close(is_promoted=True)
    assert copies.closed == []
    may_end.set()
    running._thread.join(PATIENCE_S)
    assert copies.closed == [True]
