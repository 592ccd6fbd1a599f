"""One instance of an application: topics, the group, the lead, and the batches.

``streams`` decides when something happens; this module knows how it is done.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import (
    ACCEPTED_PLAN,
    ALLOW_OS_GROUP_WRITE,
    APPLICATION_ID,
    AUTO_OFFSET_RESET,
    DEFAULT_API_TIMEOUT_MS,
    PROCESSING_GUARANTEE,
    REPARTITION_PURGE_INTERVAL_MS,
    STATE_DIR,
    StreamsConfig,
)
from penstock.errors import StreamsError, TopologyError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Topic
from penstock.kafka.client_config import (
    admin_settings,
    consumer_settings,
    isolation_level,
    producer_settings,
)
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.logs import is_fault
from penstock.runtime.settings import plan_fingerprint, task_settings, without_secrets
from penstock.runtime.spark.driver.batch_runner import BatchRunner, Lead
from penstock.runtime.spark.driver.changes.leftovers import topics_with_leftovers
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew, find_made_anew
from penstock.runtime.spark.driver.changes.renumbering import renumbered, topology_fingerprint
from penstock.runtime.spark.driver.failures import fenced
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.fencing import (
    fence_slot,
    fence_slots,
    warn_of_other_guarantee,
)
from penstock.runtime.spark.driver.instances.instance import Instance, instance_host
from penstock.runtime.spark.driver.instances.membership import GroupMember, join_group
from penstock.runtime.spark.driver.instances.taking_lead import takes_lead
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.observing.meter import Meter
from penstock.runtime.spark.driver.observing.progress import Progress
from penstock.runtime.spark.driver.pickling import fresh_path
from penstock.runtime.spark.driver.start_offsets import first_offsets
from penstock.runtime.spark.driver.state_lock import StateLock
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets
from penstock.runtime.spark.driver.threads.shared_threads import SharedThreads, placement_of
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
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.exchange.worker_lines import log_levels
from penstock.runtime.spark.replica.replica import Replica
from penstock.topology.graph import Graph
from penstock.topology.upgrades.settle import Settlement, check, settle
from penstock.topology.upgrades.stores import section_name, topic_section

log = logging.getLogger(__name__)

_ANSWER_S = 20.0


class ApplicationRun:
    """Starts, leads and ends one instance of an application."""

    def __init__(
        self, graph: Graph, config: StreamsConfig, slots: int, secret: bytes, *,
        may_lead: bool = True,
    ) -> None:  # fmt: skip
        self.slots = slots
        self._may_lead = may_lead
        self._graph = graph
        self._config = config
        self._secret = secret
        self._plan: Plan | None = None
        #: Where the first batches of this run begin.
        self._begins_at: dict[TopicPartition, int] = {}
        #: What all runs of this program have done so far.
        self._totals: Progress | None = None
        self._meter: Meter | None = None
        #: The result of the last call of ``lag``.
        self.last_lag: dict[TopicPartition, int] = {}
        self._log: BatchLog | None = None
        self._lock = StateLock(self.application_dir)
        self._places: Placement | None = None
        #: The stores whose changelogs existed before this start.
        self._kept: frozenset[str] | None = None
        self._changed = threading.Condition()
        self.admin = Admin(admin_settings(config), timeout_s=_timeout_s(config))
        self.member: GroupMember | None = None
        self.instance: Instance | None = None
        self.standby_listener: StandbyUpdateListener | None = None
        self.runner: BatchRunner | None = None
        #: A runner that has ended and whose slots wait for the next one.
        self._ended: BatchRunner | None = None
        self.application: Application | None = None

    @property
    def plan(self) -> Plan | None:
        """The tasks and stages of the topology; None before ``prepare``."""
        return self._plan

    @property
    def copies(self) -> Replica | None:
        """The copies of stores that this instance keeps while it does not lead."""
        return None if self.instance is None else self.instance.copies

    def changelog_topic(self, store: str) -> str:
        return task_settings(self._config).changelog_topic(store)

    @property
    def config(self) -> StreamsConfig:
        return self._config

    @property
    def _is_exactly_once(self) -> bool:
        return self._config[PROCESSING_GUARANTEE] == "exactly_once_v2"

    @property
    def _reads_committed(self) -> bool:
        return isolation_level(self._config) == "read_committed"

    @property
    def application_id(self) -> str:
        return self._config[APPLICATION_ID]

    @property
    def application_dir(self) -> Path:
        return Path(self._config[STATE_DIR]).expanduser() / self.application_id

    @staticmethod
    def clean_up(config: StreamsConfig) -> None:
        """Delete the local state of an application that does not run."""
        directory = Path(config[STATE_DIR]).expanduser() / config[APPLICATION_ID]
        if not directory.exists():
            return
        lock = StateLock(directory)
        lock.acquire()
        shutil.rmtree(directory, ignore_errors=True)
        lock.release()

    # Up

    def prepare(self) -> None:
        """Check and create topics, and join the consumer group; this needs no Spark."""
        if self._plan is None:
            self._lock.acquire(group_may_write=self._config[ALLOW_OS_GROUP_WRITE])
            # Packing the application needs this path later, when everything waits for it.
            fresh_path()
        plan = self._plan = self._made_plan()
        existing = self.admin.topics()
        if not self._may_lead and batches_topic(self.application_id) not in existing:
            raise StreamsError(
                "never-run",
                f"application {self.application_id!r} has not run on this cluster",
                fix="correct application.id and bootstrap.servers, or start the application first",
            )
        if self._may_lead:
            specs = internal_topics(plan, self._config)
            check_written_topics(plan.graph, self._config, self.admin, existing)
            self._check_upgrade(existing)
            check_internal_topics(specs, existing)
            self.admin.create_topics(specs)
        if self.member is None and self._may_lead:
            topic = batches_topic(self.application_id)
            self.member = join_group(self._config, topic, self._notify)
        if self.instance is None:
            self.instance = Instance(
                self._config, instance_host(self._config), leads=self._is_leading,
                changed=self._notify, may_lead=self._may_lead,
            )  # fmt: skip

    def wait_to_lead(self, closing: threading.Event, *, until_joined: bool = False) -> bool:
        """Wait until the group has made this instance the leader.

        Args:
            until_joined: also return, with false, when the group has chosen another instance.
        """
        member, instance = self.member, self.instance
        assert member is not None
        assert instance is not None
        while not closing.is_set():
            member.raise_failure()
            self._check_shut_down(instance.log)
            life = instance.life_of_leader()
            if takes_lead(member, instance, life, self._config):
                return True
            if until_joined and member.has_joined.is_set() and life is not Life.UNKNOWN:
                return False
            with self._changed:
                self._changed.wait(0.1)
        return False

    def stand_by(self) -> None:
        """Release the slots, and keep copies of the stores while another instance leads."""
        self._release_ended()
        self._end_threads()
        plan, instance = self._plan, self.instance
        assert plan is not None
        assert instance is not None
        exactly_once = self._is_exactly_once
        application = self._application(plan, 0, "", exactly_once=exactly_once)
        instance.keep_copies(application, self.standby_listener)

    def _is_leading(self) -> bool:
        return self.member is not None and self.member.is_leading

    def lead(self, spark: SparkSession) -> BatchRunner:
        """Take a generation, abort open transactions of older drivers, and prepare the batches."""
        plan, member = self._plan, self.member
        assert plan is not None
        assert member is not None
        member.check()
        self._ended = None
        # Threads come up while the rest is prepared.
        context = spark.sparkContext
        places = self._places = self._places or placement_of(self._config, context, self._secret)
        places.start(self.slots)
        exactly_once = self._is_exactly_once
        if self.instance is not None:
            self.instance.end_copies(is_promoted=True)
            # An open transaction of a slot that is paused or dead hides the end of the log.
            before = self._application(plan, 0, "", exactly_once=exactly_once)
            fence_slots(before, self.instance.log)
        batch_log = self._log = BatchLog(
            batches_topic(self.application_id),
            consumer_settings(self._config, "restore"),
            producer_settings(self._config),
            exactly_once=exactly_once,
        )
        self._check_shut_down(batch_log.read())
        run_id = uuid.uuid4().hex
        generation = batch_log.take_generation(
            self.slots, run_id, "" if self.instance is None else self.instance.id
        )
        self.application = self._application(plan, generation, run_id, exactly_once=exactly_once)
        # Only after the generation is written: a slot that begins later reads it and stops.
        self.fence()
        state = batch_log.read()
        warn_of_other_guarantee(self.application, state)
        self._settle(state, plan)
        committed = self._known_offsets(state, plan)
        anew = self._made_anew(state, plan)
        committed = {part: at for part, at in committed.items() if part not in anew.parts}
        lead = Lead(
            application=self.application,
            log=batch_log,
            admin=self.admin,
            offsets=self._offsets(places),
            member=member,
            placement=places,
            positions=self._position(plan, committed),
            internal=self._internal(plan, state, committed),
            anew=anew,
            read_committed=self._reads_committed,
            fence=self.fence_slot,
            check_topics=self.check_topics,
            standby_listener=self.standby_listener,
        )
        self._begins_at = dict(lead.positions)
        lead.internal.begin()
        self.runner = BatchRunner(spark, lead, self.slots)
        self.runner.continue_from(self._totals, self._meter)
        self._totals, self._meter = self.runner.progress, self.runner.meter
        log.info("leading %s as generation %d", self.application_id, generation)
        return self.runner

    def _end_threads(self) -> None:
        """End the stream threads, unless other applications share them."""
        places, self._places = self._places, None
        if places is not None:
            places.threads.leave(self.application_id)

    def _check_shut_down(self, state: LogState) -> None:
        if self.instance is not None and self.instance.id in state.shut_down:
            raise StreamsError(
                "application-shut-down",
                "the uncaught exception handler of another instance has ended the application",
                fix="see the log of that instance, then start again",
            )

    def shut_down_application(self) -> None:
        """Make all other instances end, too, by a record in the batch log."""
        if self._log is not None:
            self._log.note_shut_down(time.time_ns() // 1_000_000)

    def fence(self) -> None:
        """Abort the open transactions of all slots that the batch log has ever named.

        Raises:
            StreamsError: ``fenced``, if another instance leads: its transactions must not be
                aborted.
        """
        application, batch_log = self.application, self._log
        assert application is not None
        assert batch_log is not None
        self._check_generation(application)
        fence_slots(application, batch_log.state)

    def fence_slot(self, number: int) -> None:
        """Abort the open transaction of one slot, whose batch has failed."""
        application = self.application
        assert application is not None
        # First: if another driver leads, its own producers must not be fenced.
        self._check_generation(application)
        fence_slot(application, number)

    def _check_generation(self, application: Application) -> None:
        if self.instance is not None and self.instance.log.generation > application.generation:
            raise fenced(self.instance.log.generation)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _made_plan(self) -> Plan:
        existing = self.admin.topics()
        graph = resolve_patterns(self._graph, existing)
        return make_plan(graph, source_partitions(graph, existing))

    def _application(
        self, plan: Plan, generation: int, run_id: str, *, exactly_once: bool
    ) -> Application:
        return Application(
            id=self.application_id,
            plan=plan,
            config=without_secrets(self._config),
            state_dir=str(Path(self._config[STATE_DIR]).expanduser()),
            exactly_once=exactly_once,
            consumer=_unnamed(consumer_settings(self._config)),
            restore_consumer=consumer_settings(self._config, "restore"),
            global_consumer=consumer_settings(self._config, "global"),
            producer=producer_settings(self._config),
            admin=admin_settings(self._config),
            generation=generation,
            run_id=run_id,
            batches_topic=batches_topic(self.application_id),
            log_levels=log_levels(),
        )

    def _settle(self, state: LogState, plan: Plan) -> None:
        """Refuse state of a plan that does not fit."""
        assert self._log is not None
        fingerprint = topology_fingerprint(self._graph)
        settled = self._settled(state)
        # An earlier release compared which topics match a pattern, too.
        earlier = topology_fingerprint(plan.graph)
        is_other = state.fingerprint not in (None, fingerprint, earlier)
        self._refuse_leftovers(state, plan, settled)
        if state.fingerprint != fingerprint or settled.must_write:
            moved = renumbered(state.markers, plan, settled.renames) if is_other else None
            self._log.set_topology(fingerprint, moved, settled.fingerprint.to_json())

    def _check_upgrade(self, existing: Mapping[str, Topic]) -> None:
        """Refuse a plan that does not fit the state, before anything is changed."""
        own = f"{self.application_id}-"
        if self._kept is None:
            self._kept = frozenset(
                section_name(name.removeprefix(own).removesuffix("-changelog"))
                for name in existing
                if name.startswith(own) and name.endswith("-changelog")
            )
        topic = batches_topic(self.application_id)
        if topic in existing:
            # The open transaction of a killed leader is not waited for: only the next leader fences
            # it.
            stored = read_log(topic, consumer_settings(self._config, "restore"), is_whole=False)
            new = plan_fingerprint(self._graph, self._config)
            check(
                stored.plan_fingerprint, new, self.application_id,
                kept=self._kept, accepted=self._config[ACCEPTED_PLAN],
            )  # fmt: skip

    def _settled(self, state: LogState) -> Settlement:
        return settle(
            state.plan_fingerprint,
            plan_fingerprint(self._graph, self._config),
            application_id=self.application_id,
            has_state=bool(state.markers),
            kept=self._kept or frozenset(),
            accepted=self._config[ACCEPTED_PLAN],
        )

    def _refuse_leftovers(self, state: LogState, plan: Plan, settled: Settlement) -> None:
        """Refuse to start if a repartition topic has unread records in another format."""
        changed = [
            topic
            for topic in plan.graph.internal_topics
            if topic_section(topic) in settled.changed_sections
        ]
        if not changed:
            return
        known = self._known_offsets(state, plan)
        positions = {
            (self._real(topic), number): known.get((topic, number), 0)
            for topic in changed
            for number in range(plan.partitions[topic])
        }
        left = topics_with_leftovers(positions, consumer_settings(self._config, "restore"))
        if left:
            raise TopologyError(
                "other-topology",
                f"application {self.application_id!r} has records of its former plan waiting in"
                f" {', '.join(map(repr, left))}, in another format than this plan reads",
                fix="start the former program once more and close it when it has processed its"
                " input, then start this one",
            )

    def _made_anew(self, state: LogState, plan: Plan) -> MadeAnew:
        """Find source topics that are not the ones that were read before."""
        assert self._log is not None
        own = {spec.name for spec in internal_topics(plan, self._config)}
        found = self.admin.topic_ids([*plan.external_topics, *own])
        sizes = {topic: plan.partitions[topic] for topic in plan.external_topics}
        return find_made_anew(
            state.topic_ids, found, sizes, own - {batches_topic(self.application_id)},
            self._log, f"{self.application_id}-",
        )  # fmt: skip

    def check_topics(self) -> None:
        """Raise if the plan no longer fits the topics: partitions or whole topics were added."""
        if self._made_plan().partitions != (self._plan.partitions if self._plan else None):
            raise StreamsError(
                "partitions-changed",
                "a source topic has other partitions than before, or a pattern matches a new topic",
                fix="nothing to do: the application begins again with them",
            )

    # Where reading continues

    def _real(self, topic: str) -> str:
        plan = self._plan
        is_internal = plan is not None and plan.is_internal(topic)
        return f"{self.application_id}-{topic}" if is_internal else topic

    def _known_offsets(self, state: LogState, plan: Plan) -> dict[TopicPartition, int]:
        """Return committed offsets by the graph's names: the group's, else those of the markers.

        Without transactions, a marker is written a moment before the group's offsets. If the group
        is still where the marker's batch began, that batch is done nevertheless.
        """
        group = self.admin.group_offsets(self.application_id)
        topics = {topic for run in plan.runs for topic in run.topics}
        noted, began = state.positions(), state.began()
        of_group = {
            (topic, number): group[self._real(topic), number]
            for topic in topics
            for number in range(plan.partitions[topic])
            if (self._real(topic), number) in group
        }
        if self._is_exactly_once:
            # Both are committed together: an offset that differs was set by somebody.
            return {**noted, **of_group}
        done = {part: noted[part] for part, at in of_group.items() if began.get(part) == at}
        return {**noted, **of_group, **done}

    def _internal(
        self, plan: Plan, state: LogState, committed: Mapping[TopicPartition, int]
    ) -> InternalPositions:
        purge_s = self._config[REPARTITION_PURGE_INTERVAL_MS] / 1000
        noted = state.positions()
        skips = {p: of for p, of in state.skips().items() if noted.get(p) == committed.get(p)}
        return InternalPositions(
            plan, self.admin, self._real, committed, skips, purge_s,
            committed=self._reads_committed,
        )  # fmt: skip

    def _offsets(self, places: Placement) -> Offsets:
        """Return what answers questions about ends: in a pool, applications ask together."""
        if isinstance(places.threads, SharedThreads):
            return places.threads.offsets.of(self.admin, admin_settings(self._config))
        return self.admin

    def _position(
        self, plan: Plan, committed: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Return where the first batch begins; ``auto.offset.reset`` replaces deleted offsets."""
        parts = [
            (topic, number)
            for topic in plan.external_topics
            for number in range(plan.partitions[topic])
        ]
        return first_offsets(
            parts, committed, plan.graph, self.admin, self._config[AUTO_OFFSET_RESET],
            read_committed=self._reads_committed,
        )  # fmt: skip

    def _global_parts(self, plan: Plan) -> list[TopicPartition]:
        topics = [store.topic for store in plan.graph.global_stores.values()]
        return [(t, n) for t in topics for n in range(plan.partitions[t])]

    def pause(self, *, is_paused: bool) -> None:
        if self.runner is None:
            return
        if is_paused:
            self.runner.is_paused.set()
        else:
            self.runner.is_paused.clear()

    # Down

    def end_runner(self, *, patience_s: float, keeps_slots: bool = False) -> None:
        """Wait for the current batches, then end."""
        runner, self.runner = self.runner, None
        if runner is None:
            return
        runner.stop(patience_s)
        try:
            runner.close(keeps_slots=keeps_slots)
        except Exception as error:
            text = "slots of %s could not be released: %s"
            log.warning(text, self.application_id, error, exc_info=is_fault(error))
        if keeps_slots:
            self._ended = runner

    def _release_ended(self) -> None:
        """Release the slots that a run which has failed has kept for the next one."""
        ended, self._ended = self._ended, None
        if ended is not None:
            ended.release(list(ended.placement.endpoints))

    def stop(self, *, patience_s: float, leave_group: bool = True) -> None:
        """End the batches, leave the group, and unlock the state directory."""
        self.end_runner(patience_s=patience_s)
        self._release_ended()
        if self.instance is not None:
            self.instance.close()
        if self.member is not None:
            self.member.close(leave=leave_group)
        self._end_threads()
        self._lock.release()

    def lag(self) -> dict[TopicPartition, int]:
        """Return how many records of each source partition have not been processed yet."""
        runner, application = self.runner, self.application
        if runner is None or application is None:
            raise StreamsError("not-started", "the application does not run batches here")
        plan = application.plan
        parts = [(t, n) for t in plan.external_topics for n in range(plan.partitions[t])]
        parts += self._global_parts(plan)
        # Up to the high watermark, also for a reader of committed records: what another program's
        # open transaction holds back is waiting to be processed, too.
        away = runner.away
        ends = self.admin.end_offsets([part for part in parts if part not in away])
        position = {**self._begins_at, **runner.progress.position}
        found = {part: max(end - position.get(part, 0), 0) for part, end in ends.items()}
        # Nobody can say more about a partition without a leader than what was known last.
        self.last_lag = {part: found.get(part, self.last_lag.get(part, 0)) for part in parts}
        return self.last_lag


def _timeout_s(config: StreamsConfig) -> float:
    """Return how long one call to Kafka may take. Callers that wait longer call again."""
    return min(config[DEFAULT_API_TIMEOUT_MS] / 1000, _ANSWER_S)


def _unnamed(settings: dict[str, Any]) -> dict[str, Any]:
    """Return consumer settings for a slot, which must not appear as the group's static member."""
    return {name: value for name, value in settings.items() if name != "group.instance.id"}
