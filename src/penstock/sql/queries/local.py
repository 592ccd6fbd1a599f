"""Queries in this process: no Kafka, no Spark. For tests, and for trying things out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.config import APPLICATION_ID, PROCESSING_LOG, StreamsConfig
from penstock.model.record import Headers
from penstock.runtime.local.application import LocalApplication
from penstock.runtime.local.column_batches import BatchReport
from penstock.runtime.local.kept import KeptApplication
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.processing_log import ProcessingLogSettings
from penstock.sql.queries.push import PushQuery, Row, refuse_cut
from penstock.sql.results import OutgoingRecord
from penstock.topology.nodes import Source
from penstock.topology.topology import Topology

#: ksqlDB's settings of a query where they differ from those of Kafka Streams.
QUERY_CONFIG: dict[str, object] = {
    "deserialization.exception.handler": "continue",
    "statestore.cache.max.bytes": 0,
}


class LocalQuery:
    """Runs one query's topology record by record, and returns its output records.

    ``over_columns`` runs each record as a batch over columns if the result is provably the same.
    With ``log``, entries of the processing log are written beside the query's own records.
    """

    def __init__(
        self,
        query_id: str,
        application_id: str,
        topology: Topology,
        *,
        over_columns: bool = False,
        kept: KeptApplication | None = None,
        log: ProcessingLogSettings | None = None,
        statement: str = "",
    ) -> None:
        self.id = query_id
        self.topics = _topics(topology)
        spec = None if log is None else log.spec(query_id, statement, self.topics)
        own = {APPLICATION_ID.name: application_id, PROCESSING_LOG.name: spec}
        config = StreamsConfig({**QUERY_CONFIG, **own})
        self._application = LocalApplication(
            topology, config, 0, on_disk=False, over_columns=over_columns, kept=kept
        )
        self._seen = 0

    def pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> list[ProducedRecord]:
        """Process one record; return the records written to users' topics, in order."""
        self._application.pipe(topic, key, value, timestamp, headers)
        return self.take()

    def take(self) -> list[ProducedRecord]:
        """Return the records written since the last call, without internal topics."""
        produced = self._application.produced
        new = produced[self._seen :]
        self._seen = len(produced)
        return [r for r in new if not self._application.is_internal_topic(r.topic)]

    @property
    def batches(self) -> list[BatchReport]:
        """How each batch ran over columns; empty if records are processed one by one."""
        return self._application.batches

    @property
    def stores(self) -> dict[str, object]:
        return self._application.stores

    def close(self) -> None:
        self._application.close()


def _topics(topology: Topology) -> frozenset[str]:
    nodes = topology.graph.nodes.values()
    return frozenset(topic for node in nodes if isinstance(node, Source) for topic in node.topics)


class Subscription:
    """A running push query; ``rows`` are its rows so far, up to its LIMIT."""

    def __init__(self, queries: LocalQueries, query: PushQuery, local: LocalQuery) -> None:
        self._queries = queries
        self._local = local
        self._query = query

    @property
    def rows(self) -> list[Row]:
        return self._query.rows_of(self._queries.produced)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def close(self) -> None:
        """End the query; its rows stay."""
        self._queries.queries.remove(self._local)
        self._local.close()


class LocalQueries:
    """All queries of an engine: the output of a query goes at once to the queries that read it."""

    def __init__(
        self, queries: Iterable[LocalQuery], *, log: ProcessingLogSettings | None = None
    ) -> None:
        self.queries = list(queries)
        self._log = log
        #: Everything that queries wrote, in order.
        self.produced: list[ProducedRecord] = []
        #: All records of all topics, including input from outside.
        self._written: list[ProducedRecord] = []
        self.is_closed = False

    def pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = 0,
        headers: Headers = (),
    ) -> None:
        """Process a record with every query that reads its topic, directly or indirectly."""
        self._written.append(ProducedRecord(topic, key, value, timestamp, headers, 0))
        for query in self.queries:
            if topic in query.topics:
                for record in query.pipe(topic, key, value, timestamp, headers):
                    self.produced.append(record)
                    self.pipe(*record[:5])

    def insert(self, record: OutgoingRecord) -> None:
        """Process a row of INSERT VALUES; without a time, it has the time 0."""
        self.pipe(record.topic, record.key, record.value, record.timestamp or 0, record.headers)

    def records(self, topic: str) -> list[ProducedRecord]:
        """Return the records of a topic, oldest first; ``PullQuery.rows`` reads tables with it."""
        return [record for record in self._written if record.topic == topic]

    def forget(self, topic: str) -> None:
        """Delete the records of a topic; the state of queries does not change."""
        self._written = [record for record in self._written if record.topic != topic]

    def subscribe(self, query: PushQuery) -> Subscription:
        """Run a push query beside the others; it sees records from now on."""
        refuse_cut(query.plan.cut)
        local = LocalQuery(
            query.id, f"push-{query.id}", query.topology, log=self._log, statement=query.plan.sql
        )
        self.queries.append(local)
        return Subscription(self, query, local)

    def close(self) -> None:
        """End all queries; what they have written stays."""
        self.is_closed = True
        for query in self.queries:
            query.close()

    def __enter__(self) -> LocalQueries:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
