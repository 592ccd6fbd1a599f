"""The stores that this instance can read: those of its slots, or its standby copies."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidStateError
from penstock.processor.functions import StreamPartitioner
from penstock.query import (
    Position,
    StateQueryRequest,
    StateQueryResult,
    StoreQueryParameters,
)
from penstock.query.parameters import store_name_of
from penstock.runtime.spark.driver.application_run import ApplicationRun
from penstock.runtime.spark.driver.lanes.cut_part import CutPart
from penstock.runtime.spark.driver.stores.clients_metadata import (
    HostInfo,
    KeyQueryMetadata,
    LagInfo,
    StreamsMetadata,
    clients,
    lags_by_store,
)
from penstock.runtime.spark.driver.stores.cut_view import CutView
from penstock.runtime.spark.driver.stores.slot_answers import SlotAnswers
from penstock.runtime.spark.driver.stores.snapshot import snapshot
from penstock.runtime.spark.driver.stores.state_query import run_query
from penstock.runtime.spark.driver.stores.store_view import Answers, StoreView
from penstock.runtime.spark.driver.stores.views import register_views
from penstock.runtime.spark.exchange.plan import Plan
from penstock.runtime.spark.replica.replica import Replica


class InstanceStores:
    """Reads stores of an application that runs, whether this instance leads it or stands by."""

    def __init__(self, run: ApplicationRun, plan: Plan, spark: SparkSession | None) -> None:
        self._run = run
        self._plan = plan
        self._spark = spark

    @property
    def _copies(self) -> Replica | None:
        return self._run.copies

    # Reading

    def view(self, asked: str | StoreQueryParameters) -> StoreView:
        """Return a store over all its partitions, or over those that the parameters name."""
        name = store_name_of(asked)
        if not isinstance(asked, StoreQueryParameters):
            return StoreView.open(name, self._plan, self._run.config, self._answers(name))
        view = StoreView.open(name, self._plan, self._run.config, _Elsewhere()).narrowed(asked)
        is_global = name in self._plan.graph.global_stores
        if self._run.runner is None and not (asked.stale_stores_enabled or is_global):
            raise _only_copies(name)
        return view.answered_by(self._answers(name))

    def _answers(self, name: str) -> Answers:
        runner, copies = self._run.runner, self._copies
        if runner is not None:
            return SlotAnswers(runner)
        if copies is not None:
            return copies
        raise _elsewhere(name)

    def dataframe(self, name: str) -> DataFrame:
        """Return a store as a DataFrame of its rows."""
        assert self._spark is not None
        return snapshot(self._spark, self.view(name))

    def register_views(self, spark: SparkSession, prefix: str, cut: CutView) -> dict[str, str]:
        return register_views(spark, prefix, cut, self._plan.graph, self._run.config)

    def position(self, store: str | None = None) -> Position:
        """Return the offsets that a store contains at least.

        Without the name of a store, return up to where source topics were read. While slots are
        between two batches and nothing is on its way, all stores contain that.
        """
        runner, copies = self._run.runner, self._copies
        if runner is not None:
            read = runner.progress.position if store is None else runner.contained(store)
            return Position.from_next_offsets(read)
        cut = None if copies is None else copies.cut
        return Position() if cut is None else Position.from_next_offsets(cut.positions)

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        view = self.view(request.store)
        return run_query(
            view, request, self.position(request.store), is_active=self._run.runner is not None,
            is_global=request.store in self._plan.graph.global_stores,
        )  # fmt: skip

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[CutView | None]:
        """Hold the stores at one cut; yield None if there is none in time."""
        runner, copies = self._run.runner, self._copies
        if runner is not None:
            with runner.hold(timeout_s) as batch:
                if batch is None or batch < 0:
                    yield None
                else:
                    yield CutView(batch, self.position(), self.view, self._spark)
        elif copies is not None:
            with copies.reading:
                cut = copies.cut
                if cut is None:
                    yield None
                else:
                    yield CutView(cut.batch, self.position(), self.view, self._spark)
        else:
            time.sleep(min(timeout_s, 0.1))
            yield None

    def cut_part(self) -> CutPart | None:
        """Return the part that this instance has in a cut of several applications, if it leads."""
        runner = self._run.runner
        return None if runner is None or not runner.has_run else CutPart(runner)

    # Where things are

    def clients(self) -> list[StreamsMetadata]:
        instance = self._run.instance
        if instance is None:
            return []
        return clients(instance.instances, instance.leader, self._plan)

    def clients_with(self, store: str) -> list[StreamsMetadata]:
        """Return the instances that have a store; raise if the topology has none of that name."""
        StoreView.open(store, self._plan, self._run.config, _Elsewhere())
        return [
            each
            for each in self.clients()
            if store in each.state_store_names | each.standby_state_store_names
        ]

    def key_metadata(
        self, store: str, key: object, partitioner: StreamPartitioner | None = None
    ) -> KeyQueryMetadata:
        view = StoreView.open(store, self._plan, self._run.config, _Elsewhere())
        known = self.clients_with(store)
        active = next((each.host_info for each in known if each.is_leader), HostInfo("", 0))
        standbys = tuple(each.host_info for each in known if not each.is_leader)
        return KeyQueryMetadata(active, standbys, view.partition_of(key, partitioner))

    def lags(self) -> dict[str, dict[int, LagInfo]]:
        """Return the lag of every store here; the tasks themselves have none between batches."""
        copies, instance, plan = self._copies, self._run.instance, self._plan
        if copies is not None:
            return lags_by_store(copies.lags())
        cut = None if instance is None else instance.cut
        found: dict[str, dict[int, LagInfo]] = {}
        for part in plan.subtopologies.values():
            for name in part.stores(plan.graph):
                topic = plan.graph.source_changelogs.get(name, self._run.changelog_topic(name))
                for number in range(plan.tasks(part.id)):
                    end = 0 if cut is None else cut.ends.get((topic, number), 0)
                    found.setdefault(name, {})[number] = LagInfo(end, end, 0)
        return found


class _Elsewhere:
    """Refuses to read a store of another instance; used where only its place is needed."""

    def query(self, store: str, partition: int, method: str, arguments: tuple[object, ...]) -> None:
        raise _elsewhere(store)


def _only_copies(store: str) -> InvalidStateError:
    return InvalidStateError(
        "store-elsewhere",
        f"another instance leads the application, and copies of {store!r} are not asked for",
        fix="call enable_stale_stores() to accept a copy, or ask the leader over HTTP"
        " (application.server)",
    )


def _elsewhere(store: str) -> InvalidStateError:
    return InvalidStateError(
        "store-elsewhere",
        f"another instance leads the application, and this one has no copy of {store!r}",
        fix="set num.standby.replicas=1 to keep copies here, or ask the leader over HTTP"
        " (application.server)",
    )
