"""Two processes with one application id: one leads, the other keeps copies and takes over."""

from __future__ import annotations

import time
from pathlib import Path

from tests.failover.harness import Instances
from tests.waiting import happens


def test_a_standby_answers_and_takes_over(tmp_path: Path) -> None:
    """While nobody leads it still answers, and no record is counted twice or not at all."""
    with Instances(tmp_path, rate=200, **{"num.standby.replicas": 1}) as instances:
        instances.start(0)
        instances.wait_for_output(0.0)
        instances.start(1)
        assert happens(lambda: instances.is_standing_by(1), 120)
        assert instances.leader() == 0
        assert happens(lambda: "value" in instances.ask(1, "k1"), 30)
        assert instances.ask(0, "k1")["value"] > 0
        before = instances.output.counts["k1"]
        assert happens(lambda: (instances.ask(1, "k1").get("value") or 0) >= before, 30)

        killed = time.monotonic()
        instances.kill(0)
        stale = instances.ask(1, "k1")
        # It may be on its way to lead already; then it says so.
        assert stale.get("value", before) >= before or "error" in stale
        instances.wait_for_output(killed + 0.5)
        assert happens(lambda: instances.leader() == 1, 30)
        instances.stop_input()
        instances.wait_for_all()
        assert instances.output.faults == []
        assert happens(lambda: instances.ask(1, "k1").get("value") == instances.sent["k1"], 30)
