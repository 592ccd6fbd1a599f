"""A cluster in memory, in place of Kafka: topics, offsets and state outlive the queries.

Scripts can be changed, stopped and started by the same rules as with Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.kernel.clocks import renamed
from penstock.model.record import Headers
from penstock.runtime.local.kept import KeptApplication
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.settings import plan_fingerprint
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.queries.following import todo
from penstock.sql.queries.local import QUERY_CONFIG, LocalQuery
from penstock.topology.topology import Topology
from penstock.topology.upgrades.settle import Settlement, settle

if TYPE_CHECKING:
    from penstock.sql.engine import SqlEngine


class LocalCluster:
    """All records, and the state of each application by application id."""

    def __init__(self) -> None:
        self.records: list[ProducedRecord] = []
        self.applications: dict[str, KeptApplication] = {}

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int = 0,
        headers: Headers = (),
    ) -> None:
        """Write a record; queries see it at their next ``run_until_idle``."""
        self.records.append(ProducedRecord(topic, key, value, timestamp, headers, 0))

    def topic(self, name: str) -> list[ProducedRecord]:
        """Return the records of a topic, oldest first."""
        return [record for record in self.records if record.topic == name]


class ClusterQueries:
    """The persistent queries of an engine over a cluster in memory; ``close`` keeps their state."""

    def __init__(self, engine: SqlEngine, cluster: LocalCluster) -> None:
        self._engine = engine
        self._cluster = cluster
        self._running: dict[str, LocalQuery] = {}
        self._plans: dict[str, QueryPlan] = {}

    def sync(self) -> None:
        """Start and stop queries so that those of the catalog run.

        Raises:
            TopologyError: ``plan-changed``, if the state of a query belongs to another plan.
        """
        catalog = self._engine.catalog
        work = todo(self._plans, catalog)
        for query_id in work.stop:
            self._stop(query_id)
        for query_id in work.forget:
            self._cluster.applications.pop(self._engine.application_id(query_id), None)
        catalog.ended.clear()
        # All queries are checked first: if one is refused, none is started.
        found = [self._settled(query_id) for query_id in work.start]
        for query_id, topology, settled in found:
            self._start(query_id, topology, settled)

    def _settled(self, query_id: str) -> tuple[str, Topology, Settlement]:
        application_id = self._engine.application_id(query_id)
        topology = self._engine.topology(query_id)
        config = StreamsConfig({**QUERY_CONFIG, APPLICATION_ID.name: application_id})
        kept = self._cluster.applications.get(application_id) or KeptApplication()
        settled = settle(
            kept.fingerprint,
            plan_fingerprint(topology.graph, config),
            application_id=application_id,
            has_state=kept.position > 0,
        )
        return query_id, topology, settled

    def _start(self, query_id: str, topology: Topology, settled: Settlement) -> None:
        application_id = self._engine.application_id(query_id)
        kept = self._cluster.applications.setdefault(application_id, KeptApplication())
        kept.fingerprint = settled.fingerprint.to_json()
        if kept.clocks is not None:
            kept.clocks = renamed(kept.clocks, settled.renames)
        self._running[query_id] = LocalQuery(query_id, application_id, topology, kept=kept)
        self._plans[query_id] = self._engine.queries[query_id].plan

    def _stop(self, query_id: str) -> None:
        self._running.pop(query_id).close()
        del self._plans[query_id]

    def run_until_idle(self) -> None:
        """Process all records, and those that queries write for each other."""
        self.sync()
        while any(self._catch_up(query) for query in self._running.values()):
            pass

    def _catch_up(self, query: LocalQuery) -> bool:
        """Let one query process its unread records; return False if there were none."""
        records = self._cluster.records
        kept = self._cluster.applications[self._engine.application_id(query.id)]
        new, kept.position = records[kept.position :], len(records)
        for record in new:
            if record.topic in query.topics:
                records.extend(query.pipe(*record[:5]))
        return bool(new)

    def close(self) -> None:
        """End all queries; the next run continues where they stopped."""
        for query_id in list(self._running):
            self._stop(query_id)

    def __enter__(self) -> ClusterQueries:
        self.sync()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
