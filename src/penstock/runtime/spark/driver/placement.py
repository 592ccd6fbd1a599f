"""Keeps each slot on the executor that has its state, as Spark does for its own stores."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from pyspark import RDD, SparkContext

from penstock.runtime.spark.exchange.stage_request import Endpoint, Outcome

log = logging.getLogger(__name__)

_LOOK_S = 10.0
#: How long to wait for executors at the start, if there are fewer cores than slots.
_ARRIVAL_S = 5.0
_MOVE_S = 30.0


class Placement:
    """Remembers the server of every slot, and asks Spark to run the slot's tasks there."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self.endpoints: dict[int, Endpoint] = {}
        #: By slot: the server that ran it last, even if that server has ended. An earlier server of
        #: the slot may still run, with outdated state.
        self._owners: dict[int, str] = {}
        #: For each slot that has a standby: the nearest one. The slot starts there if it is lost.
        self.standbys: dict[int, Endpoint] = {}
        #: How many times a slot has been found with another server than before.
        self.moves = 0
        #: The watch over the slots; a run that goes on with them has a new one.
        self.watch: object | None = None
        self._rdd: tuple[tuple[str | None, ...], RDD[int]] | None = None
        self._looked = self._moved = time.monotonic()

    def wait_for_executors(self, slots: int, closing: threading.Event) -> None:
        """Wait a moment for executors: slots that all start on the first one would move soon."""
        conf = self._context.getConf()
        if is_local(conf.get("spark.master")):
            return
        cores = int(conf.get("spark.executor.cores", "1") or 1)
        deadline = time.monotonic() + _ARRIVAL_S
        while executor_count(self._context) * cores < slots and time.monotonic() < deadline:
            if closing.wait(0.1):
                return

    def note(self, outcomes: Iterable[Outcome]) -> None:
        """Note from the results of a job where each slot is now."""
        for outcome in outcomes:
            if outcome.endpoint is None:
                continue
            before = self.endpoints.get(outcome.slot)
            if before is not None and before.server != outcome.endpoint.server:
                self.moves += 1
                log.warning("slot %d moved to %s", outcome.slot, outcome.endpoint.host)
            self.endpoints[outcome.slot] = outcome.endpoint
            self._owners[outcome.slot] = outcome.endpoint.server

    def owners(self) -> dict[int, str]:
        """Return the server that ran each slot last."""
        return dict(self._owners)

    def forget(self, slots: Iterable[int]) -> None:
        for slot in slots:
            self.endpoints.pop(slot, None)

    def places(self, slots: int) -> RDD[int]:
        """Return an RDD with one partition per slot, each preferred by the slot's executor."""
        found = (self.endpoints.get(n) or self.standbys.get(n) for n in range(slots))
        hosts = tuple(map(_location, found))
        if self._rdd is None or self._rdd[0] != hosts:
            self._rdd = hosts, placed(self._context, hosts)
        return self._rdd[1]

    def to_move(self, slots: int) -> int | None:
        """Return a slot that should go to an executor with fewer; None if the load is even.

        A slot without a place in ``endpoints`` is started wherever Spark has room.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK_S or now - self._moved < _MOVE_S:
            return None
        self._looked = now
        executors = executor_count(self._context)
        load = Counter(
            (self.endpoints[n].host, self.endpoints[n].executor)
            for n in range(slots)
            if n in self.endpoints
        )
        if not load:
            return None
        fullest, most = load.most_common(1)[0]
        # ``load`` does not have executors without slots.
        fewest = min(load.values()) if len(load) >= executors else 0
        if most - fewest < 2:
            return None
        self._moved = now
        return next(
            n for n in reversed(range(slots))
            if n in self.endpoints
            and (self.endpoints[n].host, self.endpoints[n].executor) == fullest
        )  # fmt: skip


def is_local(master: str | None) -> bool:
    """Tell whether Spark runs its tasks in the driver's own JVM, without executors."""
    return master is None or master == "local" or master.startswith("local[")


def executor_count(context: SparkContext) -> int:
    """Return how many executors run tasks; on one machine, the driver is the only one."""
    return max(known_executors(context) or 0, 1)


def known_executors(context: SparkContext) -> int | None:
    """Return the number of executors without the driver; None if Spark does not say it."""
    try:
        # The driver is listed, too; with ``local[*]`` it is all there is.
        return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1
    except Exception as error:  # noqa: BLE001 - not a public API: then nothing is moved
        log.debug("the number of executors is not known: %s", error)
        return None


def _location(endpoint: Endpoint | None) -> str | None:
    """Return an executor as a preferred location of Spark's scheduler."""
    if endpoint is None or endpoint.executor in ("driver", "unknown"):
        return None
    return f"executor_{endpoint.host}_{endpoint.executor}"


def placed(context: SparkContext, hosts: Sequence[str | None]) -> RDD[int]:
    """Return an RDD with one partition per location; None runs anywhere."""
    if any(hosts):
        try:
            return _with_preferences(context, hosts)
        except Exception as error:  # noqa: BLE001 - not a public API: tasks run anywhere then
            _warn_of_no_locations(f"{type(error).__name__}: {error}")
    return context.parallelize(range(len(hosts)), len(hosts))


@cache
def _warn_of_no_locations(reason: str) -> None:
    """Warn once for each reason: without locations, slots lose their state when they move."""
    log.warning("Spark takes no preferred locations, so slots may move: %s", reason)


def _with_preferences(context: SparkContext, hosts: Sequence[str | None]) -> RDD[int]:
    """Create the RDD in the JVM, because PySpark's ``parallelize`` takes no locations."""
    jvm: Any = context._jvm
    serializer: Any = context._unbatched_serializer
    rows = jvm.java.util.ArrayList()
    convert = jvm.scala.jdk.javaapi.CollectionConverters
    for number, host in enumerate(hosts):
        wanted = jvm.java.util.ArrayList()
        if host is not None:
            wanted.add(host)
        data = bytearray(serializer.dumps(number))
        rows.add(jvm.scala.Tuple2(data, convert.asScala(wanted).toSeq()))
    tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
    made = context._jsc.sc().makeRDD(convert.asScala(rows).toSeq(), tag).toJavaRDD()
    return RDD(made, context, serializer)
