"""Runs one task over topics in memory: in one batch, or in batches that are cut anywhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest

from penstock.config import StreamsConfig
from penstock.kernel.clocks import Clocks
from penstock.kernel.columns.column_task import column_task
from penstock.kernel.operators.topics import source_columns as column_source
from penstock.kernel.raw_columns import RawColumns, columns_of
from penstock.kernel.record_queue import RawRecord
from penstock.kernel.stores import CollectorChangelog, TaskStores, task_store_specs
from penstock.kernel.task import StreamTask
from penstock.model.record import Headers
from penstock.model.task_id import TaskId
from penstock.runtime.settings import task_settings
from penstock.state.engine.memory import MemoryStore
from penstock.state.spec import StoreKind
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source

#: All records of every topic, which has one partition.
Topics = Mapping[str, Sequence[RawRecord]]
#: What was sent, without headers: those of dead letters name lines of code.
Sent = tuple[str, bytes | None, bytes | None, int]


@dataclass(frozen=True)
class Cuts:
    """Where batches end: by how many questions, and by how many records are handed over."""

    questions: Sequence[int]
    sizes: Sequence[int]


#: How many records of each topic, and the clocks.
Committed = tuple[dict[str, int], str]


class Collector:
    """Keeps what is sent, in order."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        partition: int | None = None,
    ) -> None:
        self.sent.append((topic, key, value, timestamp))

    def send_columns(
        self,
        topic: str,
        keys: Any,
        values: Any,
        timestamps: Any,
        headers: Any,
        partition: int | None = None,
    ) -> None:
        for key, value, time in zip(keys, values, timestamps, strict=True):
            self.send(topic, key, value, int(time), ())

    def partitions(self, topic: str) -> int:
        return 1


@dataclass
class Outcome:
    """All that two runs can be compared by."""

    sent: list[Sent]
    stores: dict[str, list[Any]]
    dropped: Counter[tuple[str, str]]
    clocks: Clocks
    #: By batch what was consumed, and the clocks after it.
    batches: list[Committed]
    over_columns: int

    @property
    def results(self) -> list[Sent]:
        """What was sent in order. Columns and the buffer of a suppress log at commits."""
        return [e for e in self.sent if e[0] != "dead" and not e[0].endswith("-changelog")]

    @property
    def letters(self) -> Counter[Sent]:
        """Dead letters: one is sent when its record is decoded, which is ahead of its turn."""
        return Counter(each for each in self.sent if each[0] == "dead")

    @property
    def by_key(self) -> dict[Any, list[Sent]]:
        """The results of each key in order: all that columns promise."""
        found: dict[Any, list[Sent]] = {}
        for each in self.results:
            found.setdefault(each[:2], []).append(each)
        return found

    @property
    def view(self) -> dict[Any, bytes]:
        """The last value of each key, also in changelogs: all that a cache promises."""
        last = {each[:2]: each[2] for each in self.sent if each[0] != "dead"}
        return {key: value for key, value in last.items() if value is not None}


class CutRun:
    """One task for the whole graph, which has no repartition topics."""

    def __init__(
        self,
        graph: Graph,
        *,
        extractor: str,
        cache_bytes: int = 0,
        vectorize: str = "off",
        on_processing: str = "continue",
    ) -> None:
        config = {
            "application.id": "app", "statestore.cache.max.bytes": cache_bytes,
            "deserialization.exception.handler": "continue",
            "processing.exception.handler": on_processing,
            "errors.dead.letter.queue.topic.name": "dead",
            "default.timestamp.extractor": extractor, "penstock.vectorize": vectorize,
        }  # fmt: skip
        settings = task_settings(StreamsConfig(config), emit_interval_ms=0)
        self._collector = collector = Collector()
        self._graph = graph
        self._stores = TaskStores(
            task_store_specs(graph, graph.nodes), settings=settings,
            engine=lambda store: MemoryStore(),
            changelog=lambda s: CollectorChangelog(collector, settings.changelog_topic(s), 0),
        )  # fmt: skip
        self.task = StreamTask(
            TaskId(0, 0), graph, graph.nodes, settings=settings, collector=collector,
            stores=self._stores, wall_clock=lambda: 0,
        )  # fmt: skip
        self.task.columns = column_task(self.task, graph.nodes)
        for name, node in graph.nodes.items():
            if isinstance(node, Source):
                for topic in node.topics:
                    self.task.add_queue(topic, name)

    @property
    def sent(self) -> list[Sent]:
        return self._collector.sent

    def run(self, topics: Topics, cuts: Cuts | None = None) -> Outcome:
        """Take every record of the topics through the task."""
        at, batches = dict.fromkeys(topics, 0), list[Committed]()
        questions = cycle([] if cuts is None else cuts.questions)
        sizes = cycle([2**63] if cuts is None else cuts.sizes)
        while any(at[topic] < len(records) for topic, records in topics.items()):
            inputs = [*_next(topics, at, sizes)]
            truncated = {t for t, given in inputs if at[t] + len(given) < len(topics[t])}
            stop = None if cuts is None else _at_question(next(questions))
            consumed = self.task.run_batch(inputs, truncated=truncated, stop=stop)
            assert sum(consumed.values()) > 0
            assert not self.task.has_records
            for topic, count in consumed.items():
                at[topic] += count
            batches.append((consumed, json.dumps(self.task.clocks())))
        return self._outcome(topics, batches)

    def repeat(self, topics: Topics, batches: list[Committed]) -> Outcome:
        """Take the batches of another run through the task, uncut, as after a crash."""
        at = dict.fromkeys(topics, 0)
        for consumed, clocks in batches:
            inputs = [*_next(topics, at, (consumed.get(topic, 0) for topic in topics))]
            self.task.run_batch(inputs)
            at = {topic: place + consumed.get(topic, 0) for topic, place in at.items()}
            self.task.set_clocks(json.loads(clocks))
        return self._outcome(topics, batches)

    def _outcome(self, topics: Topics, batches: list[Committed]) -> Outcome:
        newest = max((r.timestamp for records in topics.values() for r in records), default=0)
        columns = self.task.columns
        stores = {
            name: _contents(store, newest - self._graph.stores[name].retention_ms)
            for name, store in self._stores.own.items()
        }
        outcome = Outcome(
            self._collector.sent, stores, self.task.dropped_records, self.task.clocks(), batches,
            0 if columns is None else columns.batches,
        )  # fmt: skip
        self.task.close()
        return outcome


def small_pieces() -> Any:
    """Columns in pieces of a few records, so that small batches can be cut, too."""
    patches = pytest.MonkeyPatch()
    patches.setattr(column_source, "_PIECE", 4)
    patches.setattr(column_source, "_HURRIED_PIECE", 3)
    patches.setattr(column_source, "_FIRST_PIECE", 1)
    return patches


def _next(
    topics: Topics, at: Mapping[str, int], sizes: Iterator[int]
) -> Iterator[tuple[str, RawColumns]]:
    for topic, records in topics.items():
        given = records[at[topic] : at[topic] + next(sizes)]
        if given:
            yield topic, columns_of(topic, 0, given)


def _at_question(number: int) -> Any:
    """Answers true from this question on."""
    asked = iter(range(1, 2**63))
    return lambda: next(asked) >= number


def _contents(store: Any, oldest: int) -> list[Any]:
    if store.kind is StoreKind.TIME_ORDERED_BUFFER:
        return [store.num_records, store.min_timestamp]
    if store.kind is StoreKind.SESSION:
        return [e for e in store.fetch_range(None, None) if e[0].window.end > oldest]
    entries = list(store.all())
    if store.kind in (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW):
        return [entry for entry in entries if entry[0].window.start > oldest]
    return entries
