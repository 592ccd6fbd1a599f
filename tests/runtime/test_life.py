"""An application that is closed at an awkward moment, with a leader that starts nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import penstock as ps
from penstock.runtime.spark.driver import streams as module


class ApplicationRun:
    """Says what is done to it, and is launched only when it may."""

    driver = None
    query = None

    def __init__(self, *given: Any) -> None:
        self.steps: list[str] = []
        self.is_launching = threading.Event()
        self.may_go_on = threading.Event()

    def prepare(self) -> None:
        self.steps.append("prepared")

    def launch(self, spark: Any) -> None:
        self.is_launching.set()
        assert self.may_go_on.wait(10)
        self.steps.append("launched")

    def pause(self, *, is_paused: bool) -> None: ...

    def stop(self, *, is_clean: bool) -> None:
        self.steps.append("stopped")


def test_what_is_closed_while_it_starts_ends_after_it_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a query would go on running that nobody knows of."""
    leader = ApplicationRun()
    monkeypatch.setattr(module, "ApplicationRun", lambda *given: leader)
    monkeypatch.setattr(module, "spark_session", lambda config: (object(), False))
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    settings = {"application.id": "awkward", "bootstrap.servers": "127.0.0.1:1"}
    streams = ps.KafkaStreams(builder.build(), settings)
    starting = threading.Thread(target=streams.start)
    starting.start()
    assert leader.is_launching.wait(10)
    assert not streams.close("50ms")
    leader.may_go_on.set()
    starting.join(10)
    assert streams.wait("10s")
    assert leader.steps == ["prepared", "launched", "stopped"]
    assert streams.state is ps.State.NOT_RUNNING
