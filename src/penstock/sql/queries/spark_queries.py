"""Queries on Spark against Kafka: one application for each persistent query of an engine."""

from __future__ import annotations

import importlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.config import (
    APPLICATION_ID,
    BOOTSTRAP_SERVERS,
    PROCESSING_LOG,
    SLOT_POOL,
    StreamsConfig,
)
from penstock.connect.access import ConnectAccess
from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.client_config import admin_settings, consumer_settings, producer_settings
from penstock.kafka.clients import new_consumer, new_producer, sendable_time
from penstock.kafka.embedded import shared_broker
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.local.outbox import ProducedRecord
from penstock.runtime.settings import plan_fingerprint
from penstock.runtime.spark.driver.removal import remove_application
from penstock.runtime.spark.driver.topics import batches_topic
from penstock.runtime.spark.exchange.batch_log import read_log
from penstock.sql.catalog.catalog import Catalog, DataSource, PersistentQuery
from penstock.sql.ksql_settings import DEFAULT_SERVICE, QUERY_DEFAULTS, SERVICE_ID
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.queries.cluster_log import ClusterLog
from penstock.sql.queries.following import todo
from penstock.sql.queries.idle import wait_until_idle
from penstock.sql.queries.paused import PausedQueries, paused_topic
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.push import PushQuery, Row, refuse_cut
from penstock.sql.queries.spark_push import RunningPush
from penstock.sql.results import OutgoingRecord
from penstock.sql.setting_names import STREAMS_PREFIX, reaches_running_queries
from penstock.sql.statements.assertions import TopicShape
from penstock.topology.topology import Topology
from penstock.topology.upgrades.settle import check

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams
    from penstock.sql.engine import SqlEngine

_log = logging.getLogger("penstock.sql")
_PAUSE_S = 0.05
_BROKERS_CHOICE = -1
#: All queries of a process share slot servers and Spark jobs.
_POOL = "sql"
#: Queries that start or end at the same time. Mostly they wait for Kafka.
_AT_ONCE = 8


def settings_of(plan: QueryPlan) -> dict[str, str]:
    """Return the settings of Kafka Streams among those that are in force for a query."""
    return {
        name.removeprefix(STREAMS_PREFIX): value
        for name, value in plan.settings
        if reaches_running_queries(name)
    }


def topic_config(source: DataSource) -> dict[str, str]:
    """Return the settings of a topic of a stream or table; others are those of the broker."""
    config = {}
    if source.is_table:
        config["cleanup.policy"] = "compact" if source.is_compacted else "compact,delete"
    if source.topic_settings.retention_ms is not None:
        config["retention.ms"] = str(source.topic_settings.retention_ms)
    return config


def not_written(topic: str, error: KafkaError) -> StreamsError:
    """Return the error for a row that Kafka did not take."""
    if error.code() in (KafkaError._MSG_TIMED_OUT, KafkaError._ALL_BROKERS_DOWN):
        return StreamsError(
            "broker-unreachable",
            f"the row was not written to {topic!r}: {error.str()}",
            fix="see whether Kafka answers, then insert the row again",
        )
    return StreamsError(
        "row-not-written",
        f"Kafka refused the row for {topic!r}: {error.str()} ({error.name()})",
        fix="the row is larger than the topic takes, or the user may not write there",
    )


class SparkQueries:
    """Runs the persistent queries of an engine and follows its catalog.

    Without ``bootstrap.servers`` a private broker is started for this process. ``sync`` starts
    what CREATE made and ends what TERMINATE and DROP removed. ``spark.*`` settings go to Spark.
    """

    def __init__(
        self,
        engine: SqlEngine,
        config: Mapping[str, Any] | None = None,
        *,
        keeps_paused: bool = True,
    ) -> None:
        self._engine = engine
        given = dict(config or {})
        if not given.get(BOOTSTRAP_SERVERS.name):
            given[BOOTSTRAP_SERVERS.name] = shared_broker().bootstrap_servers
        self._config = {**QUERY_DEFAULTS, SLOT_POOL.name: _POOL, **given}
        base = StreamsConfig({APPLICATION_ID.name: "penstock-sql", **self._config})
        self._admin = Admin(admin_settings(base))
        self._base = base
        # Keys go to the partitions that Java's producers and the queries choose, as joins need it.
        self._producer = new_producer({"partitioner": "murmur2_random"} | producer_settings(base))
        self._session: Any = None
        self._owns_session = False
        self._opening = threading.Lock()
        self.is_closed = False
        #: The running applications by query id.
        self.applications: dict[str, KafkaStreams] = {}
        self._plans: dict[str, QueryPlan] = {}
        self._paused: set[str] = set()
        service_id = engine.config.get(SERVICE_ID, DEFAULT_SERVICE)
        self._paused_log: PausedQueries | None = None
        engine.catalog.topics.update(self.partitions())
        if keeps_paused:
            self._paused_log = PausedQueries(
                paused_topic(service_id), self._admin, self._producer, self._records
            )
            engine.catalog.learn_paused(self._paused_log.load())
        #: Kafka Connect: the one at ``ksql.connect.url``, or a worker for this cluster.
        self.connectors = ConnectAccess(engine.config, self._config)
        self.processing_log = ClusterLog(engine.processing_log, self._admin, self._producer)

    @property
    def config(self) -> StreamsConfig:
        """Return the connection to Kafka, and the settings that every query begins with."""
        return self._base

    @property
    def admin(self) -> Admin:
        return self._admin

    # Topics and records

    def partitions(self) -> dict[str, int]:
        """Ask the cluster how many partitions each of its topics has."""
        return {name: len(topic.partitions) for name, topic in self._admin.topics().items()}

    def topics(self) -> dict[str, TopicShape]:
        """Ask the cluster for its topics."""
        found = self._admin.topics().items()
        return {name: TopicShape(len(t.partitions), t.replication) for name, t in found}

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; dropped queries are ended first, because they could write to it again."""
        self._end_dropped()
        self._admin.delete_topics([topic], missing_ok=True)

    def make_topics(self, catalog: Catalog | None = None) -> None:
        """Make the topics of streams and tables that are not there yet.

        Args:
            catalog: Whose streams and tables; without it, those of the engine.
        """
        existing, catalog = self._admin.topics(), catalog or self._engine.catalog
        missing: dict[str, DataSource] = {}
        for source in catalog.sources.values():
            if source.topic not in existing:
                missing.setdefault(source.topic, source)
        self._admin.create_topics(
            TopicSpec(
                topic,
                catalog.topics.get(topic, catalog.default_partitions),
                source.topic_settings.replicas or _BROKERS_CHOICE,
                topic_config(source),
            )
            for topic, source in sorted(missing.items())
        )

    def send(self, record: OutgoingRecord) -> None:
        """Write a record of INSERT VALUES to its topic; without a time it gets the present one.

        Raises:
            StreamsError: ``row-not-written``, or ``broker-unreachable`` if Kafka does not answer.
        """
        self.make_topics()
        given = record.timestamp
        time_ms = int(time.time() * 1000) if given is None else sendable_time(given)
        if given is not None and time_ms != given:
            _log.warning(
                "a record of %s has time %d, which Kafka's client cannot write: it gets %d ms",
                record.topic,
                given,
                time_ms,
            )
        failed: list[KafkaError] = []
        try:
            self._producer.produce(
                record.topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp=time_ms,
                on_delivery=lambda error, _: failed.append(error) if error is not None else None,
            )
            self._producer.flush()
        except KafkaException as failure:
            failed.append(failure.args[0])
        if failed:
            raise not_written(record.topic, failed[0])

    # Life

    def sync(self) -> None:
        """Start and stop applications so that the queries of the catalog run.

        A query that CREATE OR REPLACE changed goes on with its state. The state of one that was
        terminated or dropped is deleted. Which queries are paused is kept in Kafka, so that the
        next run pauses them, too. Connectors of an earlier run go on.

        Raises:
            TopologyError: ``plan-changed``, if the state of a query belongs to another plan.
        """
        self._end_dropped()
        self.make_topics()
        self.connectors.resume(self._admin.topics)
        queries = self._engine.queries
        waiting = [query_id for query_id in queries if query_id not in self.applications]
        topologies = {query_id: self._engine.topology(query_id) for query_id in waiting}
        self._check_upgrades((queries[name].plan, each) for name, each in topologies.items())
        self._start_all(topologies)
        for query_id, query in queries.items():
            self.pause(query_id, is_paused=query.state == "PAUSED")
        self.keep_paused()

    def _start_all(self, topologies: Mapping[str, Topology]) -> None:
        """Start queries side by side; if one cannot start, the others run, and it is raised."""
        if not topologies:
            return
        self._open_session()
        queries = self._engine.queries

        def start(query_id: str) -> KafkaStreams:
            query = queries[query_id]
            is_paused = query.state == "PAUSED"
            return self._started(query.plan, topologies[query_id], is_paused=is_paused)

        with ThreadPoolExecutor(_AT_ONCE, "penstock-start") as pool:
            starting = {query_id: pool.submit(start, query_id) for query_id in topologies}
        for query_id, each in starting.items():
            if each.exception() is None:
                self.applications[query_id] = each.result()
                self._plans[query_id] = queries[query_id].plan
        for each in starting.values():
            each.result()

    def keep_paused(self) -> None:
        """Keep in Kafka which queries are paused."""
        if self._paused_log is not None:
            self._paused_log.keep(self._engine.catalog.paused)

    # One query

    def start(self, query: PersistentQuery, topology: Topology) -> None:
        """Start one query; its topics are made first.

        Raises:
            PenstockError: why it cannot start, such as ``plan-changed``.
        """
        self.make_topics()
        self._check_upgrades([(query.plan, topology)])
        self._run(query.plan, topology, is_paused=query.state == "PAUSED")

    def _run(self, plan: QueryPlan, topology: Topology, *, is_paused: bool) -> None:
        self.applications[plan.id] = self._started(plan, topology, is_paused=is_paused)
        self._plans[plan.id] = plan

    def stop(self, query_id: str) -> None:
        """End one query after its current batch; its state stays."""
        application = self.applications.pop(query_id, None)
        if application is not None:
            application.close()
        self._plans.pop(query_id, None)
        self._paused.discard(query_id)

    def forget(self, query_id: str) -> None:
        """Delete the state of a query that has ended for good: topics, group and folder."""
        remove_application(self._admin, self._config_of_id(query_id))

    def _end_dropped(self) -> None:
        """End what was replaced, terminated or dropped; the last two lose their state."""
        catalog = self._engine.catalog
        work = todo(self._plans, catalog)
        for query_id in work.stop:
            self.stop(query_id)
        for query_id in work.forget:
            self.forget(query_id)
        catalog.ended.clear()

    def _check_upgrades(self, wanted: Iterable[tuple[QueryPlan, Topology]]) -> None:
        """Refuse all queries if the state of one belongs to another plan: none is started."""
        existing = self._admin.topics()
        for plan, topology in wanted:
            config = StreamsConfig(self._config_of(plan))
            log = batches_topic(config[APPLICATION_ID])
            if log in existing:
                stored = read_log(log, consumer_settings(config, "restore"), is_whole=False)
                new = plan_fingerprint(topology.graph, config)
                check(stored.plan_fingerprint, new, config[APPLICATION_ID])

    def _config_of_id(self, query_id: str) -> StreamsConfig:
        """Return the configuration of a query whose plan is gone."""
        own = {APPLICATION_ID.name: self._engine.application_id(query_id)}
        return StreamsConfig({**self._config, **own})

    def pause(self, query_id: str, *, is_paused: bool) -> None:
        """Pause a running query, or let it go on."""
        if is_paused and query_id not in self._paused:
            self.applications[query_id].pause()
            self._paused.add(query_id)
        elif not is_paused and query_id in self._paused:
            self.applications[query_id].resume()
            self._paused.discard(query_id)

    def _started(
        self, plan: QueryPlan, topology: Topology, *, is_paused: bool = False
    ) -> KafkaStreams:
        self._open_session()
        # Importing Spark is slow, and programs that only plan queries do not need it.
        streams: Any = importlib.import_module("penstock.runtime.spark.driver.streams")
        config = self._config_of(plan)
        application: KafkaStreams = streams.KafkaStreams(topology, config)
        self.processing_log.watch(application, config[PROCESSING_LOG.name])
        if is_paused:
            # This is before the start, so that a paused query processes nothing.
            application.pause()
        application.start()
        return application

    def _config_of(self, plan: QueryPlan) -> dict[str, Any]:
        own = {
            APPLICATION_ID.name: self._engine.application_id(plan.id),
            PROCESSING_LOG.name: self.processing_log.spec(plan),
        }
        return {**self._config, **settings_of(plan), **own}

    def _open_session(self) -> None:
        """Open the Spark session that all queries share, so that no query stops it."""
        with self._opening:
            # Threads that start queries must not import modules at the same time.
            importlib.import_module("penstock.runtime.spark.driver.streams")
            module: Any = importlib.import_module("penstock.runtime.spark.driver.session")
            if self._session is None:
                self._session, self._owns_session = module.spark_session(self._base)

    def run_until_idle(self, timeout_s: float = 120.0) -> bool:
        """Wait until no query has input left, and readers see what all of them wrote.

        Returns false if the time was not enough.
        """
        self.sync()
        return wait_until_idle(self._active(), self._admin, self._written(), timeout_s)

    def _written(self) -> list[TopicPartition]:
        """Return the partitions that the queries write to."""
        sinks = {plan.sink.topic for plan in self._plans.values() if plan.sink is not None}
        known = self._admin.topics()
        return [
            (topic, part.id)
            for topic in sorted(sinks & known.keys())
            for part in known[topic].partitions
        ]

    def _active(self) -> list[KafkaStreams]:
        return [a for query_id, a in self.applications.items() if query_id not in self._paused]

    def wait(self) -> None:
        """Wait until a query fails, and raise its error; Ctrl-C ends the wait."""
        while True:
            for query_id, application in self.applications.items():
                if application.error is not None:
                    raise StreamsError(
                        "query-failed", f"query {query_id} failed: {application.error}"
                    ) from application.error
            time.sleep(_PAUSE_S)

    # Push queries

    def push(self, query: PushQuery) -> RunningPush:
        """Start a push query; the caller reads its rows and closes it."""
        refuse_cut(query.plan.cut)
        self.make_topics()
        self._admin.create_topic(query.id)
        application = self._started(query.plan, query.topology)
        own = {"group.id": query.id, "enable.auto.commit": False}
        consumer = new_consumer(consumer_settings(self._base) | own)
        config = StreamsConfig(self._config_of(query.plan))
        return RunningPush(query, application, consumer, self._admin, config)

    def select(self, query: PushQuery, timeout_s: float | None = None) -> Iterator[Row]:
        """Run a push query, and yield its rows until its LIMIT or ``timeout_s`` without a row."""
        with self.push(query) as running:
            yield from running.rows(timeout_s)

    # Pull queries

    def pull(self, query: PullQuery) -> list[Row]:
        """Answer a pull query from what has been committed to the topics of its tables."""
        self.make_topics()
        return query.rows(self._records)

    def _records(self, topic: str) -> Iterator[ProducedRecord]:
        places = [(topic, state.id) for state in self._admin.topic(topic).partitions]
        ends = {place: end for place, end in self._admin.end_offsets(places).items() if end > 0}
        settings = consumer_settings(self._base) | {
            "group.id": "penstock-pull",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            # At the end of the log, the broker delays its answer by this time.
            "fetch.wait.max.ms": 10,
        }
        consumer = new_consumer(settings)
        consumer.assign([KafkaPartition(*place, OFFSET_BEGINNING) for place in ends])
        try:
            while ends:
                message = consumer.poll(_PAUSE_S)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    _, time_ms = message.timestamp()
                    headers: Any = tuple(message.headers() or ())
                    yield ProducedRecord(topic, message.key(), message.value(), time_ms, headers, 0)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ends.pop((topic, int(message.partition() or 0)), None)
        finally:
            consumer.close()

    def close(self) -> None:
        """End all queries after their current batch."""
        self.is_closed = True
        with ThreadPoolExecutor(_AT_ONCE, "penstock-close") as pool:
            list(pool.map(lambda each: each.close(), self.applications.values()))
        self.applications.clear()
        self._plans.clear()
        self.connectors.close()
        if self._owns_session and self._session is not None:
            self._session.stop()
        self._session = None

    def __enter__(self) -> SparkQueries:
        self.sync()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
