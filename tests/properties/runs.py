"""Runs topologies over generated events: in batches of any size, with any cache, with restarts."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import pytest
from hypothesis import settings

from penstock import ValueAndTimestamp
from penstock.config import StreamsConfig
from penstock.runtime.local.application import LocalApplication
from penstock.runtime.local.outbox import InputRecord, ProducedRecord
from penstock.state.spec import StoreKind
from penstock.testing.strategies import Event
from penstock.testing.topic_serdes import TopicSerdes
from tests.properties.topologies import TWO_TOPICS, Build

#: Each example runs a whole application, so there are fewer of them than elsewhere, and fewer
#: still where RocksDB has to open.
SOME = settings(max_examples=max(5, settings.default.max_examples * 2 // 5))
FEW = settings(max_examples=max(3, settings.default.max_examples // 12))

#: What a store holds, as a value that two runs can be compared by.
Contents = dict[str, list[Any]]


@dataclass(frozen=True)
class Written:
    """One record of an output topic."""

    topic: str
    key: Any
    value: Any
    timestamp: int


@dataclass
class Result:
    """What a run gave: the records of each commit, and the stores at the end."""

    commits: list[list[Written]] = field(default_factory=list)
    stores: Contents = field(default_factory=dict)

    @property
    def by_key(self) -> dict[Any, list[Written]]:
        """All records of each key in order: what must not change while caches are off."""
        sequences: dict[Any, list[Written]] = {}
        for record in self._all():
            sequences.setdefault((record.topic, record.key), []).append(record)
        return sequences

    @property
    def views(self) -> list[dict[Any, Any]]:
        """The last value of each key after each commit: what must not change with a cache."""
        view: dict[Any, Any] = {}
        views = []
        for commit in self.commits:
            for record in commit:
                view[record.topic, record.key] = record.value
            views.append({key: value for key, value in view.items() if value is not None})
        return views

    @property
    def rows(self) -> Contents:
        """The stores without the times of their rows: a cache leaves out changes in between."""
        return {
            name: [(entry[0], entry[1].value) if _is_timed(entry) else entry for entry in entries]
            for name, entries in self.stores.items()
        }

    def _all(self) -> Iterator[Written]:
        return (record for commit in self.commits for record in commit)


class Run:
    """One application in this process. ``restart`` keeps nothing but topics and changelogs."""

    def __init__(self, build: Build, *, cache_bytes: int = 0, on_disk: bool = False) -> None:
        self._config = StreamsConfig(
            {"application.id": "app", "statestore.cache.max.bytes": cache_bytes}
        )
        self._build = build
        self._on_disk = on_disk
        self._topics: list[ProducedRecord | InputRecord] = []
        self._application = self._open()
        self.result = Result()

    def _open(self) -> LocalApplication:
        application = LocalApplication(self._build(), self._config, 0, on_disk=self._on_disk)
        self._serdes = TopicSerdes(application.graph, application.settings)
        return application

    def pipe(self, events: Sequence[Event], *, commit_every: int = sys.maxsize) -> None:
        """Hands the events over as one batch."""
        before = len(self._application.produced)
        records = [self._encoded(event) for event in events]
        self._topics.extend(records)
        self._application.pipe_batch(records, commit_every=commit_every)
        produced = self._application.produced[before:]
        self._topics.extend(produced)
        self.result.commits.append([self._decoded(r) for r in produced if self._is_output(r)])

    def restart(self) -> None:
        """Closes the application and opens it again, its stores filled from their changelogs.

        The clocks of operators travel with the commits, as in the Spark runtime.
        """
        assert self._application.task is not None
        self._open_again(self._application.task.clocks())

    def crash(self, events: Sequence[Event]) -> None:
        """Processes a batch, and dies before it is committed: nobody sees anything of it."""
        assert self._application.task is not None
        clocks = self._application.task.clocks()
        self._application.pipe_batch([self._encoded(event) for event in events])
        self._open_again(clocks)

    def go_on(
        self, events: Sequence[Event], changes: Sequence[ProducedRecord], clocks: Any
    ) -> None:
        """Begins with what others have made of these events: changelogs and clocks."""
        self._topics = [*map(self._encoded, events), *changes]
        self._open_again(clocks)

    def _open_again(self, clocks: Any) -> None:
        self._application.close()
        self._application = application = self._open()
        for name, store in application.stores.items():
            topic = application.graph.source_changelogs.get(
                name, application.settings.changelog_topic(name)
            )
            store.restore([(r.key, r.value, r.timestamp) for r in self._topics if r.topic == topic])
        assert application.task is not None
        application.task.set_clocks(clocks)

    def contents(self) -> Contents:
        """What is in the stores, but for windows past their retention, which may linger."""
        newest = max((record.timestamp for record in self._topics), default=0)
        specs = self._application.graph.stores
        return {
            name: _contents(store, newest - specs[name].retention_ms)
            for name, store in self._application.stores.items()
        }

    def close(self) -> Result:
        self.result.stores = self.contents()
        self._application.close()
        return self.result

    def _is_output(self, record: ProducedRecord) -> bool:
        return not self._application.is_internal_topic(record.topic)

    def _encoded(self, event: Event) -> InputRecord:
        key, value = self._serdes.of_input(event.topic)
        return InputRecord(
            event.topic,
            key.serialize(event.topic, event.key),
            value.serialize(event.topic, event.value),
            event.timestamp,
        )

    def _decoded(self, record: ProducedRecord) -> Written:
        key, value = self._serdes.of_output(record.topic)
        return Written(
            record.topic,
            key.deserialize(record.topic, record.key),
            value.deserialize(record.topic, record.value),
            record.timestamp,
        )


def for_each(builds: list[Build]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("build", builds, ids=lambda build: build.__name__)


def read_by(build: Build, events: list[Event]) -> list[Event]:
    """Leaves out the second topic where the topology reads only one."""
    return [event for event in events if event.topic == "in" or build in TWO_TOPICS]


def run(
    build: Build,
    events: Sequence[Event],
    *,
    batch_sizes: Sequence[int] = (1,),
    cache_bytes: int = 0,
    commit_every: int = sys.maxsize,
    on_disk: bool = False,
) -> Result:
    """Runs the whole stream in batches of these sizes, over and over."""
    application = Run(build, cache_bytes=cache_bytes, on_disk=on_disk)
    for batch in cut(events, batch_sizes):
        application.pipe(batch, commit_every=commit_every)
    return application.close()


def cut(events: Sequence[Event], sizes: Sequence[int]) -> Iterator[list[Event]]:
    """Cuts the events into batches of these sizes, over and over."""
    rest, size = iter(events), cycle(sizes)
    while batch := list(islice(rest, next(size))):
        yield batch


def _is_timed(entry: Any) -> bool:
    return isinstance(entry, tuple) and isinstance(entry[1], ValueAndTimestamp)


def _contents(store: Any, oldest: int) -> list[Any]:
    if store.kind is StoreKind.TIME_ORDERED_BUFFER:
        return [store.num_records, store.min_timestamp]
    if store.kind is StoreKind.SESSION:
        entries = list(store.fetch_range(None, None))
        return [entry for entry in entries if entry[0].window.end > oldest]
    entries = list(store.all())
    if store.kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW):
        return [entry for entry in entries if entry[0].window.start > oldest]
    return entries
