"""An application of dictionaries, behind the same protocol as a real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import penstock as ps
from penstock.config import StreamsConfig
from penstock.errors import UnknownStoreError
from penstock.model.metric import Metric
from penstock.model.partitioning import partition_for
from penstock.serde.base import Serde
from penstock.serde.serdes import Serdes
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
    StoreChange,
    StoreInfo,
)
from penstock.serving.failed.values import DeadLetters
from penstock.serving.journey.values import Journeys
from penstock.serving.past.values import Changes, Commit
from penstock.serving.question import (
    KeyQuestion,
    PrefixQuestion,
    Question,
    RangeQuestion,
    SessionQuestion,
    VersionsQuestion,
    WindowQuestion,
    row_order,
)
from penstock.serving.status.values import ApplicationStatus, Program
from penstock.state.spec import StoreKind
from penstock.topology.upgrades.fingerprint import PlanFingerprint
from tests.unit.serving.memory_journeys import MemoryJourneys

KEY_VALUE = (StoreKind.KEY_VALUE, StoreKind.TIMESTAMPED_KEY_VALUE)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that a server does by itself, also on a machine that is busy."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def store_info(
    name: str,
    kind: StoreKind = StoreKind.TIMESTAMPED_KEY_VALUE,
    key: Serde[Any] | None = None,
    value: Serde[Any] | None = None,
    **more: Any,
) -> StoreInfo:
    return StoreInfo(
        name=name,
        kind=kind,
        key_serde=key or Serdes.string(),
        value_serde=value or Serdes.json(),
        partitions=more.pop("partitions", 4),
        changelog=f"app-{name}-changelog",
        **more,
    )


@dataclass
class Cluster:
    """What all instances of one application share: the data, and who has what."""

    infos: dict[str, StoreInfo]
    rows: dict[str, list[Row]] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    #: By store and partition; a partition that is left out moves.
    owners: dict[tuple[str, int], str] = field(default_factory=dict)
    copies: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    lags: dict[str, int] = field(default_factory=dict)
    offset: int = 0
    #: By store and partition: its changelog. And where all of them stood at each commit.
    logs: dict[tuple[str, int], list[StoreChange]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)

    def put(self, store: str, *rows: Row) -> None:
        info = self.infos[store]
        for row in rows:
            data = info.key_serde.serialize(info.changelog, row.key) or b""
            order = row_order(data, row.window_start, row.window_end)
            if info.kind is StoreKind.VERSIONED_KEY_VALUE:
                order = row_order(data, row.timestamp)
            kept = [each for each in self.rows.get(store, []) if each.order != order]
            self.rows[store] = sorted([*kept, row._replace(order=order)], key=lambda e: e.order)

    def write(self, store: str, *changes: tuple[Any, Any]) -> None:
        """Change a store through its changelog; None deletes."""
        for key, value in changes:
            partition = self.partition(store, key)
            log = self.logs.setdefault((store, partition), [])
            offset = log[-1].offset + 1 if log else 0
            log.append(StoreChange(partition, offset, key, value, 1_000 + offset))
            if value is None:
                self.rows[store] = [row for row in self.rows.get(store, []) if row.key != key]
            else:
                self.put(store, Row(key, value, 1_000 + offset))

    def commit(self, number: int, positions: Mapping[str, Mapping[int, int]] | None = None) -> None:
        """Note where all changelogs stand, and up to where source topics were read."""
        ends: dict[str, dict[int, int]] = {}
        for name, info in self.infos.items():
            for partition in range(info.partitions):
                log = self.logs.get((name, partition), [])
                ends.setdefault(info.changelog, {})[partition] = log[-1].offset + 1 if log else 0
        at_ms = 1_700_000_000_000 + number
        made = Commit(number=number, at_ms=at_ms, ends=ends, positions=positions or {})
        self.commits.append(made)

    def partition(self, store: str, key: Any) -> int:
        info = self.infos[store]
        data = info.key_serde.serialize(info.changelog, key) or b""
        return 0 if info.is_global else partition_for(data, info.partitions)

    def give(self, instance: str) -> None:
        """Make an instance the owner of everything."""
        for name, info in self.infos.items():
            for partition in range(info.partitions):
                self.owners[name, partition] = instance


class MemorySubscription:
    def __init__(self, application: MemoryApplication, entry: tuple[str, ChangeListener]) -> None:
        self._application, self._entry = application, entry

    @property
    def start(self) -> Mapping[int, int]:
        return {0: self._application.cluster.offset}

    @property
    def failure(self) -> str | None:
        return self._application.feed_failure

    def close(self) -> None:
        self._application.listeners.remove(self._entry)


class MemoryApplication:
    """One instance."""

    def __init__(self, cluster: Cluster, name: str = "one") -> None:
        self.cluster = cluster
        self.name = name
        self.listeners: list[tuple[str, ChangeListener]] = []
        self.state = "RUNNING"
        #: Why change feeds have ended.
        self.feed_failure: str | None = None
        self.is_ready = True
        self.reads = 0
        self.rows_read = 0
        #: Every read waits for it.
        self.may_read = threading.Event()
        self.may_read.set()
        self.failure: Exception | None = None
        self.threads: set[str] = set()
        self.is_closed = False
        #: Whether somebody looked on when its status was last asked for.
        self.watched = False
        self.letters: DeadLetters | None = None
        self.tools: Journeys = MemoryJourneys(ps.StreamsBuilder().build(), StreamsConfig())

    application_id = "app"

    @property
    def instance_id(self) -> str:
        return self.name

    @property
    def address(self) -> str | None:
        return self.cluster.instances[self.name].address

    def health(self) -> Health:
        return Health(
            state=self.state,
            is_alive=self.state != "ERROR",
            is_ready=self.is_ready,
            is_leader=True,
            lag={"orders": {0: 3, 1: 4}},
        )

    def stores(self) -> Mapping[str, StoreInfo]:
        return self.cluster.infos

    def instances(self) -> Sequence[Instance]:
        return list(self.cluster.instances.values())

    def location(self, store: str, partition: int) -> Location:
        known, place = self.cluster.instances, (store, partition)
        owner = self.cluster.owners.get(place)
        copies = tuple(known[name] for name in self.cluster.copies.get(place, ()))
        return Location(None if owner is None else known[owner], copies)

    def read(
        self,
        store: str,
        partition: int,
        question: Question,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer:
        self.reads += 1
        self.threads.add(threading.current_thread().name)
        if self.failure is not None:
            raise self.failure
        assert self.may_read.wait(60)
        if store not in self.cluster.infos:
            raise UnknownStoreError("unknown-store", f"no store {store!r}")
        info = self.cluster.infos[store]
        role = self._role(info, partition, allow_stale=allow_stale)
        log = self.cluster.logs.get((store, partition), [])
        reached = log[-1].offset + 1 if log else self.cluster.offset
        position = {info.changelog: {partition: reached}}
        for topic, offsets in (bound or {}).items():
            if any(position.get(topic, {}).get(p, 0) < offset for p, offset in offsets.items()):
                raise NotAvailableError("not-up-to-bound", "the copy is not that far yet")
        rows = [
            row
            for row in self.cluster.rows.get(store, [])
            if self.cluster.partition(store, row.key) == partition and _fits(info, row, question)
        ]
        lag = 0 if role is Role.OWNER else self.cluster.lags.get(self.name, 0)
        if isinstance(question, KeyQuestion):
            return Answer(rows[-1:], Source(role, self.name), position, lag)
        if question.reverse:
            rows.reverse()
        if question.after is not None:
            after, backward = question.after, question.reverse
            rows = [row for row in rows if (row.order < after if backward else row.order > after)]
        more = len(rows) > question.limit
        self.rows_read += min(len(rows), question.limit)
        return Answer(rows[: question.limit], Source(role, self.name), position, lag, more)

    def read_now(
        self,
        store: str,
        partition: int,
        question: KeyQuestion,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer | None:
        if store != "fast":
            return None
        return self.read(store, partition, question, allow_stale=allow_stale, bound=bound)

    def _role(self, info: StoreInfo, partition: int, *, allow_stale: bool) -> Role:
        place = (info.name, partition)
        if info.is_global or self.cluster.owners.get(place) == self.name:
            return Role.OWNER
        if allow_stale and self.name in self.cluster.copies.get(place, ()):
            return Role.STANDBY
        raise NotAvailableError("partition-moving", f"{place} is not here")

    def subscribe(
        self, store: str, since: Mapping[int, int] | None, listener: ChangeListener
    ) -> MemorySubscription:
        entry = (store, listener)
        self.listeners.append(entry)
        for offset in range((since or {}).get(0, self.cluster.offset), self.cluster.offset):
            listener([StoreChange(0, offset, "old", offset)])
        return MemorySubscription(self, entry)

    def change(self, store: str, *keys_and_values: tuple[Any, Any]) -> None:
        changes = []
        for key, value in keys_and_values:
            changes.append(StoreChange(0, self.cluster.offset, key, value, 1000))
            self.cluster.offset += 1
        for name, listener in list(self.listeners):
            if name == store:
                listener(changes)

    def commits(self) -> Sequence[Commit]:
        return self.cluster.commits

    def changes(self, store: str, partition: int, start: int, end: int) -> Changes:
        """Return a stretch of the changelog; what was compacted is missing."""
        log = self.cluster.logs.get((store, partition), [])
        found = [each for each in log if start <= each.offset < end]
        expected = range(start, min(end, log[-1].offset + 1)) if log else range(0)
        is_whole = [each.offset for each in found] == [*expected]
        return Changes(changes=found, begins=0, is_whole=is_whole)

    def journeys(self) -> Journeys:
        return self.tools

    def plan(self) -> PlanFingerprint:
        return PlanFingerprint(())

    def dead_letters(self) -> DeadLetters | None:
        return self.letters

    def close(self) -> None:
        self.is_closed = True

    def topology(self) -> Mapping[str, Any]:
        return {"version": 1, "subtopologies": []}

    def topology_svg(self) -> str:
        return '<svg xmlns="http://www.w3.org/2000/svg"/>'

    def metrics(self) -> Sequence[Metric]:
        tags = {"client-id": "app", "thread-id": 'a "quoted"\\ name\n'}
        return [
            Metric("process-rate", "stream-thread-metrics", 2.5, tags, "Records a second."),
            Metric("process-total", "stream-thread-metrics", 10, tags),
            Metric("state", "stream-metrics", "RUNNING", {"client-id": "app"}),
            Metric("record-e2e-latency-avg", "stream-processor-node-metrics", float("nan")),
        ]

    def status(self, *, is_watched: bool) -> ApplicationStatus:
        self.watched = is_watched
        return ApplicationStatus(
            at_ms=time.time_ns() // 1_000_000,
            state=self.state,
            is_ready=self.is_ready,
            lag={"orders": {0: 3, 1: 4}},
        )

    def program(self) -> Program:
        return Program(columnar=frozenset({0}))


def _fits(info: StoreInfo, row: Row, question: Question) -> bool:
    if isinstance(question, KeyQuestion):
        as_of = question.as_of
        is_known = as_of is None or (row.timestamp is not None and row.timestamp <= as_of)
        return bool(row.key == question.key and is_known)
    if isinstance(question, PrefixQuestion):
        data = info.key_serde.serialize(info.changelog, row.key) or b""
        return data.startswith(question.prefix)
    if isinstance(question, RangeQuestion):
        start, end = question.start, question.end
        is_within = (start is None or row.key >= start) and (end is None or row.key <= end)
        return is_within and _in_time(row, question)
    return bool(row.key == question.key) and _in_time(row, question)


def _in_time(
    row: Row, question: RangeQuestion | WindowQuestion | SessionQuestion | VersionsQuestion
) -> bool:
    at = row.timestamp if row.window_start is None else row.window_start
    if at is None or (question.time_from, question.time_to) == (None, None):
        return True
    latest = question.time_to
    if isinstance(question, SessionQuestion):
        assert row.window_end is not None
        return row.window_end >= (question.time_from or 0) and (latest is None or at <= latest)
    return at >= (question.time_from or 0) and (latest is None or at <= latest)


def one_instance(*infos: StoreInfo) -> MemoryApplication:
    """Return an application of one instance that owns everything."""
    cluster = Cluster({info.name: info for info in infos})
    cluster.instances["one"] = Instance(id="one", is_leader=True)
    cluster.give("one")
    return MemoryApplication(cluster)
