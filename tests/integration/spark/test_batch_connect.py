"""History through Spark Connect: only the DataFrame API is used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.kafka.java import find_java, java_home_for_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("connect_program.py")


def test_history_runs_through_spark_connect(needs_java: None) -> None:
    """The client has no Spark context: the server runs everything."""
    pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home_for_spark(find_java())),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True,
        check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["session"].startswith("pyspark.sql.connect")
    assert told["counts"] == {"w0": 10, "w1": 10, "w2": 10}
    assert told["out"] == 30
