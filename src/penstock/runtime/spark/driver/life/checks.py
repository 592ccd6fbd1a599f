"""Compares a program with the topics and the state that it finds, before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config import ACCEPTED_PLAN, APPLICATION_ID, StreamsConfig
from penstock.errors import StreamsError, TopologyError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Topic
from penstock.kafka.client_config import consumer_settings
from penstock.runtime.settings import plan_fingerprint
from penstock.runtime.spark.driver.changes.leftovers import topics_with_leftovers
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew, find_made_anew
from penstock.runtime.spark.driver.changes.renumbering import renumbered, topology_fingerprint
from penstock.runtime.spark.driver.life.positions import Positions
from penstock.runtime.spark.driver.topics import (
    batches_topic,
    check_internal_topics,
    internal_topics,
    resolve_patterns,
    source_partitions,
)
from penstock.runtime.spark.driver.written_topics import check_written_topics
from penstock.runtime.spark.exchange.batch_log import BatchLog, LogState, read_log
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.topology.graph import Graph
from penstock.topology.upgrades.settle import Settlement, check, settle
from penstock.topology.upgrades.stores import section_name, topic_section


class Checks:
    """Makes the plan of a program, and refuses what does not fit it."""

    def __init__(self, graph: Graph, config: StreamsConfig, admin: Admin) -> None:
        self._graph = graph
        self._config = config
        self._admin = admin
        self._application_id: str = config[APPLICATION_ID]
        #: The stores whose changelogs existed before this start.
        self._kept: frozenset[str] | None = None

    def plan(self) -> Plan:
        """Return the tasks and stages of the program, with the partitions that topics have now."""
        existing = self._admin.topics()
        graph = resolve_patterns(self._graph, existing)
        return make_plan(graph, source_partitions(graph, existing))

    def make_topics(self, plan: Plan) -> None:
        """Check all topics of a plan, and create those that are internal."""
        existing = self._admin.topics()
        specs = internal_topics(plan, self._config)
        check_written_topics(plan.graph, self._config, self._admin, existing)
        self._check_upgrade(existing)
        check_internal_topics(specs, existing)
        self._admin.create_topics(specs)

    def check_has_run(self) -> None:
        """Raise if the application has never run on this cluster."""
        if batches_topic(self._application_id) not in self._admin.topics():
            raise StreamsError(
                "never-run",
                f"application {self._application_id!r} has not run on this cluster",
                fix="correct application.id and bootstrap.servers, or start the application first",
            )

    def check_partitions(self, plan: Plan) -> None:
        """Raise if the plan no longer fits the topics: partitions or whole topics were added."""
        if self.plan().partitions != plan.partitions:
            raise StreamsError(
                "partitions-changed",
                "a source topic has other partitions than before, or a pattern matches a new topic",
                fix="nothing to do: the application begins again with them",
            )

    def _check_upgrade(self, existing: Mapping[str, Topic]) -> None:
        """Refuse a plan that does not fit the state."""
        own = f"{self._application_id}-"
        if self._kept is None:
            self._kept = frozenset(
                section_name(name.removeprefix(own).removesuffix("-changelog"))
                for name in existing
                if name.startswith(own) and name.endswith("-changelog")
            )
        topic = batches_topic(self._application_id)
        if topic in existing:
            # The open transaction of a killed leader is not waited for: only the next leader fences
            # it.
            stored = read_log(topic, consumer_settings(self._config, "restore"), is_whole=False)
            new = plan_fingerprint(self._graph, self._config)
            check(
                stored.plan_fingerprint, new, self._application_id,
                kept=self._kept, accepted=self._config[ACCEPTED_PLAN],
            )  # fmt: skip

    # When it leads

    def settle(self, batch_log: BatchLog, state: LogState, at: Positions) -> None:
        """Refuse state of a plan that does not fit, and note the plan that reads it from now on."""
        fingerprint = topology_fingerprint(self._graph)
        settled = self._settled(state)
        # An earlier release compared which topics match a pattern, too.
        earlier = topology_fingerprint(at.plan.graph)
        is_other = state.fingerprint not in (None, fingerprint, earlier)
        self._refuse_leftovers(state, at, settled)
        if state.fingerprint != fingerprint or settled.must_write:
            moved = renumbered(state.markers, at.plan, settled.renames) if is_other else None
            batch_log.set_topology(fingerprint, moved, settled.fingerprint.to_json())

    def _settled(self, state: LogState) -> Settlement:
        return settle(
            state.plan_fingerprint,
            plan_fingerprint(self._graph, self._config),
            application_id=self._application_id,
            has_state=bool(state.markers),
            kept=self._kept or frozenset(),
            accepted=self._config[ACCEPTED_PLAN],
        )

    def _refuse_leftovers(self, state: LogState, at: Positions, settled: Settlement) -> None:
        """Refuse to start if a repartition topic has unread records in another format."""
        plan = at.plan
        changed = [
            topic
            for topic in plan.graph.internal_topics
            if topic_section(topic) in settled.changed_sections
        ]
        if not changed:
            return
        known = at.known(state)
        positions = {
            (at.real(topic), number): known.get((topic, number), 0)
            for topic in changed
            for number in range(plan.partitions[topic])
        }
        left = topics_with_leftovers(positions, consumer_settings(self._config, "restore"))
        if left:
            raise TopologyError(
                "other-topology",
                f"application {self._application_id!r} has records of its former plan waiting in"
                f" {', '.join(map(repr, left))}, in another format than this plan reads",
                fix="start the former program once more and close it when it has processed its"
                " input, then start this one",
            )

    def made_anew(self, batch_log: BatchLog, state: LogState, plan: Plan) -> MadeAnew:
        """Find source topics that are not the ones that were read before."""
        own = {spec.name for spec in internal_topics(plan, self._config)}
        found = self._admin.topic_ids([*plan.external_topics, *own])
        sizes = {topic: plan.partitions[topic] for topic in plan.external_topics}
        return find_made_anew(
            state.topic_ids, found, sizes, own - {batches_topic(self._application_id)},
            batch_log, f"{self._application_id}-",
        )  # fmt: skip
