"""Stream threads that applications with the same ``penstock.slot.pool`` share."""

from __future__ import annotations

import logging
import threading
from typing import Any

from pyspark import SparkContext

from penstock.config import APPLICATION_ID, RACK_AWARE_TAGS, SLOT_POOL, StreamsConfig
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.shared_offsets import SharedOffsets
from penstock.runtime.spark.driver.threads.stream_threads import StreamThreads

log = logging.getLogger(__name__)


class SharedThreads(StreamThreads):
    """As many stream threads as Spark has cores, each with slots of several applications."""

    def __init__(self, context: SparkContext, name: str, secret: bytes) -> None:
        super().__init__(context, f"pool {name}", secret)
        self.offsets = SharedOffsets()

    def start(self, application_id: str, wanted: int) -> None:
        """Have a thread per core, whatever one of the applications wants."""
        super().start(application_id, self.most_threads)

    @property
    def most_threads(self) -> int:
        return max(self.context.defaultParallelism, 1)

    @property
    def is_usable(self) -> bool:
        """Whether its Spark context has not been stopped."""
        java: Any = self.context._jsc
        try:
            return java is not None and not java.sc().isStopped()
        except Exception as error:  # noqa: BLE001 - the JVM is gone
            log.debug("the Spark context of %s is gone: %s", self._name, error)
            return False


_POOLS: dict[str, SharedThreads] = {}
_POOLS_LOCK = threading.Lock()


def shared_threads(context: SparkContext, name: str, secret: bytes) -> SharedThreads:
    """Return the pool of this name in this process; a stopped Spark context has ended its pools."""
    with _POOLS_LOCK:
        for old in [key for key, pool in _POOLS.items() if not pool.is_usable]:
            _POOLS.pop(old).close()
        if name not in _POOLS:
            _POOLS[name] = SharedThreads(context, name, secret)
        return _POOLS[name]


def placement_of(config: StreamsConfig, context: SparkContext, secret: bytes) -> Placement:
    """Return where the slots of an application go: to threads of its own, or to those of its pool.

    The threads are not started yet.
    """
    application_id, pool = config[APPLICATION_ID], config[SLOT_POOL]
    if pool:
        return Placement(shared_threads(context, pool, secret), application_id, shares=True)
    listed_tags = config[RACK_AWARE_TAGS]
    return Placement(
        StreamThreads(context, application_id, secret, tags=listed_tags), application_id
    )
