"""The table of all metrics at the end of their page, from an application that has all of them."""

from __future__ import annotations

from penstock.model.metric import Metric
from penstock.runtime.spark.driver.observing.metrics import all_metrics
from penstock.runtime.spark.exchange.stage_request import Restore
from penstock.serving.prometheus import metric_family
from penstock.state.engine.rocks import PROPERTIES
from penstock.state.engine.rocks_statistics import STATISTICS
from tests.docs.pages import DOCS
from tests.unit.runtime.test_metrics import facts

PAGE = DOCS / "reference" / "metrics.md"
MARKER = "<!-- every metric: make docs writes what follows -->\n"
HEADING = """\
## Every metric

| Group | Metric | In Prometheus | Meaning |
|---|---|---|---|
"""


def render() -> str:
    """Return the page: its own text, and the table of every metric."""
    text = PAGE.read_text(encoding="utf-8").partition(MARKER)[0].rstrip("\n")
    rows = dict.fromkeys(_row(metric) for metric in known_metrics())
    return f"{text}\n\n{MARKER}{HEADING}{''.join(rows)}"


def known_metrics() -> list[Metric]:
    """Return every metric, each at least once: of an application in which everything happens."""
    restoring = (Restore("s", "t", 1, 0, 100, 40, 40),)
    metrics = all_metrics(facts(is_detailed=True, restoring=restoring))
    # Those of sensors have names that their programs give.
    metrics = [metric for metric in metrics if metric.group != "stream-till-metrics"]
    (database,) = [metric for metric in metrics if metric.name == "estimate-num-keys"]
    return [
        each
        for metric in metrics
        for each in (
            [_of_database(name) for name in (*PROPERTIES, *STATISTICS)]
            if metric is database
            else [metric]
        )
    ]


def _of_database(name: str) -> Metric:
    text = f"RocksDB's {name.replace('-', ' ')}."
    return Metric(name, "stream-state-metrics", 0, {}, text)


def _row(metric: Metric) -> str:
    family = metric_family(metric)
    return f"| `{metric.group}` | `{metric.name}` | `{family}` | {metric.description} |\n"
