"""The operator's cluster test with a few faults in a fixed order: results are exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.hosts import reap
from tests.cluster.run import ClusterRun, Options

#: One of each: the order is fixed, the victims follow from the seed.
SCRIPT = ("thread", "broker", "task", "executor", "decommission", "driver", "pause")
#: Those that no other test of the default suite has.
SHORT = ("broker", "task", "executor", "decommission")


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.parametrize(
    "script",
    [pytest.param(SHORT, id="short"), pytest.param(SCRIPT, id="all", marks=pytest.mark.chaos)],
)
def test_faults_of_every_kind_change_no_result(
    tmp_path: Path, needs_java: None, script: tuple[str, ...]
) -> None:
    """Three brokers, two workers, some faults: every output and store is as computed."""
    options = Options(
        # Shorter than ten: none of the pauses outlasts a session.
        minutes=9.0,
        seed=4,
        faults=script,
        is_script=True,
        pause_s=(1.0, 3.0),
        rate=200,
        drain_s=300.0,
    )
    try:
        with ClusterRun(options, tmp_path) as run:
            outcome = run.run()
    finally:
        reap()
    print(outcome.text())
    assert outcome.is_ok
    assert outcome.has_done_all
