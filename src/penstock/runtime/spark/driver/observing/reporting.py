"""Hands the metrics of an application to the reporters of ``metric.reporters`` while it runs."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Mapping
from functools import partial

from penstock.config import METRIC_REPORT_INTERVAL_MS, StreamsConfig
from penstock.errors import PenstockError
from penstock.model.metric import Metric, MetricName
from penstock.processor.metrics import MetricsReporter
from penstock.runtime.settings import metrics_reporters

log = logging.getLogger(__name__)

#: How long the end of an application waits for its reporters.
_END_S = 3.0


class Reporting:
    """Compares the metrics with those of last time, in a thread, and tells what is different.

    Args:
        config: Has the reporters and the interval.
        collect: Returns all metrics; raises ``PenstockError`` while the application does not run.
    """

    def __init__(
        self, config: StreamsConfig, collect: Callable[[], Mapping[MetricName, Metric]]
    ) -> None:
        self._reporters = metrics_reporters(config)
        self._interval_s = config[METRIC_REPORT_INTERVAL_MS] / 1000
        self._collect = collect
        self._known: dict[MetricName, Metric] | None = None
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to report, if there are reporters."""
        if self._reporters:
            name = "penstock-metric-reporters"
            self._thread = threading.Thread(target=self._work, name=name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Report a last time and close the reporters; return at the latest after a few seconds."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(_END_S)

    def _work(self) -> None:
        while not self._ending.wait(self._interval_s):
            self._report()
        self._report()
        for reporter in self._reporters:
            _call(reporter.close)

    def _report(self) -> None:
        try:
            now = dict(self._collect())
        except PenstockError as error:
            log.debug("no metrics to report: %s", error)
            return
        before, self._known = self._known, now
        for reporter in self._reporters:
            if before is None:
                _call(partial(reporter.init, [*now.values()]))
            else:
                _tell(reporter, before, now)


def _tell(
    reporter: MetricsReporter, before: Mapping[MetricName, Metric], now: Mapping[MetricName, Metric]
) -> None:
    for name, metric in now.items():
        old = before.get(name)
        if old is None or not _is_same(old.value, metric.value):
            _call(partial(reporter.metric_change, metric))
    for name in before.keys() - now.keys():
        _call(partial(reporter.metric_removal, before[name]))


def _is_same(one: float | str, other: float | str) -> bool:
    both_are_nan = all(isinstance(each, float) and math.isnan(each) for each in (one, other))
    return both_are_nan or one == other


def _call(told: Callable[[], None]) -> None:
    try:
        told()
    except Exception:
        log.exception("a class of metric.reporters has failed")
