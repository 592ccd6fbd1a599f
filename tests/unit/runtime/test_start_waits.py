"""How long a start waits for the first answer of Kafka."""

from __future__ import annotations

import math
import time
from pathlib import Path

from penstock.config import StreamsConfig
from penstock.runtime.spark.driver.observing.start_waits import start_deadline


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
