"""Passes as DataFrames: a shuffle to the tasks of a pass, a sort, and one Python call per task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

import cloudpickle
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.errors import PenstockError
from penstock.runtime.history.passes import Pass, PassPlan
from penstock.runtime.history.places import OWN_ORDER, placed
from penstock.runtime.history.rows import INPUT_SCHEMA, ORDER, PARTITION_BITS, PASSES
from penstock.runtime.history.task import Work, run_task
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.history.errors import portable

_INPUT = (
    "task int, input int, at long, tie long, source int, seq long, timestamp long, key binary,"
    " value binary, headers string"
)
#: What a pass returns; the meaning of the rows is in ``penstock.runtime.history.rows``.
OUTPUT = (
    "target int, name string, task int, at long, tie long, source int, seq long, timestamp long,"
    " key binary, value binary, headers string"
)


@dataclass
class Passes:
    """The frames of all passes of a plan, made when they are asked for."""

    plan: PassPlan
    works: tuple[Work, ...]
    #: The records of topics from outside; see ``inputs.RECORDS``.
    given: Mapping[str, DataFrame]
    #: Topics whose arrival is known for every record.
    with_arrival: frozenset[str]
    _frames: dict[int, DataFrame] = field(default_factory=dict)

    def frame(self, number: int) -> DataFrame:
        """Return what a pass returns. It is computed once for all who read it."""
        if number not in self._frames:
            found = self._run(self.works[number])
            if self._readers(number) > 1:
                found = found.persist()
            self._frames[number] = found
        return self._frames[number]

    def unpersist(self) -> None:
        """Let go of what was computed."""
        for frame in self._frames.values():
            frame.unpersist()

    def _readers(self, number: int) -> int:
        """Return how many results and other passes are made of what a pass returns."""
        work = self.works[number]
        others = sum(topic in each.inputs for topic in work.run.writes for each in self.works)
        results = len(work.targets) - len(work.run.writes)
        stores = [name for name in work.run.part.stores(work.graph) if work.wants(name)]
        return others + results + len(stores) + work.logs_changes

    def _run(self, work: Work) -> DataFrame:
        run = work.run
        frames = [self._input(work, number, topic) for number, topic in enumerate(work.inputs)]
        rows = reduce(DataFrame.unionByName, frames).repartitionById(run.tasks, "task")
        topics = self._to_place(work)
        if topics:
            place = _Place(topics, self._with_offsets(work), tracks_ties=work.tracks_ties)
            rows = rows.sortWithinPartitions(*OWN_ORDER).mapInArrow(place, _INPUT)
        if not topics or len(work.inputs) > 1:
            rows = rows.sortWithinPartitions(*ORDER)
        return rows.mapInArrow(_Run(packed(work)), OUTPUT)

    def _to_place(self, work: Work) -> dict[int, int]:
        """Return the inputs whose records get their places before they are sorted."""
        return {
            number: self.plan.input_topics.index(topic)
            for number, topic in enumerate(work.inputs)
            if topic in self.given
            if work.tracks_ties or (topic in work.with_offsets and topic not in self.with_arrival)
        }

    def _with_offsets(self, work: Work) -> frozenset[int]:
        found = enumerate(work.inputs)
        return frozenset(number for number, topic in found if topic in work.with_offsets)

    def _input(self, work: Work, number: int, topic: str) -> DataFrame:
        if topic in self.given:
            frame = self._from_outside(work, number, topic)
        else:
            frame = self._from_passes(number, topic)
        if number < len(work.run.global_topics):
            # Every task has a copy of global stores, so every task gets all of their records.
            tasks = sf.sequence(sf.lit(0), sf.lit(work.run.tasks - 1))
            frame = frame.withColumn("task", sf.explode(tasks))
        return frame.select(*INPUT_SCHEMA.names)

    def _from_outside(self, work: Work, number: int, topic: str) -> DataFrame:
        at = sf.col("at")
        if number not in self._to_place(work):
            at = sf.coalesce("at", "timestamp")
        source = sf.col("task").bitwiseOR(sf.lit(number << PARTITION_BITS))
        return self.given[topic].withColumns(
            {
                "input": sf.lit(number), "at": at, "tie": sf.lit(0).cast("long"),
                "source": source.cast("int"),
            }
        )  # fmt: skip

    def _from_passes(self, number: int, topic: str) -> DataFrame:
        parts = []
        for work in self.works:
            if topic in work.run.writes:
                target = work.targets.index(topic)
                rank = PASSES + work.run.number << PARTITION_BITS
                chosen = self.frame(work.run.number).where(sf.col("target") == target)
                parts.append(
                    chosen.withColumns(
                        {"input": sf.lit(number), "source": sf.col("source") + sf.lit(rank)}
                    )
                )
        return reduce(DataFrame.unionByName, parts)


class _Run:
    """Runs one task of a pass over its partition."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            work: Work = cloudpickle.loads(self._content)
            first = next((batch for batch in batches if batch.num_rows), None)
            if first is not None:
                task = first.column("task")[0].as_py()
                yield from run_task(work, task, _after(first, batches))
        except PenstockError as error:
            raise portable(error) from error


def _after(first: pa.RecordBatch, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from batches


class _Place:
    """Gives the records of one task their places."""

    def __init__(
        self, topics: Mapping[int, int], with_offsets: frozenset[int], *, tracks_ties: bool
    ) -> None:
        self._topics = topics
        self._with_offsets = with_offsets
        self._tracks_ties = tracks_ties

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from placed(
                self._topics, batches, tracks_ties=self._tracks_ties,
                with_offsets=self._with_offsets,
            )  # fmt: skip
        except PenstockError as error:
            raise portable(error) from error


__all__ = ["OUTPUT", "Pass", "Passes"]
