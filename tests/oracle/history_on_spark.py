"""Runs cases as history on Spark, through ``run_batch``: one session for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

import penstock as ps
from penstock.runtime.history.passes import looped_topics, with_topics
from penstock.runtime.history.rows import OUTPUT_SCHEMA
from penstock.runtime.local.history import HistoryRecord, LocalHistory
from penstock.runtime.spark.driver.session import spark_session
from penstock.runtime.spark.history.batch import run_batch
from penstock.runtime.spark.history.errors import as_raised
from penstock.runtime.spark.history.inputs import BatchInput
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source
from tests.oracle.cases import Case
from tests.oracle.history import check_history
from tests.oracle.report import Verdict, crash

_SCHEMA = (
    "key binary, value binary, timestamp long, partition int, arrival long,"
    " headers array<struct<key:string,value:binary>>"
)
_TIMEOUT_S = 300.0


def check_history_on_spark(cases: Sequence[Case]) -> Iterator[Verdict]:
    """Starts a session, and gives a verdict per case."""
    settings = {
        "application.id": "oracle", "spark.ui.enabled": "false", "spark.task.maxFailures": "1",
        "spark.master": "local[2]", "spark.log.level": "FATAL",
    }  # fmt: skip
    session, _ = spark_session(ps.StreamsConfig(settings))
    try:
        for index, case in enumerate(cases):
            yield _verdict(index, case, session)
    finally:
        session.stop()


def _verdict(index: int, case: Case, session: Any) -> Verdict:
    try:
        differences, reason = check_history(case, _TIMEOUT_S, run=SparkRun(session))
    except Exception as error:  # noqa: BLE001
        return Verdict(index, (crash(error),))
    return Verdict(index, tuple(differences), reason)


class SparkRun:
    """Runs history on Spark, and shows it as a run in this process does."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __call__(
        self,
        topology: ps.Topology,
        config: Mapping[str, Any],
        records: Sequence[HistoryRecord],
        *,
        clock_ms: int = 0,
        partitions: int = 1,
    ) -> LocalHistory:
        by_topic: dict[str, list[HistoryRecord]] = {}
        for record in records:
            by_topic.setdefault(record.topic, []).append(record)
        topics = _read(with_topics(topology.graph, by_topic))
        inputs = {topic: self._input(by_topic.get(topic, ())) for topic in topics}
        with run_batch(
            topology, inputs, self._session, config=config, wall_clock=clock_ms,
            num_partitions=partitions,
        ) as result, as_raised():  # fmt: skip
            passes = result._passes
            tables = [
                pa.table(passes.frame(number).toArrow()).cast(OUTPUT_SCHEMA)
                for number in range(len(passes.works))
            ]
            return LocalHistory(passes.plan, [*passes.works], tables)

    def _input(self, records: Sequence[HistoryRecord]) -> BatchInput:
        rows = [
            (r.key, r.value, r.timestamp, r.partition, r.arrival, list(r.headers) or None)
            for r in records
        ]
        frame = self._session.createDataFrame(rows, _SCHEMA)
        has_arrival = all(record.arrival is not None for record in records)
        has_partition = bool(records) and all(each.partition is not None for each in records)
        return BatchInput(
            frame, headers="headers", arrival="arrival" if has_arrival else None,
            partition="partition" if has_partition else None,
        )  # fmt: skip


def _read(graph: Graph) -> list[str]:
    written = looped_topics(graph)
    sources = [node for node in graph.nodes.values() if isinstance(node, Source)]
    topics = dict.fromkeys(topic for source in sources for topic in source.topics)
    return [t for t in topics if t not in written and t not in graph.internal_topics]
