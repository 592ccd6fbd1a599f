"""A running ``KafkaStreams`` as the server of ``application.server`` sees it."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.config import (
    APPLICATION_ID,
    APPLICATION_SERVER,
    SESSION_TIMEOUT_MS,
    StreamsConfig,
)
from penstock.errors import (
    PenstockError,
    StreamsError,
    UnknownStoreError,
    UnsupportedOperationError,
)
from penstock.kafka.client_config import consumer_settings
from penstock.kernel.serdes import required_serde
from penstock.model.metric import Metric
from penstock.model.remedies import declared
from penstock.runtime.settings import plan_fingerprint, task_settings
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.pulse import process_pulse
from penstock.runtime.spark.driver.observing.change_feed import ChangeFeed
from penstock.runtime.spark.driver.observing.changelog_reader import ChangelogReader
from penstock.runtime.spark.driver.observing.dead_letter_topic import (
    DeadLetterTopic,
    dead_letter_topic,
)
from penstock.runtime.spark.driver.observing.failure_log import FailureLog
from penstock.runtime.spark.driver.observing.metadata import collected
from penstock.runtime.spark.driver.observing.metrics import standby_metrics
from penstock.runtime.spark.driver.observing.record_journeys import RecordJourneys
from penstock.runtime.spark.driver.observing.status import application_status, by_topic
from penstock.runtime.spark.driver.stores.slot_answers import SlotAnswers
from penstock.runtime.states import State
from penstock.serving.application import (
    Answer,
    ChangeListener,
    Health,
    Instance,
    Location,
    NotAvailableError,
    Position,
    Role,
    Row,
    Source,
    StoreInfo,
)
from penstock.serving.options import ServerOptions
from penstock.serving.past.values import Changes, Commit
from penstock.serving.question import KeyQuestion, Question
from penstock.serving.server import ServingServer
from penstock.serving.status.program import source_lines
from penstock.serving.status.values import ApplicationStatus, Program, RestoreProgress
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.key_placement import is_placed
from penstock.topology.picture import to_svg
from penstock.topology.upgrades.fingerprint import PlanFingerprint

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.application_run import ApplicationRun
    from penstock.runtime.spark.driver.batch_runner import BatchRunner
    from penstock.runtime.spark.driver.instances.instance import Instance as Registered
    from penstock.runtime.spark.driver.query_instance import QueryInstance
    from penstock.runtime.spark.driver.streams import KafkaStreams
    from penstock.runtime.spark.exchange.batch_log import InstanceRecord
    from penstock.runtime.spark.exchange.plan import Plan
    from penstock.runtime.spark.replica.replica import Replica

log = logging.getLogger(__name__)

#: How long to wait for a silent slot. After that, the caller has to ask again.
_SILENCE_S = 5.0
_OF_USERS = frozenset(StoreKind) - {
    StoreKind.OUTER_JOIN,
    StoreKind.TIME_ORDERED_BUFFER,
    StoreKind.FOREIGN_KEY_SUBSCRIPTION,
}
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)


class ServedStreams:
    """One instance of an application, as a ``Queryable``.

    The instance that leads owns all partitions, and its slots answer. Others answer from their
    copies, if they keep any and the caller accepts staleness.

    Args:
        run: returns the run of the application, None before the start and after the end.
        failures: why it could not start, or had to begin anew.
    """

    def __init__(
        self,
        streams: KafkaStreams | QueryInstance,
        config: StreamsConfig,
        run: Callable[[], ApplicationRun | None],
        failures: FailureLog | None = None,
    ) -> None:
        self._streams = streams
        self._failures = failures or FailureLog()
        self._config = config
        self._run = run
        self._pulse = process_pulse()
        #: The group chooses another leader after the whole session without a heartbeat.
        self._longest_pause_s = config[SESSION_TIMEOUT_MS] / 1000 / 3
        #: The name of the instance until it has registered.
        self._first_name = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        #: The plan for which the stores were last listed, and what was found.
        self._listed: tuple[Plan, dict[str, StoreInfo]] | None = None
        self._changelogs: ChangelogReader | None = None
        #: The run whose dead letters are read: another one may have another broker.
        self._letters: tuple[ApplicationRun | None, DeadLetterTopic | None] | None = None
        self._journeys: tuple[ApplicationRun | None, RecordJourneys] | None = None
        #: Planning takes a while, and its result does not change.
        self._program: Program | None = None

    @property
    def application_id(self) -> str:
        return self._config[APPLICATION_ID]

    @property
    def instance_id(self) -> str:
        registered = self._registered()
        return self._first_name if registered is None else registered.id

    @property
    def address(self) -> str | None:
        return self._config[APPLICATION_SERVER] or None

    # What can be read, and where

    def stores(self) -> Mapping[str, StoreInfo]:
        run = self._run()
        plan = None if run is None else run.plan
        listed = self._listed
        if run is not None and plan is not None and (listed is None or listed[0] is not plan):
            listed = self._listed = plan, store_infos(plan, run.config)
        if listed is None:
            raise self._not_running()
        return listed[1]

    def instances(self) -> Sequence[Instance]:
        registered = self._registered()
        if registered is None:
            return [Instance(id=self.instance_id, address=self.address)]
        leader = registered.leader
        return [self._described(each, leader) for each in registered.instances.values()]

    def location(self, store: str, partition: int) -> Location:
        registered = self._registered()
        if registered is None:
            return Location(None)
        leader, known = registered.leader, registered.instances
        info = self.stores()[store]
        copies = tuple(
            self._described(each, leader)
            for each in known.values()
            # A store without a changelog has no copies.
            if each.has_copies and each.id != leader and info.changelog
        )
        record = known.get(leader)
        is_there = record is not None and (
            self._leading() is not None
            if leader == registered.id
            else registered.life_of_leader() not in (Life.GONE, None)
        )
        owner = self._described(record, leader) if record is not None and is_there else None
        return Location(owner, copies)

    def _described(self, record: InstanceRecord, leader: str) -> Instance:
        all_of = {name: tuple(range(i.partitions)) for name, i in self.stores().items()}
        leads = record.id == leader
        return Instance(
            id=record.id,
            address=record.server or None,
            is_leader=leads,
            tags=record.tags,
            owned=all_of if leads else {},
            copies=all_of if record.has_copies and not leads else {},
        )

    # Reading

    def read(
        self,
        store: str,
        partition: int,
        question: Question,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer:
        info = self.stores().get(store)
        if info is None:
            raise UnknownStoreError("unknown-store", f"there is no store {store!r}")
        runner = self._leading()
        if runner is not None:
            return self._from_slot(runner, info, partition, question, bound)
        if not (allow_stale or info.is_global):
            raise self._not_running()
        answer = self._from_copy(info, partition, question, bound, waits=True)
        assert answer is not None
        return answer

    def read_now(
        self,
        store: str,
        partition: int,
        question: KeyQuestion,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer | None:
        info = self.stores().get(store)
        if info is None or not (allow_stale or info.is_global) or self._leading() is not None:
            return None
        try:
            return self._from_copy(info, partition, question, bound, waits=False)
        except NotAvailableError:
            # Another instance may have an answer.
            return None

    def _from_slot(
        self,
        runner: BatchRunner,
        info: StoreInfo,
        partition: int,
        question: Question,
        bound: Position | None,
    ) -> Answer:
        # Taken before the read, so the answer has seen at least this much.
        position = by_topic(runner.contained(info.name))
        rows, has_more, reached = _asked(runner, info, partition, question)
        if info.changelog:
            before = position.get(info.changelog, {})
            position = {**position, info.changelog: {**before, **reached}}
        if self._leading() is None:
            # The lead was lost meanwhile, so the answer may be outdated.
            raise self._not_running()
        _check_bound(position, bound)
        return Answer(rows, Source(Role.OWNER, self.instance_id), position, 0, has_more)

    def _from_copy(
        self,
        info: StoreInfo,
        partition: int,
        question: Question,
        bound: Position | None,
        *,
        waits: bool,
    ) -> Answer | None:
        registered = self._registered()
        copies = None if registered is None else registered.copies
        if registered is None or copies is None:
            raise self._not_running()
        try:
            found = copies.answer(info.name, partition, question, waits=waits)
        except StreamsError as error:
            if declared(error).is_momentary:
                raise NotAvailableError("store-not-ready", error.message, error.fix) from error
            raise
        if found is None:
            return None
        rows, has_more, cut = found
        part = info.changelog, partition
        reached = cut.ends.get(part, 0)
        position = by_topic({**cut.positions, part: reached})
        _check_bound(position, bound)
        newest = registered.cut
        lag = 0 if newest is None else max(newest.ends.get(part, 0) - reached, 0)
        role = Role.STANDBY if registered.record.may_lead else Role.REPLICA
        source = Source(role, registered.id)
        return Answer(rows, source, position, lag, has_more, cut.batch)

    def subscribe(
        self, store: str, since: Mapping[int, int] | None, listener: ChangeListener
    ) -> ChangeFeed:
        info = self.stores()[store]
        if not info.changelog:
            raise UnsupportedOperationError(
                "no-changelog", f"store {store!r} is not logged, so its changes cannot be followed"
            )
        run = self._run()
        # Only the run knows the address of a private broker.
        config = self._config if run is None else run.config
        return ChangeFeed(consumer_settings(config, "restore"), info, since, listener)

    def commits(self) -> Sequence[Commit]:
        leading = self._leading()
        return () if leading is None else leading.progress.commits.latest()

    def changes(self, store: str, partition: int, start: int, end: int) -> Changes:
        if self._changelogs is None:
            run = self._run()
            # Only the run knows the address of a private broker.
            config = self._config if run is None else run.config
            self._changelogs = ChangelogReader(consumer_settings(config, "restore"))
        return self._changelogs.read(self.stores()[store], partition, start, end)

    def dead_letters(self) -> DeadLetterTopic | None:
        run, known = self._run(), self._letters
        if known is None or known[0] is not run:
            # Only the run knows the address of a private broker.
            config = self._config if run is None else run.config
            made = dead_letter_topic(self._streams.topology.graph, config)
            known = self._letters = run, made
        return known[1]

    # What is known about it

    def health(self) -> Health:
        state, run = self._streams.state, self._run()
        runner, registered = self._leading(), self._registered()
        copies = None if registered is None or runner is not None else registered.copies
        waiting_for = self._streams.waiting_for
        # An open transaction of another program, a function that takes long, or a partition that
        # waits makes no answer about a store wrong.
        is_current = _shows_a_cut(copies)
        if runner is not None:
            harmless = runner.progress.busy_with, runner.progress.held_back
            is_current = waiting_for is None or waiting_for in harmless
            is_current = is_current or runner.progress.others_go_on
        restoring = [] if copies is None else copies.restoring()
        if runner is not None and state is not State.RUNNING:
            restoring = self._streams.restoring()
        error = self._streams.error
        newest = None if registered is None else registered.cut
        return Health(
            state=state.value,
            is_alive=not state.has_ended and state is not State.PENDING_ERROR,
            is_ready=state is State.RUNNING and is_current,
            is_leader=runner is not None,
            waiting_for=waiting_for,
            lag=None if run is None else by_topic(run.last_lag),
            restoring=tuple(
                RestoreProgress(
                    store=each.store, partition=each.partition, start=each.start,
                    position=each.position, end=each.end,
                )
                for each in restoring
            ),
            error=getattr(error, "code", None if error is None else type(error).__name__),
            batch=None if newest is None else newest.batch,
        )  # fmt: skip

    def journeys(self) -> RecordJourneys:
        run, known = self._run(), self._journeys
        if known is None or known[0] is not run:
            config = self._config if run is None else run.config
            known = self._journeys = (
                run,
                RecordJourneys(self._streams.topology, config, leading=self._leading),
            )
        return known[1]

    def plan(self) -> PlanFingerprint:
        return plan_fingerprint(self._streams.topology.graph, self._config)

    def topology(self) -> Mapping[str, Any]:
        described: dict[str, Any] = json.loads(self._streams.topology.to_json())
        return described

    def topology_svg(self) -> str:
        return to_svg(self._streams.topology.graph)

    def metrics(self) -> Sequence[Metric]:
        run, state = self._run(), self._streams.state
        leading = None if run is None else run.leading
        if run is not None and leading is not None:
            with contextlib.suppress(PenstockError):
                # Without Kafka, the lag stays the last known one.
                leading.lag()
            return collected(leading, run.config, state, leading.runner.slots)
        registered = self._registered()
        copies = None if registered is None else registered.copies
        lags = [] if copies is None else copies.lags()
        return standby_metrics(self.application_id, self.instance_id, state, lags)

    def status(self, *, is_watched: bool) -> ApplicationStatus:
        run, leading = self._run(), self._leading()
        kept = self._failures.latest()
        return application_status(self._streams, run, leading, kept, is_watched=is_watched)

    def program(self) -> Program:
        if self._program is None:
            topology = self._streams.topology
            forms = topology.explain(self._config).parts
            self._program = Program(
                sources=source_lines(topology.graph),
                why_records={node: why for form in forms for node, why in form.why_not.items()},
                columnar=frozenset(form.subtopology for form in forms if form.is_vectorised),
            )
        return self._program

    def close(self) -> None:
        if self._changelogs is not None:
            self._changelogs.close()

    # Inside

    def _registered(self) -> Registered | None:
        run = self._run()
        return None if run is None else run.instance

    def _leading(self) -> BatchRunner | None:
        """Return the runner, unless another instance may lead."""
        run = self._run()
        if run is None or run.runner is None or run.instance is None:
            return None
        if run.instance.leader not in ("", run.instance.id):
            return None
        if run.member is None or not run.member.is_leading:
            return None
        # After a pause, another instance may lead, and this one may not know it yet.
        return run.runner if self._pulse.is_steady(self._longest_pause_s) else None

    def _not_running(self) -> NotAvailableError:
        return NotAvailableError(
            "partition-moving",
            f"this instance is {self._streams.state.value} and does not lead the application",
            fix="ask again in a moment, or accept a copy that may be behind with stale=true",
        )


def queryable(streams: KafkaStreams) -> ServedStreams:
    """Return an application as a server sees it that is not its own, such as that of a query."""
    return ServedStreams(streams, streams._config, lambda: streams._run, streams._waits.failures)


def start_server(
    streams: KafkaStreams | QueryInstance,
    config: StreamsConfig,
    run: Callable[[], ApplicationRun | None],
    failures: FailureLog | None = None,
) -> ServingServer | None:
    """Start the server that ``application.server`` names; None if it is not set.

    Raises:
        ConfigError: the server would be open to others, or its packages are missing.
        UnavailableError: the address cannot be bound.
    """
    options = ServerOptions.of(config)
    if options is None:
        return None
    return ServingServer(ServedStreams(streams, config, run, failures), options).start()


def store_infos(plan: Plan, config: StreamsConfig) -> dict[str, StoreInfo]:
    """Return descriptions of the stores of a topology that can be queried."""
    settings, graph = task_settings(config), plan.graph

    def info(spec: StoreSpec, partitions: int, changelog: str, *, is_global: bool) -> StoreInfo:
        what = f"store {spec.name!r}"
        return StoreInfo(
            name=spec.name,
            kind=spec.kind,
            key_serde=required_serde(spec.key_serde, settings.defaults, "key", what),
            value_serde=required_serde(spec.value_serde, settings.defaults, "value", what),
            partitions=partitions,
            is_global=is_global,
            is_placed=is_global or is_placed(graph, spec.name),
            window_size_ms=spec.window_size_ms if spec.kind in _WINDOW else None,
            changelog=changelog,
        )

    found = {}
    for part in plan.subtopologies.values():
        for name in part.stores(graph):
            spec = graph.stores.get(name)
            # Stores of joins have several rows of one key and time, which a page could not
            # distinguish.
            if spec is None or spec.kind not in _OF_USERS or spec.retain_duplicates:
                continue
            source = graph.source_changelogs.get(name)
            topic = source or (settings.changelog_topic(name) if spec.logging else "")
            found[name] = info(spec, plan.tasks(part.id), topic, is_global=False)
    for name, store in graph.global_stores.items():
        found[name] = info(store.spec, 1, store.topic, is_global=True)
    return found


def _asked(
    runner: BatchRunner, info: StoreInfo, partition: int, question: Question
) -> tuple[list[Row], bool, dict[int, int]]:
    """Ask the slot that has a partition."""
    # Over HTTP, nothing is waited for here: the caller asks again.
    slots = SlotAnswers(runner, patience_s=0.0, silence_s=_SILENCE_S)
    try:
        found: tuple[list[Row], bool, dict[int, int]] = slots.query(
            info.name, partition, "answer", (question,)
        )
    except PenstockError as error:
        if declared(error).is_momentary:
            raise _not_ready(partition % runner.used_slots, info.name) from error
        raise
    return found


def _shows_a_cut(copies: Replica | None) -> bool:
    """Tell whether the copies are at a cut, or there are no copies at all."""
    return copies is None or copies.cut is not None


def _check_bound(position: Position, bound: Position | None) -> None:
    for topic, offsets in (bound or {}).items():
        for partition, offset in offsets.items():
            if position.get(topic, {}).get(partition, 0) < offset:
                raise NotAvailableError(
                    "not-up-to-bound",
                    f"{topic} partition {partition} has been processed up to"
                    f" {position.get(topic, {}).get(partition, 0)}, not {offset}",
                    fix="ask again in a moment",
                )


def _not_ready(slot: int, store: str) -> NotAvailableError:
    return NotAvailableError(
        "store-not-ready",
        f"slot {slot}, which holds a part of store {store!r}, is being started",
        fix="ask again in a moment",
    )
