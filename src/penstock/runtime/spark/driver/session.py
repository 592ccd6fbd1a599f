"""The Spark session an application runs in: the one that is there, or one of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from penstock.config import APPLICATION_ID, NUM_STREAM_THREADS, StreamsConfig
from penstock.kafka.java import Java, find_java, java_home_for_spark
from penstock.kafka.machine import set_variable, variable
from penstock.runtime.spark.driver.class_archive import archive_options

log = logging.getLogger(__name__)

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

#: Small batches often: Spark's defaults are made for large ones seldom.
_DEFAULTS: dict[str, Any] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.python.worker.reuse": "true",
    # Stages of applications and long jobs of the user share the cores.
    "spark.scheduler.mode": "FAIR",
    # Workers, and the slots that are started from them, begin with everything imported.
    "spark.python.daemon.module": "penstock.runtime.spark.worker.daemon",
    # An executor that is paused or unreachable is given up after this time, not after two minutes.
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "10s",
    "spark.executor.heartbeatInterval": "5s",
    "spark.log.level": "ERROR",
}
#: On one machine nobody else has to reach the driver, and it can be made to start quickly.
_LOCAL: dict[str, Any] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
}
#: Records do not pass through the JVM: code that starts quickly is worth more than fast code.
_JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
#: Spark starts a JVM only to find out how to start the real one.
_LAUNCHER_OPTIONS = " ".join([*_JVM_OPTIONS, "-Xshare:auto"])


def spark_session(config: StreamsConfig) -> tuple[SparkSession, bool]:
    """Gives a session, and whether it was made here and so ends with the application."""
    if _is_running():
        return SparkSession.builder.getOrCreate(), False
    given = {name: value for name, value in config.items() if name.startswith("spark.")}
    settings = {**_DEFAULTS, **_for_place(config, given), **given}
    settings = {name: _text(value) for name, value in settings.items()}
    settings.setdefault("spark.app.name", config[APPLICATION_ID])
    if not variable("PYSPARK_PYTHON"):
        set_variable("PYSPARK_PYTHON", sys.executable)
    with _own_signal_handlers():
        context = SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))
    # While Spark loads what it needs for queries.
    threading.Thread(target=_start_workers, args=(context,), daemon=True).start()
    session = SparkSession.builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel(str(given.get("spark.log.level", "ERROR")))
    return session, True


def stop_session(session: SparkSession, patience_s: float) -> None:
    """Stop a session of our own; a JVM that does not answer any more is killed."""
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    if not ask_jvm(session.stop, patience_s) and process is not None:
        log.warning("Spark's JVM does not answer: it is killed")
        process.kill()


def ask_jvm(call: Callable[[], object], patience_s: float) -> bool:
    """Call Spark's JVM, which may be gone or paused; false if it has not answered in time.

    A call to a paused JVM has no limit of its own, and would keep an application from ending.
    """

    def run() -> None:
        # A JVM that is gone has nothing to be cleaned up.
        with contextlib.suppress(Exception):
            call()

    thread = threading.Thread(target=run, name="penstock-jvm", daemon=True)
    thread.start()
    thread.join(patience_s)
    return not thread.is_alive()


@contextlib.contextmanager
def _own_signal_handlers() -> Iterator[None]:
    """Keep the program's handler of Ctrl-C: a new Spark context puts its own in its place.

    Spark's handler cancels all jobs and interrupts the program, so nothing would be closed.
    """
    former = signal.getsignal(signal.SIGINT)
    yield
    if former is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, former)


def _start_workers(context: SparkContext) -> None:
    """Has Spark start its Python processes, which takes a while and needs no application."""
    slots = context.defaultParallelism
    with contextlib.suppress(Exception):
        context.parallelize(range(slots), slots).mapPartitions(_nothing).count()


def _nothing(items: Iterable[int]) -> Iterable[int]:
    return ()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_running() -> bool:
    """Whether this process has a session already, also one of another thread."""
    context = getattr(SparkContext, "_active_spark_context", None)
    return context is not None or SparkSession.getActiveSession() is not None


def _for_place(config: StreamsConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """What depends on where Spark runs: here, unless a master or spark-submit says otherwise."""
    if variable("PYSPARK_GATEWAY_PORT"):
        # spark-submit has started a JVM with its own settings.
        return {}
    java = find_java()
    set_variable("JAVA_HOME", str(java_home_for_spark(java)))
    if not variable("SPARK_LAUNCHER_OPTS"):
        set_variable("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTIONS)
    master = str(given.get("spark.master", "") or variable("MASTER") or "")
    if not master:
        slots = max(config[NUM_STREAM_THREADS], os.cpu_count() or 1)
        return {**_local(java, given), "spark.master": f"local[{slots}]"}
    return _local(java, given) if master.startswith("local[") or master == "local" else {}


def _local(java: Java, given: Mapping[str, Any]) -> dict[str, Any]:
    if _JAVA_OPTIONS in given:
        return _LOCAL
    return {**_LOCAL, _JAVA_OPTIONS: " ".join([*_JVM_OPTIONS, *archive_options(java)])}
