"""Which broker a command uses, and where its state is kept; real brokers are elsewhere."""

import os
from pathlib import Path

import pytest

from penstock.cli.connection import with_project_broker
from penstock.kafka.broker_folder import BrokerFolder
from penstock.kafka.broker_registry import PROJECT_BROKER


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has a broker of the project; it does not run."""
    folder = tmp_path / PROJECT_BROKER
    folder.mkdir(parents=True)
    (folder / "server.properties").touch()
    (folder / "port").write_text("20001")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_state_on_the_broker_of_a_project_is_kept_beside_it(project: Path) -> None:
    """Two projects with the same names share no cluster, so they must not share a folder."""
    lock = BrokerFolder(project / PROJECT_BROKER).lock()
    state = str(project / ".penstock" / "state")
    assert with_project_broker({"a": 1, "bootstrap.servers": ""}) == {
        "a": 1, "bootstrap.servers": "127.0.0.1:20001", "state.dir": state,
    }  # fmt: skip
    assert with_project_broker({"state.dir": "/mine"})["state.dir"] == "/mine"
    os.close(lock)


def test_settings_that_name_a_broker_stay_as_they_are(project: Path) -> None:
    lock = BrokerFolder(project / PROJECT_BROKER).lock()
    named = {"bootstrap.servers": "kafka:9092"}
    assert with_project_broker(named) == named
    os.close(lock)


def test_a_broker_that_does_not_run_is_not_named(project: Path) -> None:
    assert with_project_broker({"a": 1}) == {"a": 1}
