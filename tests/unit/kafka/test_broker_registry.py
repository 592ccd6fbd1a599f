"""The folder of a broker without a broker; real brokers are in ``tests/integration/kafka``."""

import os
from pathlib import Path

import pytest

from penstock.kafka.broker_folder import BrokerFolder
from penstock.kafka.broker_registry import (
    PROJECT_BROKER,
    BrokerStatus,
    find_project_broker,
    remove,
    running_project_broker,
    status,
    stop,
)
from penstock.kafka.errors import BrokerError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose broker has been used before."""
    folder = tmp_path / PROJECT_BROKER
    (folder / "data").mkdir(parents=True)
    (folder / "server.properties").touch()
    (folder / "port").write_text("20001")
    (folder / "data" / "meta.properties").write_text("version=1\ncluster.id=abc\n")
    return tmp_path


def test_the_broker_of_a_project_is_found_from_the_folders_below(project: Path) -> None:
    """The nearest folder with a broker wins."""
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    assert find_project_broker(below) == BrokerFolder(project / PROJECT_BROKER)
    nearer = project / "src" / PROJECT_BROKER
    nearer.mkdir(parents=True)
    (nearer / "server.properties").touch()
    assert find_project_broker(below) == BrokerFolder(nearer)


def test_a_folder_is_not_a_broker_before_its_first_start(tmp_path: Path) -> None:
    """Only the file that a start writes counts."""
    (tmp_path / PROJECT_BROKER).mkdir(parents=True)
    assert find_project_broker(tmp_path) is None


def test_a_broker_runs_as_long_as_its_lock_is_held(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of a broker that was killed say nothing."""
    monkeypatch.chdir(project)
    assert running_project_broker() is None
    lock = BrokerFolder(project / PROJECT_BROKER).lock()
    assert running_project_broker() == "127.0.0.1:20001"
    os.close(lock)
    assert running_project_broker() is None


def test_the_status_of_a_broker_that_does_not_run_has_its_cluster(project: Path) -> None:
    """The cluster is in the data, which stays. There is no address."""
    folder = project / PROJECT_BROKER
    found = status(folder)
    assert found == BrokerStatus(folder, is_running=False, cluster_id="abc")
    assert found.bootstrap_servers is None


def test_nothing_is_stopped_where_nothing_runs(project: Path) -> None:
    """A process id of an earlier run may belong to another process by now: it gets no signal."""
    (project / PROJECT_BROKER / "pid").write_text(str(os.getpid()))
    assert stop(project / PROJECT_BROKER) is False


def test_a_folder_in_use_is_not_removed(project: Path) -> None:
    """Without a broker it goes, with all data."""
    folder = project / PROJECT_BROKER
    lock = BrokerFolder(folder).lock()
    with pytest.raises(BrokerError) as error:
        remove(folder)
    assert error.value.code == "broker-folder-in-use"
    assert (folder / "data" / "meta.properties").exists()
    os.close(lock)
    remove(folder)
    assert not folder.exists()
