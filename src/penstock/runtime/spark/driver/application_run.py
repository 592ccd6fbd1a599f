"""One instance of an application: topics, the group, the lead, and the batches.

``streams`` decides when something happens; this module knows how it is done.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import (
    ALLOW_OS_GROUP_WRITE,
    APPLICATION_ID,
    DEFAULT_API_TIMEOUT_MS,
    PROCESSING_GUARANTEE,
    STATE_DIR,
    StreamsConfig,
)
from penstock.errors import StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import (
    admin_settings,
    consumer_settings,
    producer_settings,
)
from penstock.model.topic_partition import TopicPartition
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.settings import for_workers, task_settings
from penstock.runtime.spark.driver.batch_runner import BatchRunner, Lead
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.fencing import fence_slots, warn_of_other_guarantee
from penstock.runtime.spark.driver.instances.instance import Instance, instance_host
from penstock.runtime.spark.driver.instances.membership import GroupMember, join_group
from penstock.runtime.spark.driver.instances.taking_lead import takes_lead
from penstock.runtime.spark.driver.life.checks import Checks
from penstock.runtime.spark.driver.life.leading import Fence, Leading
from penstock.runtime.spark.driver.life.positions import Positions
from penstock.runtime.spark.driver.life.prepared import Observing, Prepared
from penstock.runtime.spark.driver.pickling import fresh_path
from penstock.runtime.spark.driver.state_lock import StateLock
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.driver.threads.shared_offsets import Offsets
from penstock.runtime.spark.driver.threads.shared_threads import SharedThreads, placement_of
from penstock.runtime.spark.driver.topics import batches_topic
from penstock.runtime.spark.exchange.batch_log import BatchLog, LogState
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.exchange.stage_request import Application
from penstock.runtime.spark.exchange.worker_lines import log_levels
from penstock.runtime.spark.replica.replica import Replica
from penstock.topology.graph import Graph

log = logging.getLogger(__name__)

_ANSWER_S = 20.0


class ApplicationRun:
    """Takes one instance of an application from state to state, and ends it."""

    def __init__(self, graph: Graph, config: StreamsConfig, slots: int, secret: bytes) -> None:
        self.slots = slots
        self.config = config
        self.application_id: str = config[APPLICATION_ID]
        self.admin = Admin(admin_settings(config), timeout_s=_timeout_s(config))
        self.standby_listener: StandbyUpdateListener | None = None
        #: Set when the plan of the program fits the topics.
        self.plan: Plan | None = None
        #: Set while this instance leads.
        self.leading: Leading | None = None
        #: What was made so far, for the end of the run.
        self.member: GroupMember | None = None
        self.instance: Instance | None = None
        self._secret = secret
        self._checks = Checks(graph, config, self.admin)
        self._lock = StateLock(self.application_dir)
        self._log: BatchLog | None = None
        self._places: Placement | None = None
        #: The last lead: what it has done counts on, and its slots may wait for the next one.
        self._former: Leading | None = None
        self._keeps_slots = False
        self._changed = threading.Condition()

    @property
    def runner(self) -> BatchRunner | None:
        """What runs the batches; None while this instance does not lead."""
        return None if self.leading is None else self.leading.runner

    @property
    def copies(self) -> Replica | None:
        """The copies of stores that this instance keeps while it does not lead."""
        return None if self.instance is None else self.instance.copies

    def changelog_topic(self, store: str) -> str:
        return task_settings(self.config).changelog_topic(store)

    @property
    def application_dir(self) -> Path:
        return Path(self.config[STATE_DIR]).expanduser() / self.config[APPLICATION_ID]

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

    def prepare(self) -> Prepared:
        """Check and create topics, and join the consumer group; this needs no Spark."""
        self._take_folder()
        plan = self.plan = self._checks.plan()
        self._checks.make_topics(plan)
        if self.member is None:
            topic = batches_topic(self.application_id)
            self.member = join_group(self.config, topic, self._notify)
        instance = self._registered(may_lead=True)
        return Prepared(plan=plan, instance=instance, member=self.member)

    def observe(self) -> Observing:
        """Prepare to keep copies, and never lead."""
        self._take_folder()
        plan = self.plan = self._checks.plan()
        self._checks.check_has_run()
        return Observing(plan=plan, instance=self._registered(may_lead=False))

    def _take_folder(self) -> None:
        self._lock.acquire(group_may_write=self.config[ALLOW_OS_GROUP_WRITE])
        # Packing the application needs this path later, when everything waits for it.
        fresh_path()

    def _registered(self, *, may_lead: bool) -> Instance:
        if self.instance is None:
            self.instance = Instance(
                self.config, instance_host(self.config), leads=self._is_leading,
                changed=self._notify, may_lead=may_lead,
            )  # fmt: skip
        return self.instance

    def wait_to_lead(
        self, prepared: Prepared, closing: threading.Event, *, until_joined: bool = False
    ) -> bool:
        """Wait until the group has made this instance the leader.

        Args:
            until_joined: also return, with false, when the group has chosen another instance.
        """
        member, instance = prepared.member, prepared.instance
        while not closing.is_set():
            member.raise_failure()
            check_shut_down(instance, instance.log)
            life = instance.life_of_leader()
            if takes_lead(member, instance, life, self.config):
                return True
            if until_joined and member.has_joined.is_set() and life is not Life.UNKNOWN:
                return False
            with self._changed:
                self._changed.wait(0.1)
        return False

    def stand_by(self, prepared: Observing) -> None:
        """Release the slots, and keep copies of the stores while another instance leads."""
        self._release_kept()
        self._end_threads()
        prepared.instance.keep_copies(
            self._application(prepared.plan, 0, ""), self.standby_listener
        )

    def _is_leading(self) -> bool:
        return self.member is not None and self.member.is_leading

    def lead(self, prepared: Prepared, spark: SparkSession) -> BatchRunner:
        """Take a generation, abort open transactions of older drivers, and prepare the batches."""
        plan, member, instance = prepared.plan, prepared.member, prepared.instance
        member.check()
        self._keeps_slots = False
        # Threads come up while the rest is prepared.
        context = spark.sparkContext
        places = self._places = self._places or placement_of(self.config, context, self._secret)
        places.start(self.slots)
        instance.end_copies(is_promoted=True)
        # An open transaction of a slot that is paused or dead hides the end of the log.
        fence_slots(self._application(plan, 0, ""), instance.log)
        batch_log = self._log = BatchLog(
            batches_topic(self.application_id),
            consumer_settings(self.config, "restore"),
            producer_settings(self.config),
            exactly_once=self._is_exactly_once,
        )
        check_shut_down(instance, batch_log.read())
        run_id = uuid.uuid4().hex
        generation = batch_log.take_generation(self.slots, run_id, instance.id)
        application = self._application(plan, generation, run_id)
        # Only after the generation is written: a slot that begins later reads it and stops.
        fence = Fence(application, instance)
        fence.all(batch_log.state)
        state = batch_log.read()
        warn_of_other_guarantee(application, state)
        at = Positions(plan, self.config, self.admin)
        self._checks.settle(batch_log, state, at)
        committed = at.known(state)
        anew = self._checks.made_anew(batch_log, state, plan)
        committed = {part: offset for part, offset in committed.items() if part not in anew.parts}
        lead = Lead(
            application=application,
            log=batch_log,
            admin=self.admin,
            offsets=self._offsets(places),
            member=member,
            placement=places,
            positions=at.first(committed),
            internal=at.internal(state, committed),
            anew=anew,
            read_committed=at.reads_committed,
            fence=fence.one,
            check_topics=lambda: self._checks.check_partitions(plan),
            standby_listener=self.standby_listener,
        )
        begins_at = dict(lead.positions)
        lead.internal.begin()
        runner = BatchRunner(spark, lead, self.slots)
        leading = Leading(
            application=application, runner=runner, admin=self.admin, begins_at=begins_at
        )
        if self._former is not None:
            leading.continue_from(self._former)
        self.leading = leading
        log.info("leading %s as generation %d", self.application_id, generation)
        return runner

    def _end_threads(self) -> None:
        """End the stream threads, unless other applications share them."""
        places, self._places = self._places, None
        if places is not None:
            places.threads.leave(self.application_id)

    def shut_down_application(self) -> None:
        """Make all other instances end, too, by a record in the batch log."""
        if self._log is not None:
            self._log.note_shut_down(time.time_ns() // 1_000_000)

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @property
    def _is_exactly_once(self) -> bool:
        return self.config[PROCESSING_GUARANTEE] == "exactly_once_v2"

    def _application(self, plan: Plan, generation: int, run_id: str) -> Application:
        return Application(
            id=self.application_id,
            plan=plan,
            config=for_workers(self.config),
            state_dir=str(Path(self.config[STATE_DIR]).expanduser()),
            exactly_once=self._is_exactly_once,
            consumer=_unnamed(consumer_settings(self.config)),
            restore_consumer=consumer_settings(self.config, "restore"),
            global_consumer=consumer_settings(self.config, "global"),
            producer=producer_settings(self.config),
            admin=admin_settings(self.config),
            generation=generation,
            run_id=run_id,
            batches_topic=batches_topic(self.application_id),
            log_levels=log_levels(),
        )

    def _offsets(self, places: Placement) -> Offsets:
        """Return what answers questions about ends: in a pool, applications ask together."""
        if isinstance(places.threads, SharedThreads):
            return places.threads.offsets.of(self.admin, admin_settings(self.config))
        return self.admin

    def pause(self, *, is_paused: bool) -> None:
        if self.leading is not None:
            self.leading.pause(is_paused=is_paused)

    @property
    def last_lag(self) -> dict[TopicPartition, int]:
        """The result of the last call of ``lag``."""
        known = self.leading or self._former
        return {} if known is None else known.last_lag

    def lag(self) -> dict[TopicPartition, int]:
        """Return how many records of each source partition have not been processed yet."""
        if self.leading is None:
            raise StreamsError("not-started", "the application does not run batches here")
        return self.leading.lag()

    # Down

    def end_runner(self, *, patience_s: float, keeps_slots: bool = False) -> None:
        """Wait for the current batches, then end."""
        leading, self.leading = self.leading, None
        if leading is not None:
            self._former, self._keeps_slots = leading, keeps_slots
            leading.end(patience_s=patience_s, keeps_slots=keeps_slots)

    def _release_kept(self) -> None:
        """Release the slots that a run which has failed has kept for the next one."""
        if self._former is not None and self._keeps_slots:
            self._keeps_slots = False
            runner = self._former.runner
            runner.release(list(runner.placement.endpoints))

    def stop(self, *, patience_s: float, leave_group: bool = True) -> None:
        """End the batches, leave the group, and unlock the state directory."""
        self.end_runner(patience_s=patience_s)
        self._release_kept()
        if self.instance is not None:
            self.instance.close()
        if self.member is not None:
            self.member.close(leave=leave_group)
        self._end_threads()
        self._lock.release()


def check_shut_down(instance: Instance, state: LogState) -> None:
    """Raise if an instance has ended the application, with all its instances."""
    if instance.id in state.shut_down:
        raise StreamsError(
            "application-shut-down",
            "the uncaught exception handler of another instance has ended the application",
            fix="see the log of that instance, then start again",
        )


def _timeout_s(config: StreamsConfig) -> float:
    """Return how long one call to Kafka may take. Callers that wait longer call again."""
    return min(config[DEFAULT_API_TIMEOUT_MS] / 1000, _ANSWER_S)


def _unnamed(settings: dict[str, Any]) -> dict[str, Any]:
    """Return consumer settings for a slot, which must not appear as the group's static member."""
    return {name: value for name, value in settings.items() if name != "group.instance.id"}
