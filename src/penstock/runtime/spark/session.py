"""The Spark session an application runs in: the one that is there, or one of its own."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import APPLICATION_ID, NUM_STREAM_THREADS, StreamsConfig
from penstock.kafka.java import java_home_for_spark
from penstock.kafka.machine import set_variable, variable

#: Small batches often: Spark's defaults are made for large ones seldom.
_DEFAULTS: dict[str, Any] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.pollingDelay": "5ms",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.python.worker.reuse": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Records do not pass through the JVM: code that starts quickly is worth more than fast code.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.log.level": "ERROR",
}


def spark_session(config: StreamsConfig) -> tuple[SparkSession, bool]:
    """Gives a session, and whether it was made here and so ends with the application."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    set_variable("JAVA_HOME", str(java_home_for_spark()))
    if not variable("PYSPARK_PYTHON"):
        set_variable("PYSPARK_PYTHON", sys.executable)
    threads = config[NUM_STREAM_THREADS]
    builder = SparkSession.builder.appName(config[APPLICATION_ID])
    given = {name: value for name, value in config.items() if name.startswith("spark.")}
    if "spark.master" not in given and not variable("MASTER"):
        builder = builder.master(f"local[{max(threads, os.cpu_count() or 1)}]")
    for name, value in {**_DEFAULTS, **given}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(str(given.get("spark.log.level", "ERROR")))
    return session, True
