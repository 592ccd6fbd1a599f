"""The leader of several instances is killed: another one commits within seconds, exactly once."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from tests.failover.harness import Instances

#: What a user with default settings is promised, in seconds.
_PROMISED_S = 15.0


@pytest.mark.chaos
def test_the_leader_is_killed_twenty_times(tmp_path: Path) -> None:
    """Nothing is lost or doubled, and the next commit comes in time, but for a busy machine."""
    with Instances(tmp_path, **{"num.standby.replicas": 1}) as instances:
        gaps = []
        for number in range(3):
            instances.start(number)
        instances.wait_for_output(0.0)
        for _ in range(20):
            instances.wait_until_ready()
            leader = instances.leader()
            assert leader is not None
            began = time.monotonic()
            instances.kill(leader)
            time.sleep(0.3)
            gaps.append(instances.wait_for_output(began + 0.3) + 0.3)
            instances.start(leader)
        instances.stop_input()
        instances.wait_for_all()
        assert instances.output.faults == []
        assert statistics.median(gaps) < _PROMISED_S
