"""A running ``KafkaStreams`` as the server of ``application.server`` sees it."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.config import APPLICATION_ID, APPLICATION_SERVER, StreamsConfig
from penstock.errors import (
    PenstockError,
    StreamsError,
    UnknownStoreError,
    UnsupportedOperationError,
)
from penstock.kafka.client_config import consumer_settings
from penstock.kernel.serdes import required_serde
from penstock.runtime.settings import task_settings
from penstock.runtime.spark.driver.change_feed import ChangeFeed
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.metadata import collected
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.states import State
from penstock.serving.application import (
    Answer,
    ChangeListener,
    Health,
    Instance,
    Location,
    NotAvailableError,
    Position,
    RestoreProgress,
    Role,
    Row,
    Source,
    StoreInfo,
)
from penstock.serving.metric import Metric
from penstock.serving.options import ServerOptions
from penstock.serving.question import Question
from penstock.serving.server import ServingServer
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.picture import to_svg

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.application_run import ApplicationRun
    from penstock.runtime.spark.driver.batch_runner import BatchRunner
    from penstock.runtime.spark.driver.query_instance import QueryInstance
    from penstock.runtime.spark.driver.streams import KafkaStreams

log = logging.getLogger(__name__)

#: A slot that says nothing for so long is asked again by the caller, not by us.
_SILENCE_S = 5.0
_PASSING = frozenset({"store-not-ready", "slot-unreachable", "worker-lost"})
_OF_USERS = frozenset(StoreKind) - {
    StoreKind.OUTER_JOIN,
    StoreKind.TIME_ORDERED_BUFFER,
    StoreKind.FOREIGN_KEY_SUBSCRIPTION,
}
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)


class ServedStreams:
    """One instance of an application, as a ``Queryable``.

    While it leads it owns all partitions and asks its slots. While it does not, it answers from
    its copies, if it keeps any, and only those who take an answer that may be behind.

    Args:
        run: returns the run of the application, None before the start and after the end.
    """

    def __init__(
        self,
        streams: KafkaStreams | QueryInstance,
        config: StreamsConfig,
        run: Callable[[], ApplicationRun | None],
    ) -> None:
        self._streams = streams
        self._config = config
        self._run = run
        name = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        #: Until the instance has registered under its own name.
        self._early_id = f"{config[APPLICATION_ID]}-{name}"
        #: The plan for which the stores were last listed, and what was found.
        self._listed: tuple[object, dict[str, StoreInfo]] | None = None

    @property
    def application_id(self) -> str:
        return self._config[APPLICATION_ID]

    @property
    def instance_id(self) -> str:
        run = self._run()
        return self._early_id if run is None or run.instance is None else run.instance.id

    @property
    def address(self) -> str | None:
        return self._config[APPLICATION_SERVER] or None

    # What can be read, and where

    def stores(self) -> Mapping[str, StoreInfo]:
        return self._listing()

    def instances(self) -> Sequence[Instance]:
        run = self._run()
        known = None if run is None else run.instance
        if known is None:
            return [Instance(id=self.instance_id, address=self.address)]
        everything = {name: tuple(range(of.partitions)) for name, of in self.stores().items()}
        return [
            Instance(
                id=each.id,
                address=each.server or None,
                is_leader=each.id == known.leader,
                owned=everything if each.id == known.leader else {},
                copies=everything if each.has_copies and each.id != known.leader else {},
            )
            for each in known.instances.values()
        ]

    def location(self, store: str, partition: int) -> Location:
        run = self._run()
        known = None if run is None else run.instance
        # While the leader is gone and nobody has taken over, only copies can answer.
        is_moving = known is not None and known.life_of_leader() is Life.GONE
        found = self.instances()
        owner = next((each for each in found if each.is_leader and not is_moving), None)
        return Location(owner, tuple(each for each in found if each.copies))

    def read(
        self,
        store: str,
        partition: int,
        question: Question,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer:
        info = self._listing().get(store)
        if info is None:
            raise UnknownStoreError("unknown-store", f"there is no store {store!r}")
        runner = self._leading()
        if runner is None:
            return self._copied(info, partition, question, allow_stale=allow_stale, bound=bound)
        # Before the read: the answer may know more than this, and never less.
        position = _by_topic(runner.progress.position)
        rows, has_more, reached = self._ask(runner, info, partition, question)
        position = {**position, info.changelog: {**position.get(info.changelog, {}), **reached}}
        _check_bound(position, bound)
        source = Source(Role.OWNER, self.instance_id)
        return Answer(rows, source, position, 0, has_more)

    def _copied(
        self, info: StoreInfo, partition: int, question: Question, *,
        allow_stale: bool, bound: Position | None,
    ) -> Answer:  # fmt: skip
        """Answer from the copy of an instance that does not lead, if the caller takes that."""
        run = self._run()
        known = None if run is None else run.instance
        copies = None if known is None else known.copies
        if known is None or copies is None or not (allow_stale or info.is_global):
            raise self._not_running()
        try:
            rows, has_more, behind, cut = copies.answer(info.name, partition, question)
        except StreamsError as error:
            raise NotAvailableError(error.code, error.message, fix=error.fix) from error
        position = _by_topic(cut.positions)
        if behind is not None:
            changelog = {**position.get(info.changelog, {}), partition: behind.position}
            position = {**position, info.changelog: changelog}
        _check_bound(position, bound)
        role = Role.STANDBY if known.record.may_lead else Role.REPLICA
        lag = 0 if behind is None else behind.lag
        return Answer(rows, Source(role, known.id), position, lag, has_more, cut.batch)

    def _ask(
        self, runner: BatchRunner, info: StoreInfo, partition: int, question: Question
    ) -> tuple[list[Row], bool, dict[int, int]]:
        slot = partition % runner.slots
        endpoint = runner.placement.endpoints.get(slot)
        asked = (
            "query", runner.application.key, slot, info.name, partition, "answer", (question,),
        )  # fmt: skip
        try:
            if endpoint is None:
                raise _not_ready(slot, info.name)
            found: tuple[list[Row], bool, dict[int, int]] = ask(
                endpoint, runner.secret, asked, silence_s=_SILENCE_S
            )
        except PenstockError as error:
            if error.code in _PASSING:
                raise _not_ready(slot, info.name) from error
            raise
        return found

    def subscribe(
        self, store: str, since: Mapping[int, int] | None, listener: ChangeListener
    ) -> ChangeFeed:
        info = self.stores()[store]
        if not info.changelog:
            raise UnsupportedOperationError(
                "no-changelog", f"store {store!r} is not logged, so its changes cannot be followed"
            )
        settings = consumer_settings(self._run_config(), "restore")
        return ChangeFeed(settings, info, since, listener)

    # What is known about it

    def health(self) -> Health:
        state, run = self._streams.state, self._run()
        runner = None if run is None else run.runner
        waiting_for = self._streams.waiting_for
        known = None if run is None else run.instance
        copies = None if known is None else known.copies
        # One that stands by is ready when its copies show a complete batch.
        stands_by = runner is None and copies is not None and copies.cut is not None
        is_running = state is State.RUNNING and (runner is not None or stands_by)
        error = self._streams.error
        return Health(
            state=state.value,
            is_alive=not state.has_ended and state is not State.PENDING_ERROR,
            is_ready=is_running and (waiting_for is None or stands_by),
            is_leader=runner is not None,
            waiting_for=waiting_for,
            lag=None if run is None else _by_topic(run.last_lag),
            restoring=tuple(
                RestoreProgress(
                    store=each.store, partition=each.partition, start=each.start,
                    position=each.position, end=each.end,
                )
                for each in ([] if is_running else self._streams.restoring())
            ),
            error=getattr(error, "code", None if error is None else type(error).__name__),
        )  # fmt: skip

    def topology(self) -> Mapping[str, Any]:
        described: dict[str, Any] = json.loads(self._streams.topology.to_json())
        return described

    def topology_svg(self) -> str:
        return to_svg(self._streams.topology.graph)

    def metrics(self) -> Sequence[Metric]:
        run, streams = self._run(), self._streams
        if run is None or run.runner is None:
            return []
        with contextlib.suppress(PenstockError):
            # Without Kafka the lag stays what it was.
            run.lag()
        return collected(run, streams.state, run.runner.slots)

    # Inside

    def _leading(self) -> BatchRunner | None:
        run = self._run()
        return None if run is None else run.runner

    def _run_config(self) -> StreamsConfig:
        run = self._run()
        # A private broker is known only to the run.
        return self._config if run is None else run.config

    def _not_running(self) -> NotAvailableError:
        return NotAvailableError(
            "not-running",
            f"this instance is {self._streams.state.value} and does not lead the application",
            fix="ask again in a moment",
        )

    def _listing(self) -> dict[str, StoreInfo]:
        run, listed = self._run(), self._listed
        plan = None if run is None else run.plan
        if run is None or plan is None:
            if listed is None:
                raise self._not_running()
            return listed[1]
        if listed is None or listed[0] is not plan:
            listed = self._listed = plan, _store_infos(plan, run.config)
        return listed[1]


def start_server(
    streams: KafkaStreams | QueryInstance,
    config: StreamsConfig,
    run: Callable[[], ApplicationRun | None],
) -> ServingServer | None:
    """Start the server that ``application.server`` asks for; None if it asks for none.

    Raises:
        ConfigError: the server would be open to others, or its packages are missing.
        UnavailableError: the address cannot be bound.
    """
    options = ServerOptions.of(config)
    if options is None:
        return None
    return ServingServer(ServedStreams(streams, config, run), options).start()


def _store_infos(plan: Plan, config: StreamsConfig) -> dict[str, StoreInfo]:
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
            window_size_ms=spec.window_size_ms if spec.kind in _WINDOW else None,
            changelog=changelog,
        )

    found = {}
    for part in plan.subtopologies.values():
        for name in part.stores(graph):
            spec = graph.stores.get(name)
            # Stores of joins keep several rows of one key and time, which no page could tell apart.
            if spec is None or spec.kind not in _OF_USERS or spec.retain_duplicates:
                continue
            source = graph.source_changelogs.get(name)
            topic = source or (settings.changelog_topic(name) if spec.logging else "")
            found[name] = info(spec, plan.tasks(part.id), topic, is_global=False)
    for name, store in graph.global_stores.items():
        found[name] = info(store.spec, 1, store.topic, is_global=True)
    return found


def _by_topic(offsets: Mapping[tuple[str, int], int]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[partition] = offset
    return found


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
