"""The methods of ``KafkaStreams`` that read its stores, and find out where they are."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.model.time.duration import Duration, to_ms
from penstock.processor.functions import StreamPartitioner
from penstock.query import StateQueryRequest, StateQueryResult, StoreQueryParameters
from penstock.runtime.spark.driver.lanes.cut_part import CutPart
from penstock.runtime.spark.driver.stores.clients_metadata import (
    KeyQueryMetadata,
    LagInfo,
    StreamsMetadata,
)
from penstock.runtime.spark.driver.stores.cut_view import CutView, wrong_batch
from penstock.runtime.spark.driver.stores.instance_stores import InstanceStores
from penstock.runtime.spark.driver.stores.store_view import StoreView


class Asking(ABC):
    """Methods about the state of an application, which work while it runs."""

    @abstractmethod
    def _stores(self) -> InstanceStores:
        """Return the stores of this instance; raise if the application does not run."""

    def store(self, name: str | StoreQueryParameters) -> StoreView:
        """Return a store as of the newest committed batch, over all its partitions.

        An instance that stands by reads its copy, which it has if ``num.standby.replicas`` is set.

        Args:
            name: the store, or ``penstock.query.StoreQueryParameters``, which also choose a
                partition, refuse copies, and read values with their timestamps.
        """
        return self._stores().view(name)

    def store_dataframe(self, name: str) -> DataFrame:
        """Return a committed snapshot of a store as a DataFrame.

        Its columns are the key, the bounds of the window, the value or its members, and the
        timestamp that the store keeps: those of ``store(name).to_arrow()``, which needs no Spark.
        """
        return self._stores().dataframe(name)

    @contextlib.contextmanager
    def cut(self, as_of_batch: int | None = None, timeout: Duration = "30s") -> Iterator[CutView]:
        """Yield all stores at one moment. Inside the ``with`` block, no slot begins a batch.

        Slots begin nothing either while the call waits for one that does not end its batch.

        Args:
            as_of_batch: the number of the cut to read; the call waits until it is there. The
                default is the newest cut.
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

    def register_views(
        self, spark: SparkSession, prefix: str, timeout: Duration = "30s"
    ) -> dict[str, str]:
        """Make views for Spark SQL of all stores, and of all topics that the program writes.

        The store ``counts`` is ``shop_counts`` with the prefix ``shop``; characters that a name in
        SQL cannot have become underscores. All are as of one cut, and stay so until the call is
        repeated: stores are copied, and of topics the part up to the cut is read by each query.

        Args:
            spark: The session that has the views. It needs Spark 4.0.
            prefix: How the names of the views begin; empty for names without it.
            timeout: How long to wait for a cut.

        Returns:
            The names of the views, each with the store or topic that it shows.

        Raises:
            InvalidArgumentError: ``same-view``: two of them would have one name.
        """
        with self.cut(timeout=timeout) as cut:
            return self._stores().register_views(spark, prefix, cut)

    def cut_part(self) -> CutPart | None:
        """Return this instance's part in a cut of several applications; None if another leads.

        The SQL server takes such cuts over its queries.
        """
        return self._stores().cut_part()

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Query a store with a position bound; each partition returns a result or a reason."""
        return self._stores().query(request)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]:
        """Return all instances of the application; the one that leads is first."""
        return self._stores().clients()

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata]:
        """Return the instances that have a store, or a copy of it."""
        return self._stores().clients_with(store)

    def query_metadata_for_key(
        self, store: str, key: Any, partitioner: StreamPartitioner | None = None
    ) -> KeyQueryMetadata:
        """Return which instance has a key, and which have a copy of it.

        Args:
            partitioner: how the producers of the store's topic choose the partition of a key. It
                gets None as the value. The default is Kafka's: murmur2.
        """
        return self._stores().key_metadata(store, key, partitioner)

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        """Return how far the stores of this instance are behind their changelogs, by store."""
        return self._stores().lags()
