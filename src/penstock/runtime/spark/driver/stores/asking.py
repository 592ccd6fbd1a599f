"""What ``KafkaStreams`` offers to read its stores, and to find out where they are."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from penstock.model.time.duration import Duration, to_ms
from penstock.query import StateQueryRequest, StateQueryResult
from penstock.runtime.spark.driver.stores.clients_metadata import (
    KeyQueryMetadata,
    LagInfo,
    StreamsMetadata,
)
from penstock.runtime.spark.driver.stores.cut_view import CutView, wrong_batch
from penstock.runtime.spark.driver.stores.instance_stores import InstanceStores
from penstock.runtime.spark.driver.stores.store_view import StoreView


class Asking(ABC):
    """The questions about state that an application answers while it runs."""

    @abstractmethod
    def _stores(self) -> InstanceStores:
        """Return the stores of this instance; raise if the application does not run."""

    def store(self, name: str) -> StoreView:
        """A store as of the newest committed batch, over all its partitions.

        An instance that stands by answers from its copy, which ``num.standby.replicas`` asks for.
        """
        return self._stores().view(name)

    def store_dataframe(self, name: str) -> DataFrame:
        """A committed snapshot of a store as a DataFrame: key, value and, for windows, bounds.

        Values that are no plain numbers or text are JSON text.
        """
        return self._stores().dataframe(name)

    @contextlib.contextmanager
    def cut(self, as_of_batch: int | None = None, timeout: Duration = "30s") -> Iterator[CutView]:
        """All stores as of one batch: no batch begins, or is shown, inside the block.

        Args:
            as_of_batch: the batch to read; one that is not complete yet is waited for. Without
                it, the newest one is read.
            timeout: how long to wait.

        Raises:
            InvalidStateError: ``batch-gone`` or ``batch-not-there``.
        """
        deadline = time.monotonic() + to_ms(timeout) / 1000
        while True:
            with self._stores().hold(max(deadline - time.monotonic(), 0.1)) as view:
                newest = -1 if view is None else view.batch
                is_wanted = as_of_batch is None or newest == as_of_batch
                if view is not None and is_wanted:
                    yield view
                    view.end()
                    return
            wanted = newest + 1 if as_of_batch is None else as_of_batch
            if newest > wanted or time.monotonic() > deadline:
                raise wrong_batch(wanted, newest)
            time.sleep(0.02)

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Ask a store with a position bound; each partition answers, or says why it does not."""
        return self._stores().query(request)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]:
        """All instances of the application; the one that leads first."""
        return self._stores().clients()

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata]:
        """The instances that have a store, or a copy of it."""
        return self._stores().clients_with(store)

    def query_metadata_for_key(self, store: str, key: Any) -> KeyQueryMetadata:
        """Which instance has a key, and which have a copy."""
        return self._stores().key_metadata(store, key)

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        """How far the stores of this instance are behind their changelogs, by store."""
        return self._stores().lags()
