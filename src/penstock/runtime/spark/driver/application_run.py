"""Starting and ending one life of an application: topics, batch log, query, slots.

``streams`` decides when; this module knows how.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import (
    ALLOW_OS_GROUP_WRITE,
    APPLICATION_ID,
    AUTO_OFFSET_RESET,
    MAX_BATCH_RECORDS,
    MAX_TASK_IDLE_MS,
    PROCESSING_GUARANTEE,
    STATE_DIR,
    StreamsConfig,
)
from penstock.errors import StreamsError, TopologyError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings, producer_settings
from penstock.kafka.clients import new_consumer, new_producer
from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.batch_planner import BatchPlanner, Inputs
from penstock.runtime.spark.driver.batch_runner import BatchRunner
from penstock.runtime.spark.driver.pickling import fresh_path
from penstock.runtime.spark.driver.start_offsets import start_offsets
from penstock.runtime.spark.driver.state_lock import StateLock
from penstock.runtime.spark.driver.to_spark import spark_sinks
from penstock.runtime.spark.driver.topics import (
    batches_topic,
    internal_topics,
    resolve_patterns,
    source_partitions,
)
from penstock.runtime.spark.exchange.batch_log import BatchLog, BatchPlan, LogState
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.spark.exchange.stage_request import Application, Part
from penstock.topology.graph import Graph
from penstock.topology.json_form import to_dict
from penstock.topology.nodes import MAY_SCHEDULE, Sink

log = logging.getLogger(__name__)

#: Spark writes two logs per batch, which costs 50 to 300 ms. Nobody reads them: write them seldom,
#: and beside the work. The name with an underscore lets a query with ``foreachBatch`` do so.
_SELDOM_CHECKPOINTS: dict[str, Any] = {
    "asyncProgressTrackingEnabled": True,
    "asyncProgressTrackingCheckpointIntervalMs": 3_600_000,
    "_asyncProgressTrackingOverrideSinkSupportCheck": True,
}


class ApplicationRun:
    """One life: from a topology and a configuration to a running query, and back."""

    def __init__(self, graph: Graph, config: StreamsConfig, slots: int) -> None:
        self._slots = slots
        self._graph = graph
        self._config = config
        #: None until this life has the state directory, and with it this folder, for itself.
        self._scratch: Path | None = None
        self._batches: BatchPlanner | None = None
        self.admin = Admin(admin_settings(config))
        self.driver: BatchRunner | None = None
        self.query: StreamingQuery | None = None
        self.application: Application | None = None
        self._lock = StateLock(self.application_dir)
        self._log: BatchLog | None = None

    @property
    def config(self) -> StreamsConfig:
        return self._config

    @property
    def application_id(self) -> str:
        return self._config[APPLICATION_ID]

    @property
    def application_dir(self) -> Path:
        return Path(self._config[STATE_DIR]).expanduser() / self.application_id

    @staticmethod
    def clean_up(config: StreamsConfig) -> None:
        """Deletes the local state of an application that does not run."""
        directory = Path(config[STATE_DIR]).expanduser() / config[APPLICATION_ID]
        if not directory.exists():
            return
        lock = StateLock(directory)
        lock.acquire()
        shutil.rmtree(directory, ignore_errors=True)
        lock.release()

    # Up

    def prepare(self) -> None:
        """Checks and makes topics, fences older lives and reads the log: all without Spark."""
        self._lock.acquire(group_may_write=self._config[ALLOW_OS_GROUP_WRITE])
        self._scratch = scratch_folder(self.application_dir)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(mode=0o700, parents=True)
        # Whoever packs the application asks for it, at a time when everything waits for that.
        fresh_path()
        plan = self._plan()
        self.admin.create_topics(internal_topics(plan, self._config))
        self.application = self._application(plan)
        if self.application.exactly_once:
            self._fence(self._slots)
        self._log = self._batch_log()
        state = self._log.read()
        self._settle(state, plan)
        self._batches = self._planner(plan, state)

    def launch(self, spark: SparkSession) -> None:
        """Starts the query, and lets the workers get ready meanwhile."""
        application, batch_log = self.application, self._log
        assert application is not None
        assert batch_log is not None
        assert self._batches is not None
        driver = self.driver = BatchRunner(
            spark, application, batch_log, self.admin, self._group(), self._slots, self._batches
        )
        warming = threading.Thread(target=driver.warm_up, name="penstock-warm-up", daemon=True)
        warming.start()
        self.query = self._start_query(spark)

    def _plan(self) -> Plan:
        existing = self.admin.topics()
        graph = resolve_patterns(self._graph, existing)
        return make_plan(graph, source_partitions(graph, existing))

    def _application(self, plan: Plan) -> Application:
        return Application(
            id=self.application_id,
            plan=plan,
            config=dict(self._config),
            state_dir=str(Path(self._config[STATE_DIR]).expanduser()),
            exactly_once=self._config[PROCESSING_GUARANTEE] == "exactly_once_v2",
            consumer=consumer_settings(self._config),
            producer=producer_settings(self._config),
            epoch=uuid.uuid4().hex,
            batches_topic=batches_topic(self.application_id),
        )

    def _fence(self, slots: int) -> None:
        """Aborts what older lives left open, before the log says what they had finished."""
        settings = producer_settings(self._config)

        def fence(number: int) -> None:
            name = f"{self.application_id}-slot-{number}"
            new_producer({**settings, "transactional.id": name}).init_transactions(30.0)

        # An older life may have had more threads than this one.
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(fence, range(max(slots, self._lock.slots_before(slots)))))

    def _batch_log(self) -> BatchLog:
        application = self.application
        assert application is not None
        return BatchLog(
            application.batches_topic,
            application.consumer,
            application.producer,
            exactly_once=application.exactly_once,
        )

    def _settle(self, state: LogState, plan: Plan) -> None:
        """Finds out whether the last batch is complete, and refuses another topology's log."""
        assert self._log is not None
        fingerprint = topology_fingerprint(plan.graph)
        if state.fingerprint is None:
            self._log.set_fingerprint(fingerprint)
        elif state.fingerprint != fingerprint:
            self._refuse_other_topology(state)
            self._log.set_fingerprint(fingerprint)
        if state.plan is None:
            return
        expected = {
            (TaskId(run.subtopology, number), run.stage)
            for run in plan.runs
            for number in range(plan.tasks(run.subtopology))
        }
        batch = state.plan.batch
        # Tasks cannot say that a function on the driver has seen the batch.
        finished = not spark_sinks(plan.graph) and all(
            state.markers.get(each) == batch for each in expected
        )
        state.complete = max(state.complete, batch if finished else batch - 1)

    def _refuse_other_topology(self, state: LogState) -> None:
        if state.has_unfinished:
            raise TopologyError(
                "other-topology",
                f"application {self.application_id!r} stopped inside a batch of a different"
                " topology, which this one cannot finish",
                fix="start the former program once more and close it, then start this one;"
                " or give this one an application.id of its own",
            )

    # The query

    def _start_query(self, spark: SparkSession) -> StreamingQuery:
        assert self.driver is not None
        # The beat: rows come with every trigger, and nobody looks at them.
        beat = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1)
        writer = (
            beat.load()
            .writeStream.foreachBatch(self.driver.on_batch)
            .queryName(self.application_id)
            # The batch log is what survives: every life starts its query afresh from there.
            .option("checkpointLocation", self._in_scratch("checkpoint").as_uri())
            .trigger(processingTime="0 seconds")
        )
        try:
            return writer.options(**_SELDOM_CHECKPOINTS).start()
        except IllegalArgumentException as error:
            log.warning("Spark writes its own log of every batch, which costs time: %s", error)
            return writer.option("asyncProgressTrackingEnabled", False).start()

    def _planner(self, plan: Plan, state: LogState) -> BatchPlanner:
        inputs = Inputs(
            global_parts=tuple(self._global_parts(plan)),
            max_records=self._config[MAX_BATCH_RECORDS],
            has_wall_clock=has_wall_clock(plan.graph),
            read_committed=bool(self.application and self.application.exactly_once),
            tasks=tuple(parts for run in plan.runs for parts in plan.inputs_of(run)),
            max_idle_ms=self._config[MAX_TASK_IDLE_MS],
        )
        newest = -1 if state.plan is None else state.plan.batch
        tables = dict.fromkeys(inputs.global_parts, 0)
        last = BatchPlan(newest, {}, self._position(plan, state), 0, tables)
        return BatchPlanner(self.admin, inputs, last, _unfinished(state, last.end))

    def _position(self, plan: Plan, state: LogState) -> dict[Part, int]:
        """Where the first batch of this life begins."""
        parts = [
            (topic, number)
            for topic in plan.external_topics
            for number in range(plan.partitions[topic])
        ]
        if state.plan is not None and state.has_unfinished:
            return {part: state.plan.start.get(part, 0) for part in parts}
        known = {} if state.plan is None else state.plan.end
        committed = self.admin.group_offsets(self.application_id)
        return start_offsets(
            parts,
            {**known, **committed},
            plan.graph,
            self.admin,
            self._config[AUTO_OFFSET_RESET],
        )

    def _global_parts(self, plan: Plan) -> list[Part]:
        topics = [store.topic for store in plan.graph.global_stores.values()]
        return [(t, n) for t in topics for n in range(plan.partitions[t])]

    def _group(self) -> Any:
        """The group's name in the form that transactions want; no member joins the group."""
        consumer = new_consumer(consumer_settings(self._config))
        try:
            return consumer.consumer_group_metadata()
        finally:
            consumer.close()

    def pause(self, *, is_paused: bool) -> None:
        if self._batches is not None:
            self._batches.is_paused = is_paused

    def _in_scratch(self, name: str) -> Path:
        assert self._scratch is not None
        return self._scratch / name

    # Down

    def stop(self, *, is_clean: bool) -> None:
        """Ends the query after the batch that is under way; a clean end writes state to disk."""
        query, driver = self.query, self.driver
        if driver is not None:
            driver.stop(query)
            try:
                if is_clean:
                    driver.close()
                else:
                    driver.release(driver.slots)
            except Exception:
                log.exception("slots of %s could not be released", self.application_id)
        if self._log is not None:
            self._log.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._lock.release()

    def lag(self) -> dict[Part, int]:
        """How many records of each source partition have not been processed yet."""
        driver, application = self.driver, self.application
        if driver is None or application is None:
            raise StreamsError("not-started", "the application has not been started")
        plan = application.plan
        parts = [(t, n) for t in plan.external_topics for n in range(plan.partitions[t])]
        parts += self._global_parts(plan)
        ends = self.admin.end_offsets(parts, committed=application.exactly_once)
        if application.exactly_once:
            # A commit returns before the broker has marked its records as committed.
            sinks = {n.topic for n in plan.graph.nodes.values() if isinstance(n, Sink)}
            ends |= self.admin.end_offsets([part for part in parts if part[0] in sinks])
        assert self._batches is not None
        position = driver.progress.position or self._batches.begins_at
        return {part: max(ends[part] - position.get(part, 0), 0) for part in parts}


def scratch_folder(application_dir: Path) -> Path:
    """Where one life keeps small files that change with every batch: in memory, if there is any.

    Its name depends on the application alone, so that a killed one leaves nothing for ever.
    """
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    digest = hashlib.sha256(str(application_dir.resolve()).encode()).hexdigest()[:16]
    return parent / f"penstock-{os.getuid()}" / digest


def topology_fingerprint(graph: Graph) -> str:
    """Changes when nodes, stores or topics do; the lines and functions behind them may move."""
    described = to_dict(graph)
    for part in described["subtopologies"]:
        for node in part["nodes"]:
            for name in list(node):
                if name not in ("kind", "name", "parents", "stores", "topics", "topic"):
                    del node[name]
    for store in described["stores"].values():
        for name in list(store):
            if name not in ("name", "kind", "retention_ms", "window_size_ms"):
                del store[name]
    text = json.dumps(
        {key: described[key] for key in ("subtopologies", "stores", "internal_topics")},
        sort_keys=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()


def has_wall_clock(graph: Graph) -> bool:
    """Whether user code may schedule punctuations, which need batches without input."""
    return any(isinstance(n, MAY_SCHEDULE) for n in graph.nodes.values())


def _unfinished(state: LogState, position: Mapping[Part, int]) -> BatchPlan | None:
    """The batch to run again, over the partitions that are still read."""
    plan = state.plan
    if plan is None or not state.has_unfinished:
        return None
    ends = {part: plan.end.get(part, at) for part, at in position.items()}
    return BatchPlan(plan.batch, position, ends, plan.clock_ms, plan.global_ends)
