"""What a Spark session is started with, and who wins: the program, the operator, or Penstock."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from penstock import StreamsConfig
from penstock.runtime.spark.driver import session
from penstock.runtime.spark.driver.session import ask_jvm, python_of_executors, spark_settings
from penstock.runtime.spark.driver.spark_defaults import given_to_spark, read_defaults


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of Spark, and no Java is looked for."""
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_PYTHON", "MASTER", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("JAVA_HOME", "SPARK_LAUNCHER_OPTS"):
        # Set by the code under test; afterwards it is as before.
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(session, "find_java", lambda: None)
    monkeypatch.setattr(session, "java_home_for_spark", lambda java: "/java")
    monkeypatch.setattr(session, "archive_options", lambda java: [])


def chosen(present: dict[str, str] | None = None, **given: Any) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return spark_settings(StreamsConfig({"application.id": "words", **named}), present or {})


def test_a_cluster_counts_only_executors_lost_in_quick_succession() -> None:
    """Otherwise the fifth executor that is lost in a year ends an application of two."""
    for master in ("yarn", "k8s://https://kubernetes.default.svc", "spark://host:7077"):
        assert chosen(spark_master=master)["spark.executor.failuresValidityInterval"] == "1m"
        # Stream threads are tasks that stay: Spark's default of 4 is soon reached.
        assert chosen(spark_master=master)["spark.task.maxFailures"] == "16"
    assert "spark.executor.failuresValidityInterval" not in chosen()


def test_a_cluster_gets_no_address_of_this_machine_alone() -> None:
    assert "spark.driver.host" not in chosen(spark_master="yarn")
    assert chosen(spark_master="local[2]")["spark.driver.host"] == "127.0.0.1"


def test_a_clock_that_is_set_ahead_does_not_part_driver_and_executor_of_one_machine() -> None:
    """They are one process; Spark would take a jump of the clock for a long silence."""
    name = "spark.storage.blockManagerHeartbeatTimeoutMs"
    assert chosen(spark_master="local[2]")[name] == "3650d"
    assert chosen()[name] == "3650d"
    assert name not in chosen(spark_master="yarn")


def test_what_the_operator_gives_to_spark_wins_over_defaults() -> None:
    """A default of Penstock that is set again would silently undo ``spark-submit --conf``."""
    present = {"spark.network.timeout": "300s", "spark.master": "yarn"}
    found = chosen(present)
    assert "spark.network.timeout" not in found
    assert "spark.master" not in found
    assert found["spark.executor.failuresValidityInterval"] == "1m"


def test_what_the_program_says_wins_over_the_operator() -> None:
    found = chosen({"spark.network.timeout": "300s"}, spark_network_timeout="60s")
    assert found["spark.network.timeout"] == "60s"


def test_a_session_has_the_name_of_the_application() -> None:
    """spark-submit gives the name of the file, which says less."""
    assert chosen({"spark.app.name": "app.py"})["spark.app.name"] == "words"


def test_settings_of_a_submitted_program_keep_its_master(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    found = chosen({"spark.master": "yarn"})
    assert "spark.master" not in found
    assert "spark.driver.host" not in found


def test_executors_run_the_python_that_the_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark itself reads only the variable."""
    assert python_of_executors({}) == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    assert python_of_executors({}) == "/usr/bin/python3"
    named = {"spark.pyspark.python": "./environment/bin/python"}
    assert python_of_executors(named) == "./environment/bin/python"


def test_defaults_are_read_in_every_spelling(tmp_path: Path) -> None:
    file = tmp_path / "spark-defaults.conf"
    file.write_text(
        "# a comment\n\nspark.master   yarn\nspark.network.timeout=300s\n"
        "spark.driver.extraJavaOptions -Dname=value -Dother:x\n  spark.ui.enabled : false \n"
        "not.of.spark 1\n"
    )
    assert read_defaults(file) == {
        "spark.master": "yarn",
        "spark.network.timeout": "300s",
        "spark.driver.extraJavaOptions": "-Dname=value -Dother:x",
        "spark.ui.enabled": "false",
    }


def test_defaults_are_looked_for_where_spark_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.master yarn\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert given_to_spark() == {"spark.master": "yarn"}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert given_to_spark() == {}


def test_only_a_fault_is_logged_when_the_jvm_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    """A JVM that has ended has nothing to clean up; a fault of this library is a warning."""

    def gone() -> None:
        raise Py4JNetworkError("connection refused")

    def fault() -> None:
        raise AttributeError("jobs")

    with caplog.at_level(logging.INFO):
        assert ask_jvm(gone, 30)
        assert caplog.records == []
        assert ask_jvm(fault, 30)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.exc_info is not None
