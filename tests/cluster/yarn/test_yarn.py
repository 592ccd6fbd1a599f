"""The application on a real YARN: slots stay where they are, and faults change no result."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kafka.download.jar_download import DownloadError
from tests.cluster.hosts import can_isolate, reap
from tests.cluster.run import ClusterRun, Options
from tests.cluster.telling import all_told
from tests.cluster.yarn.cluster import Yarn
from tests.cluster.yarn.hadoop import NoHadoopError, ensure_jars

#: One of each, in this order; a node manager that is lost leaves its executor without an owner.
SCRIPT = ("application_master", "worker", "manager", "executor", "driver")


@pytest.fixture
def yarn(needs_java: None) -> type[Yarn]:
    if not can_isolate():
        pytest.skip("two hosts on one machine need Linux and root")
    try:
        ensure_jars()
    except (DownloadError, NoHadoopError) as error:
        pytest.skip(f"the jars of YARN's servers are not there: {error}")
    return Yarn


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_slots_stay_on_their_executors(tmp_path: Path, yarn: type[Yarn]) -> None:
    """Half a minute without faults: no slot moves, and nothing is restored."""
    options = Options(minutes=0.5, faults=(), rate=50, brokers=1, drain_s=900.0)
    told = _run(options, tmp_path, yarn)
    assert told[-1]["batches"] > 10
    assert told[-1]["moves"] == 0
    assert told[-1]["restored"] == 0
    assert len(set(told[-1]["places"].values())) == 2


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_faults_of_yarn_change_no_result(tmp_path: Path, yarn: type[Yarn]) -> None:
    """Containers, the application master and YARN's own servers are killed, one at a time."""
    options = Options(
        minutes=30.0, seed=4, faults=SCRIPT, is_script=True, pause_s=(1.0, 3.0), rate=50,
        brokers=1, drain_s=900.0,
    )  # fmt: skip
    _run(options, tmp_path, yarn)


def _run(options: Options, folder: Path, yarn: type[Yarn]) -> list[dict[str, object]]:
    try:
        with ClusterRun(options, folder, make_spark=yarn) as run:
            outcome = run.run()
    finally:
        reap()
    print(outcome.text())
    assert outcome.is_ok
    assert outcome.has_done_all
    return all_told(folder / "driver" / "app.log")
