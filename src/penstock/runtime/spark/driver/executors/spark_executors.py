"""What Spark says about its executors: which there are, and which of them are leaving."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from pyspark import RDD, SparkContext

log = logging.getLogger(__name__)


class ExecutorId(NamedTuple):
    """An executor, as Spark's scheduler and its command line name it."""

    host: str
    name: str


def is_local(master: str | None) -> bool:
    """Tell whether Spark runs its tasks in the driver's own JVM, without executors."""
    return master is None or master == "local" or master.startswith("local[")


def local_cores(context: SparkContext) -> int:
    """Return how many tasks a session of this machine runs at a time."""
    java: Any = context._jsc
    backend = java.sc().schedulerBackend()
    try:
        return int(backend.totalCores())
    except Exception as error:  # noqa: BLE001 - not a public API
        log.debug("the cores of the local session are not known: %s", error)
        return context.defaultParallelism


def known_executors(context: SparkContext) -> int | None:
    """Return the number of executors without the driver; None if Spark does not say it."""
    try:
        # The driver is listed, too; with ``local[*]`` it is all there is.
        return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1
    except Exception as error:  # noqa: BLE001 - not a public API: then nothing is moved
        log.debug("the number of executors is not known: %s", error)
        return None


def executors_of(context: SparkContext) -> list[ExecutorId]:
    """Return the executors that stay and run tasks; none if Spark runs inside the driver."""
    java: Any = context._jsc
    summaries = java.sc().statusStore().executorList(True)
    found = (summaries.apply(number) for number in range(summaries.size()))
    names = [(each.hostPort().rpartition(":")[0], each.id()) for each in found]
    leaving = leaving_executors(context, {name for _, name in names})
    return sorted(
        ExecutorId(host, name) for host, name in names if name != "driver" and name not in leaving
    )


def leaving_executors(context: SparkContext, names: Iterable[str]) -> frozenset[str]:
    """Return those of the executors that Spark decommissions: their tasks should move away."""
    try:
        scheduler: Any = context._jsc.sc().taskScheduler()
        return frozenset(
            name for name in names if scheduler.getExecutorDecommissionState(name).isDefined()
        )
    except Exception as error:  # noqa: BLE001 - not a public API: then none is known
        log.debug("Spark does not say which executors leave: %s", error)
        return frozenset()


def placed(context: SparkContext, executor: ExecutorId | None, count: int) -> RDD[int]:
    """Return an RDD of so many partitions that are preferred by an executor, if one is named."""
    if executor is not None:
        try:
            return _with_preference(context, f"executor_{executor.host}_{executor.name}", count)
        except Exception as error:  # noqa: BLE001 - not a public API: tasks run anywhere then
            _warn_of_no_locations(f"{type(error).__name__}: {error}")
    return context.parallelize(range(count), count)


@cache
def _warn_of_no_locations(reason: str) -> None:
    """Warn once for each reason: without locations a thread may not start where it is wanted."""
    log.warning("Spark takes no preferred locations for stream threads: %s", reason)


def _with_preference(context: SparkContext, wanted: str, count: int) -> RDD[int]:
    """Create the RDD in the JVM, because PySpark's ``parallelize`` takes no locations."""
    jvm: Any = context._jvm
    serializer: Any = context._unbatched_serializer
    rows = jvm.java.util.ArrayList()
    # Scala's own converters have other names in Spark 3.5, which is built with Scala 2.12.
    as_sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    for number in range(count):
        hosts = jvm.java.util.ArrayList()
        hosts.add(wanted)
        data = bytearray(serializer.dumps(number))
        rows.add(jvm.scala.Tuple2(data, as_sequence(hosts)))
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
    made = context._jsc.sc().makeRDD(as_sequence(rows), tag).toJavaRDD()
    return RDD(made, context, serializer)
