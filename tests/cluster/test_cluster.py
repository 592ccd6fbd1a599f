"""A minute of the operator's cluster test: one fault of each important kind, exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.hosts import reap
from tests.cluster.run import ClusterRun, Options

#: One of each: the order is fixed, the victims follow from the seed.
SCRIPT = ("slot", "broker", "executor", "driver", "pause")


@pytest.mark.spark
@pytest.mark.kafka
def test_faults_of_every_kind_change_no_result(tmp_path: Path, needs_java: None) -> None:
    """Three brokers, two workers, five faults: every output and store is as computed."""
    options = Options(
        minutes=10.0,
        seed=4,
        faults=SCRIPT,
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
