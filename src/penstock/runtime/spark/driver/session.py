"""The Spark session of an application: one that exists already, or a new one."""

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
from penstock.runtime.logs import expect_no_answer_of_jvm, is_fault
from penstock.runtime.spark.driver.class_archive import archive_options
from penstock.runtime.spark.driver.executors.spark_executors import is_local
from penstock.runtime.spark.driver.quiet_spark import quiet_start
from penstock.runtime.spark.driver.spark_defaults import given_to_spark

log = logging.getLogger(__name__)

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

#: Spark's defaults are made for large jobs.
_DEFAULTS: dict[str, Any] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.python.worker.reuse": "true",
    # Stream threads and long jobs of the user share the cores.
    "spark.scheduler.mode": "FAIR",
    # Stream threads begin with everything imported.
    "spark.python.daemon.module": "penstock.runtime.spark.worker.daemon",
    # A paused or unreachable executor counts as lost after this time, not after two minutes.
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "10s",
    "spark.executor.heartbeatInterval": "5s",
    # A little less than the time between two updates of ``spark_pages``: a heartbeat, which knows
    # nothing of what stream threads do, is then hardly ever shown.
    "spark.ui.liveUpdate.period": "900ms",
    "spark.log.level": "ERROR",
}
#: How often a task may fail until Spark ends all tasks of its job: all stream threads. Spark counts
#: over the whole life of a task, and these stay.
_ATTEMPTS = 16
#: A cluster manager ends an application that has lost too many executors in its whole life. One
#: that runs for months loses some now and then. Only losses within this time are a sign that
#: executors cannot run at all.
_CLUSTER: dict[str, Any] = {
    "spark.executor.failuresValidityInterval": "1m",
    "spark.yarn.am.attemptFailuresValidityInterval": "10m",
    "spark.task.maxFailures": _ATTEMPTS,
}
#: On one machine, no other host has to reach the driver, and it can start more quickly.
_LOCAL: dict[str, Any] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # Here driver and executor are one process. Spark compares their heartbeats by the clock of the
    # machine: one that is set ahead, or that sleeps, would make them lose each other for good.
    "spark.storage.blockManagerHeartbeatTimeoutMs": "3650d",
    "spark.executor.heartbeatInterval": "10s",
}
#: Stream threads are tasks that stay. So many more tasks run beside them: those of other
#: applications, of ``to_spark``, and of the user's own jobs.
_SPARE_TASKS = 8
#: Records do not pass through the JVM, so a quick start is worth more than fast code. The heap
#: begins small: Java would begin with a share of the machine, and fill it before it collects.
_JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m")
#: Options of the first JVM, which Spark starts only to find the command line of the real one.
_LAUNCHER_OPTIONS = " ".join([*_JVM_OPTIONS, "-Xshare:auto"])


def spark_session(config: StreamsConfig) -> tuple[SparkSession, bool]:
    """Return a session, and whether it was created here, so that it ends with the application."""
    if _is_running():
        return SparkSession.builder.getOrCreate(), False
    present = given_to_spark()
    settings = spark_settings(config, present)
    set_variable("PYSPARK_PYTHON", python_of_executors({**present, **settings}))
    with _own_signal_handlers(), quiet_start():
        context = SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))
    # Meanwhile Spark loads what it needs for queries.
    threading.Thread(target=_start_workers, args=(context,), daemon=True).start()
    session = SparkSession.builder.config(map={**settings}).getOrCreate()
    session.sparkContext.setLogLevel({**present, **settings}["spark.log.level"])
    return session, True


def spark_settings(config: StreamsConfig, present: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session, without those that Spark has already.

    Args:
        present: the settings that Spark has already. Penstock's defaults do not override them.
    """
    own = {name: value for name, value in config.items() if name.startswith("spark.")}
    defaults = {**_DEFAULTS, **_for_place(config, {**present, **own})}
    missing = {name: value for name, value in defaults.items() if name not in present}
    settings = {name: _text(value) for name, value in {**missing, **own}.items()}
    # spark-submit would name the application after its file.
    settings["spark.app.name"] = _text(own.get("spark.app.name", config[APPLICATION_ID]))
    return settings


def python_of_executors(settings: Mapping[str, str]) -> str:
    """Return the interpreter of the executors, which may be a path that only they have.

    PySpark reads it from a variable. Only ``spark-submit`` knows ``spark.pyspark.python``.
    """
    named = settings.get("spark.pyspark.python") or variable("PYSPARK_PYTHON")
    return named or sys.executable


def stop_session(session: SparkSession, patience_s: float) -> None:
    """Stop a session that was created here; kill a JVM that does not answer any more."""
    if not ask_jvm(lambda: _stop(session), patience_s):
        end_jvm()


def _stop(session: SparkSession) -> None:
    # Tasks that end with their session, and nothing else, would be errors in Spark's log.
    session.sparkContext.setLogLevel("OFF")
    session.stop()


def end_jvm() -> None:
    """Kill Spark's JVM: it does not answer, or it is not needed any more while it starts."""
    process = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    if process is not None:
        log.warning("Spark's JVM does not answer: it is killed")
        expect_no_answer_of_jvm()
        process.kill()
        # The next session of this process starts another one.
        SparkContext._gateway = SparkContext._jvm = None


def ask_jvm(call: Callable[[], object], patience_s: float) -> bool:
    """Call Spark's JVM, which may have ended or be paused; false if there is no answer in time.

    A call to a paused JVM has no limit of its own, and would keep an application from ending.
    """

    def run() -> None:
        try:
            call()
        except Exception as error:
            level = logging.WARNING if is_fault(error) else logging.DEBUG
            log.log(level, "a call to Spark's JVM failed: %s", error, exc_info=is_fault(error))

    thread = threading.Thread(target=run, name="penstock-jvm", daemon=True)
    thread.start()
    thread.join(patience_s)
    return not thread.is_alive()


@contextlib.contextmanager
def _own_signal_handlers() -> Iterator[None]:
    """Keep the program's handler of Ctrl-C, which a new Spark context would replace.

    Spark's handler cancels all jobs and interrupts the program, so nothing would be closed.
    """
    former = signal.getsignal(signal.SIGINT)
    yield
    if former is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, former)


def _start_workers(context: SparkContext) -> None:
    """Let Spark start its Python processes, which takes a while and needs no application."""
    # On one machine one task starts the daemon, and more would only leave processes that wait.
    slots = 1 if is_local(context.master) else context.defaultParallelism
    try:
        tasks: Any = context.parallelize(range(slots), slots).mapPartitions(_nothing)
        context._jsc.setCallSite(context.appName)
        context.setJobDescription("Python workers start")
        tasks._jrdd.count()
    except Exception:
        log.debug("Spark's Python processes could not be started early", exc_info=True)


def _nothing(items: Iterable[int]) -> Iterable[int]:
    return ()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_running() -> bool:
    """Tell whether this process has a session already, also in another thread."""
    context = getattr(SparkContext, "_active_spark_context", None)
    return context is not None or SparkSession.getActiveSession() is not None


def _for_place(config: StreamsConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults for the place where Spark runs: this machine, or a cluster."""
    if variable("PYSPARK_GATEWAY_PORT"):
        # spark-submit has started a JVM, and has chosen Java and the driver's memory.
        return _CLUSTER
    java = find_java()
    set_variable("JAVA_HOME", str(java_home_for_spark(java)))
    if not variable("SPARK_LAUNCHER_OPTS"):
        set_variable("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTIONS)
    master = str(given.get("spark.master", "") or variable("MASTER") or "")
    if not master:
        slots = max(config[NUM_STREAM_THREADS], os.cpu_count() or 1)
        return {
            **_local(java, given),
            "spark.master": f"local[{slots + _SPARE_TASKS},{_ATTEMPTS}]",
            "spark.default.parallelism": slots,
        }
    return _local(java, given) if is_local(master) else _CLUSTER


def _local(java: Java, given: Mapping[str, Any]) -> dict[str, Any]:
    if _JAVA_OPTIONS in given:
        return _LOCAL
    return {**_LOCAL, _JAVA_OPTIONS: " ".join([*_JVM_OPTIONS, *archive_options(java)])}
