"""The Grafana dashboard and the alerts of Prometheus ask for metrics that exist."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from penstock.model.task_id import TaskId
from penstock.runtime.spark.driver.observing.metrics import all_metrics
from penstock.runtime.spark.exchange.measures import TaskMeasures
from penstock.serving.prometheus import metric_family
from penstock.state.engine.rocks import PROPERTIES
from tests.unit.runtime.test_metrics import facts

DEPLOY = Path(__file__).parents[3] / "deploy"
DASHBOARD = DEPLOY / "grafana" / "penstock.json"
RULES = DEPLOY / "prometheus" / "penstock.rules.yml"


def known_metrics() -> dict[str, set[str]]:
    """Return the labels of every metric."""
    measured = TaskMeasures(
        task=TaskId(0, 1), slot=0, cache_reads={"s": (1, 1)},
        databases={"s": dict.fromkeys(PROPERTIES, 1)}, record_batches={"a null": 1},
    )  # fmt: skip
    known: dict[str, set[str]] = {}
    for metric in all_metrics(facts(measures=(measured,), is_detailed=True)):
        labels = {tag.replace("-", "_") for tag in metric.tags} | {"value"}
        known.setdefault(metric_family(metric), set()).update(labels)
    return known


def test_every_panel_asks_for_known_metrics_and_labels() -> None:
    content = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    known = known_metrics()
    for panel in content["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            names = re.findall(r"kafka_\w+", target["expr"])
            assert names, target
            for name in names:
                assert name in known, f"{panel['title']}: {name}"
                used = re.findall(r"{{(\w+)}}", target["legendFormat"])
                used += re.findall(r"(\w+)=~", target["expr"])
                assert set(used) <= known[name], f"{panel['title']}: {name}"
    assert [variable["name"] for variable in content["templating"]["list"]] == [
        "datasource",
        "application",
    ]


def test_every_alert_asks_for_known_metrics_and_labels() -> None:
    """Also the labels by which it groups, and those of its text."""
    content: Any = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    (group,) = content["groups"]
    known = known_metrics()
    for rule in group["rules"]:
        names = set(re.findall(r"kafka_\w+", rule["expr"]))
        assert names, rule["alert"]
        assert names <= known.keys(), rule["alert"]
        labels = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        for grouped in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule["expr"]):
            labels |= {label.strip() for label in grouped.split(",")}
        assert labels <= set().union(*(known[name] for name in names)), rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
