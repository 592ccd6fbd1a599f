"""The processing log of an engine on a cluster: its topic, and entries about queries that end."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, Producer

from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.model.processing_log import EntryType, ProcessingLogSpec
from penstock.runtime.states import ExceptionResponse
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.processing_log import ProcessingLogSettings

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams

_log = logging.getLogger("penstock.sql")
_BROKERS_CHOICE = -1


class ClusterLog:
    """Decides which queries write a processing log, and writes entries about queries that fail.

    Entries about records are written by the tasks, in the transaction of their output. A query that
    fails has no transaction left, so its entry is written here.
    """

    def __init__(self, settings: ProcessingLogSettings, admin: Admin, producer: Producer) -> None:
        self._settings = settings
        self._producer = producer
        if settings.is_wanted:
            _make_topic(settings, admin)
        #: A log without a topic would make its queries fail.
        self._is_on = settings.topic in admin.topics()

    def spec(self, plan: QueryPlan) -> ProcessingLogSpec | None:
        """Return what the tasks of a query need; None if there is no topic for it."""
        if not self._is_on:
            return None
        return self._settings.spec(plan.id, plan.sql, (each.topic for each in plan.sources))

    def watch(self, application: KafkaStreams, spec: ProcessingLogSpec | None) -> None:
        """Write an entry when the application fails."""
        if spec is None:
            return

        def failed(error: Exception) -> ExceptionResponse:
            self.query_failed(spec, error)
            return ExceptionResponse.SHUTDOWN_CLIENT

        application.set_uncaught_exception_handler(failed)

    def query_failed(self, spec: ProcessingLogSpec, error: Exception) -> None:
        """Write that a query has failed, and why."""
        now = int(time.time() * 1000)
        entry = spec.entry(
            EntryType.QUERY, error, step="query", time_ms=now, what=f"query {spec.query_id} failed"
        )
        try:
            self._producer.produce(spec.topic, value=entry, timestamp=now)
            self._producer.poll(0)
        except (KafkaException, BufferError) as failure:
            # An error here must not hide the failure of the query.
            _log.warning("no entry in the processing log %s: %s", spec.topic, failure)


def _make_topic(settings: ProcessingLogSettings, admin: Admin) -> None:
    if settings.topic not in admin.topics():
        replication = settings.replication or _BROKERS_CHOICE
        admin.create_topics([TopicSpec(settings.topic, settings.partitions, replication, {})])
