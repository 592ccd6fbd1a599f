"""The application with Spark's scheduler for Kubernetes and the settings of our manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.hosts import can_isolate, reap
from tests.cluster.kubernetes.cluster import Kubernetes
from tests.cluster.run import ClusterRun, Options
from tests.cluster.telling import all_told

SCRIPT = ("executor", "worker", "slot", "driver")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_faults_of_pods_change_no_result(tmp_path: Path, needs_java: None) -> None:
    """Executors are pods that the driver asks the API server for; lost ones are made again."""
    if not can_isolate():
        pytest.skip("two hosts on one machine need Linux and root")
    options = Options(
        minutes=30.0, seed=4, faults=SCRIPT, is_script=True, pause_s=(1.0, 3.0), rate=50,
        brokers=1, drain_s=900.0,
    )  # fmt: skip
    try:
        with ClusterRun(options, tmp_path, make_spark=Kubernetes) as run:
            outcome = run.run()
    finally:
        reap()
    print(outcome.text())
    assert outcome.is_ok
    assert outcome.has_done_all
    assert all_told(tmp_path / "driver" / "app.log")[-1]["batches"] > 10
