"""Run a topology over history in this process: passes, shuffles and tasks without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.model.partitioning import partition_for
from penstock.model.record import Headers
from penstock.runtime.history.passes import (
    Pass,
    PassPlan,
    looped_topics,
    plan_passes,
    with_topics,
    written_input,
)
from penstock.runtime.history.places import OWN_ORDER, placed
from penstock.runtime.history.rows import (
    INPUT_SCHEMA,
    ORDER,
    OTHER_TOPIC,
    OUTPUT_SCHEMA,
    PARTITION_BITS,
    PASSES,
    STORE_ROW,
    header_texts,
)
from penstock.runtime.history.task import Work, run_task
from penstock.topology.graph import Graph


class HistoryRecord(NamedTuple):
    """A record of a topic; its place among others is its arrival or, without it, its timestamp."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()
    partition: int | None = None
    offset: int | None = None
    arrival: int | None = None


@dataclass
class LocalHistory:
    """What came out: the rows of every pass, as tasks return them."""

    plan: PassPlan
    works: list[Work]
    tables: list[pa.Table] = field(default_factory=list)

    def rows(self, topic: str) -> list[dict[str, Any]]:
        """Return the records for a topic, in their order."""
        return self._sorted(self._of_topic(topic))

    def topics(self) -> list[str]:
        """Return the topics that records were written to, without those between passes."""
        found: dict[str, None] = {}
        for work, table in zip(self.works, self.tables, strict=True):
            for row in table.select(["target", "name"]).to_pylist():
                if row["target"] == OTHER_TOPIC:
                    found[row["name"]] = None
                elif row["target"] >= 0:
                    found[work.targets[row["target"]]] = None
        return list(found)

    def store_rows(self, store: str) -> list[dict[str, Any]]:
        return self.marked(STORE_ROW, store)

    def marked(self, kind: int, name: str | None = None) -> list[dict[str, Any]]:
        """Return the rows of a kind that are not records for a topic."""
        rows = [row for table in self.tables for row in table.to_pylist() if row["target"] == kind]
        return [row for row in rows if name is None or row["name"] == name]

    def _of_topic(self, topic: str) -> list[dict[str, Any]]:
        return [
            row
            for work, table in zip(self.works, self.tables, strict=True)
            for row in table.to_pylist()
            if (row["target"] == OTHER_TOPIC and row["name"] == topic)
            or (row["target"] >= 0 and work.targets[row["target"]] == topic)
        ]

    def _sorted(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows, key=lambda row: (row["at"], row["tie"], row["source"], row["seq"]))


def run_history(
    graph: Graph,
    config: Mapping[str, Any],
    records: Iterable[HistoryRecord],
    *,
    partitions: int = 1,
    clock_ms: int = 0,
    logs_changes: bool = False,
) -> LocalHistory:
    """Run a topology over records; all topics have the same number of partitions."""
    by_topic: dict[str, list[HistoryRecord]] = {}
    for record in records:
        by_topic.setdefault(record.topic, []).append(record)
    written = {*looped_topics(with_topics(graph, by_topic))}
    names = {topic for node in graph.nodes.values() for topic in getattr(node, "topics", ())}
    sizes = dict.fromkeys({*names, *by_topic}, partitions)
    plan = plan_passes(graph, sizes, by_topic)
    for topic in by_topic.keys() & written:
        raise written_input(topic)
    with_offsets = frozenset(
        topic for topic, some in by_topic.items() if all(each.offset is not None for each in some)
    )
    given = {topic: _table(by_topic.get(topic, ()), partitions) for topic in plan.input_topics}
    result = LocalHistory(plan, [])
    for each in plan.passes:
        work = Work(
            plan.graph, config, each, plan.written, with_offsets, plan.partitions, partitions,
            clock_ms,
            logs_changes=logs_changes, tracks_ties=plan.feeds_itself, on_disk=False,
        )  # fmt: skip
        table = _run_pass(work, each, given, result)
        result.works.append(work)
        result.tables.append(table)
    return result


def _run_pass(
    work: Work, run: Pass, given: Mapping[str, pa.Table], result: LocalHistory
) -> pa.Table:
    inputs: list[pa.Table] = []
    for number, topic in enumerate(work.inputs):
        table = given[topic] if topic in given else _written(result, topic)
        if topic in given:
            source = table["task"].to_numpy() | number << PARTITION_BITS
            table = _with(table, source=source)
        if number < len(run.global_topics):
            table = _for_all(table, run.tasks)
        inputs.append(_with(table, input=np.full(len(table), number, np.int32)))
    whole = pa.concat_tables([INPUT_SCHEMA.empty_table(), *inputs])
    topics = {
        number: result.plan.input_topics.index(topic)
        for number, topic in enumerate(work.inputs)
        if topic in given
    }
    batches: list[pa.RecordBatch] = []
    for task in range(run.tasks):
        mine = whole.filter(pa.compute.equal(whole["task"], task)).sort_by(_by(OWN_ORDER))
        found = placed(topics, mine.to_batches(), tracks_ties=work.tracks_ties)
        rows = pa.Table.from_batches(found, INPUT_SCHEMA).sort_by(_by(ORDER))
        batches += run_task(work, task, rows.to_batches())
    return pa.Table.from_batches(batches, OUTPUT_SCHEMA)


def _written(result: LocalHistory, topic: str) -> pa.Table:
    """Return what earlier passes have written to a topic, as input."""
    parts = []
    for work, table in zip(result.works, result.tables, strict=True):
        if topic in work.run.writes:
            chosen = table.filter(pa.compute.equal(table["target"], work.targets.index(topic)))
            zeros = np.zeros(len(chosen), np.int32)
            parts.append(_with(chosen, input=zeros, source=_ranked(work, chosen)))
    return pa.concat_tables([INPUT_SCHEMA.empty_table(), *parts])


def _ranked(work: Work, table: pa.Table) -> Any:
    return table["source"].to_numpy() + (PASSES + work.run.number << PARTITION_BITS)


def _with(table: pa.Table, **columns: Any) -> pa.Table:
    for name, values in columns.items():
        array = pa.array(values, INPUT_SCHEMA.field(name).type)
        where = table.schema.get_field_index(name)
        table = (
            table.append_column(name, array) if where < 0 else table.set_column(where, name, array)
        )
    return table.select(INPUT_SCHEMA.names).cast(INPUT_SCHEMA)


def _for_all(table: pa.Table, tasks: int) -> pa.Table:
    """Return the records of a global topic once for each task."""
    copies = [_with(table, task=np.full(len(table), task, np.int32)) for task in range(tasks)]
    return pa.concat_tables(copies)


def _table(records: Sequence[HistoryRecord], partitions: int) -> pa.Table:
    tasks = [_partition(each, partitions) for each in records]
    zeros = [0] * len(records)
    return pa.table(
        {
            "task": tasks, "input": zeros, "at": [each.arrival for each in records], "tie": zeros,
            "source": zeros, "seq": [each.offset or 0 for each in records],
            "timestamp": [each.timestamp for each in records],
            "key": [each.key for each in records], "value": [each.value for each in records],
            "headers": header_texts([each.headers for each in records]),
        },
        schema=INPUT_SCHEMA,
    )  # fmt: skip


def _partition(record: HistoryRecord, partitions: int) -> int:
    if record.partition is not None:
        return record.partition
    return partition_for(record.value or b"" if record.key is None else record.key, partitions)


def _by(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, "ascending") for name in names]
