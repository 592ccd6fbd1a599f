"""How long a start waits for the first answer of Kafka."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from penstock.config import StreamsConfig
from penstock.errors import StreamsError
from penstock.runtime.spark.driver.observing import start_waits
from penstock.runtime.spark.driver.observing.start_waits import StartWaits, start_deadline


def deadline(folder: Path) -> float:
    return start_deadline(
        StreamsConfig(
            {"application.id": "app", "state.dir": str(folder), "default.api.timeout.ms": 60_000}
        )
    )


def test_a_first_start_gives_up_when_nobody_answers(tmp_path: Path) -> None:
    """Its settings may be wrong; a lock that a failed start has left proves nothing."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".lock").touch()
    assert 50 < deadline(tmp_path) - time.monotonic() <= 60


def test_an_application_that_has_state_here_waits_as_long_as_it_takes(tmp_path: Path) -> None:
    """It may be restarted while the brokers are away, and nobody starts it again then."""
    (tmp_path / "app" / "0_0").mkdir(parents=True)
    assert deadline(tmp_path) == math.inf


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> StartWaits:
    monkeypatch.setattr(start_waits, "_QUIET_START_S", 0.0)
    return StartWaits()


def test_every_step_of_a_start_is_named_when_it_takes_long(waits: StartWaits) -> None:
    """A restart while the broker is away stood still for minutes without a word."""
    assert waits.told(has_started=False) is None
    waits.asking_servers(["a:1", "b:2"])
    assert waits.told(has_started=False) == "no answer yet from Kafka at a:1,b:2"
    waits.over()
    assert waits.told(has_started=False) is None
    waits.asking_group()
    assert "consumer group" in (waits.told(has_started=False) or "")
    waits.asking_log()
    assert "about the last run" in (waits.told(has_started=True) or "")


def test_the_last_failure_is_told_until_a_step_succeeds(waits: StartWaits) -> None:
    """Also while the next attempt is under way."""
    waits.failed(StreamsError("x", "cannot list topics"))
    waits.asking_group()
    assert waits.told(has_started=False) == "cannot list topics"
    waits.over()
    assert waits.told(has_started=True) == "another instance leads the application"


def test_a_step_that_has_only_begun_is_nothing_to_tell() -> None:
    """Most starts take a moment only."""
    waits = StartWaits()
    waits.asking_log()
    assert waits.told(has_started=True) is None
