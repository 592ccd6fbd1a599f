"""``to_lake`` on the driver: committed rows become versions of tables, each row once.

Tasks write the rows, in their transactions, to a topic of the node. Up to where a version goes is
written to the batch log first. Then Spark tasks write the rows into files, and the driver alone
makes these files part of the table. The table remembers the number of the version, so whatever
dies, a second attempt finds out whether the first one was complete.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark.sql import SparkSession

from penstock.config import LAKE_COMPACT_VERSIONS, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.model.lake_table import DeltaName, IcebergName, lake_table
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lake.delta import DeltaTable
from penstock.runtime.spark.driver.lake.iceberg import IcebergTable, catalog_settings
from penstock.runtime.spark.driver.lake.row_files import table_schema, write_files
from penstock.runtime.spark.driver.lake.table import Table, Transaction
from penstock.runtime.spark.driver.row_ranges import RowRange, RowRanges
from penstock.runtime.spark.driver.to_spark import check_cores
from penstock.runtime.spark.exchange.batch_log import BatchLog
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.typed_columns import key_columns
from penstock.topology.graph import Graph
from penstock.topology.nodes.topics.to_lake import ToLake

log = logging.getLogger(__name__)


def lake_sinks(graph: Graph) -> list[ToLake]:
    return [node for node in graph.nodes.values() if isinstance(node, ToLake)]


class LakeSinks:
    """Appends the new rows of all ``to_lake`` nodes to their tables.

    Raises:
        StreamsError: ``lake-table``: a table cannot take the rows of its node.
    """

    def __init__(
        self, spark: SparkSession, application: Application, batch_log: BatchLog, admin: Admin
    ) -> None:
        self._spark = spark
        self._application = application
        self._sinks = lake_sinks(application.plan.graph)
        self._rows = RowRanges(application, batch_log, admin, self._sinks)
        self._tables: dict[str, Table] = {}
        self._compact_every = StreamsConfig(application.config)[LAKE_COMPACT_VERSIONS]
        for sink in self._sinks:
            check_cores(spark, sink, "to_lake")
            table = _table(sink, application)
            table.open(table_schema(spark, sink))
            self._tables[sink.name] = table

    @property
    def has_any(self) -> bool:
        return bool(self._sinks)

    def call(self, number: int, written: Mapping[TopicPartition, int] | None) -> None:
        """Append the new rows of every node; what an earlier driver has begun comes first.

        Args:
            number: the cut whose rows these are.
            written: the next offset of every partition with rows; None if only Kafka knows it.
        """
        for sink in self._sinks:
            for rows in self._rows.due(sink, number, written):
                self._append(sink, rows)
                self._rows.done(sink, rows)
                if self._compact_every and rows.version % self._compact_every == 0:
                    self._tables[sink.name].compact()

    def _append(self, sink: ToLake, rows: RowRange) -> None:
        table, name = self._tables[sink.name], f"{self._application.id}-{sink.name}"
        transaction = Transaction(f"penstock/{name}/{rows.series}", rows.version)
        if table.has(transaction):
            return
        files = write_files(
            self._spark,
            sink,
            rows.ranges,
            self._application.restore_consumer,
            (table.files_folder, f"{name}-{rows.version}"),
        )
        if not files:
            # Offsets that no committed record has.
            return
        notes = {"penstock.application": self._application.id, "penstock.node": sink.name}
        if rows.is_exact:
            notes["penstock.batch"] = str(rows.batch)
        table.append(files, transaction, notes)
        count = sum(file.rows for file in files)
        log.debug("%s: %d rows in version %d of the rows", sink.topic, count, rows.version)


def _table(sink: ToLake, application: Application) -> Table:
    keys = key_columns(sink) if sink.has_present_rows else []
    match lake_table(sink.topic):
        case DeltaName(folder):
            return DeltaTable(folder, sink.site, keys)
        case IcebergName() as name:
            return IcebergTable(name, catalog_settings(name, application.config), sink.site, keys)
