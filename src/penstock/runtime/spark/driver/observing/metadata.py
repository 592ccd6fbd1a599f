"""Figures of an application so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.config import CLIENT_ID, METRICS_RECORDING_LEVEL
from penstock.model.metric import Metric, MetricName
from penstock.runtime.spark.driver.observing.metrics import Facts, all_metrics
from penstock.runtime.states import State
from penstock.topology.describe import describe
from penstock.topology.nodes import Source as SourceNode

if TYPE_CHECKING:
    from penstock.config import StreamsConfig
    from penstock.runtime.spark.driver.application_run import ApplicationRun
    from penstock.runtime.spark.driver.life.leading import Leading


class LazyMetrics:
    """All metrics. They are collected from the slots when they are first read."""

    def __init__(self, collect: Callable[[], list[Metric]]) -> None:
        self._collect = collect
        self._found: dict[MetricName, Metric] | None = None

    def found(self) -> dict[MetricName, Metric]:
        if self._found is None:
            self._found = {metric.metric_name: metric for metric in self._collect()}
        return self._found


@dataclass(frozen=True, slots=True)
class ApplicationMetrics(Mapping[MetricName, Metric]):
    """Totals since the start, and a mapping of all metrics under Kafka Streams' names.

    ``dropped`` counts by node and reason.

    ``column_errors`` counts runs of tasks that went record at a time because of a fault in the
    column path, by kind and place in the code: results are right, but slower. The log has more.
    """

    state: State
    threads: int
    batches: int
    records: int
    records_sent: int
    changelog_records: int
    restored_records: int
    last_batch_seconds: float
    last_batch_records: int
    dropped: Mapping[tuple[str, str], int]
    lag: Mapping[tuple[str, int], int]
    column_errors: Mapping[str, int]
    _metrics: LazyMetrics = field(repr=False, compare=False)

    def __getitem__(self, name: MetricName) -> Metric:
        return self._metrics.found()[name]

    def __iter__(self) -> Iterator[MetricName]:
        return iter(self._metrics.found())

    def __len__(self) -> int:
        return len(self._metrics.found())

    def named(self, name: str, **tags: str) -> list[Metric]:
        """Return the metrics of a name: all of them, or those with these tags.

        A tag such as ``task-id`` is written ``task_id``.
        """
        wanted = {tag.replace("_", "-"): text for tag, text in tags.items()}
        return [
            metric
            for metric in self._metrics.found().values()
            if metric.name == name and wanted.items() <= metric.tags.items()
        ]

    @staticmethod
    def of(
        leading: Leading, config: StreamsConfig, state: State, threads: int
    ) -> ApplicationMetrics:
        progress = leading.runner.progress
        return ApplicationMetrics(
            state=state,
            threads=threads,
            batches=progress.batches,
            records=progress.records,
            records_sent=progress.sent,
            changelog_records=progress.logged,
            restored_records=progress.restored,
            last_batch_seconds=progress.last_batch_seconds,
            last_batch_records=progress.last_batch_records,
            dropped=dict(progress.dropped),
            # While Kafka cannot be reached, the lag is the last known one.
            lag=leading.lag() if progress.may_ask else leading.last_lag,
            column_errors=dict(progress.column_errors),
            _metrics=LazyMetrics(lambda: collected(leading, config, state, threads)),
        )


def collected(leading: Leading, config: StreamsConfig, state: State, threads: int) -> list[Metric]:
    """Collect all metrics; the lag is the one that was last asked for."""
    return all_metrics(_facts(leading, config, state, threads))


def _facts(leading: Leading, config: StreamsConfig, state: State, threads: int) -> Facts:
    application, runner = leading.application, leading.runner
    graph, progress = application.plan.graph, runner.progress
    return Facts(
        application_id=application.id,
        client_id=config[CLIENT_ID] or application.id,
        state=state,
        threads=threads,
        topology=str(describe(graph)),
        meter=runner.meter,
        measures=tuple(runner.measures()),
        restoring=() if state is State.RUNNING else tuple(runner.restoring()),
        sources={
            topic: name
            for name, node in graph.nodes.items()
            if isinstance(node, SourceNode)
            for topic in node.topics
        },
        lag=dict(leading.last_lag),
        dropped=dict(progress.dropped),
        column_errors=dict(progress.column_errors),
        sent=progress.sent,
        logged=progress.logged,
        reruns=progress.reruns,
        is_detailed=config[METRICS_RECORDING_LEVEL] != "INFO",
    )


def column_errors(run: ApplicationRun | None) -> dict[str, int]:
    """Return the faults in the column path so far; an application that has not run has none."""
    runner = None if run is None else run.runner
    return {} if runner is None else dict(runner.progress.column_errors)
