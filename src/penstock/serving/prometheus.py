"""Metrics in Prometheus' text format: Kafka's names with underscores, its tags as labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from penstock.model.metric import Metric

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_OTHER = re.compile(r"[^a-zA-Z0-9_]")


def metric_family(metric: Metric) -> str:
    """Return the name in Prometheus: the prefix ``kafka``, the group, the name.

    The group's ``-metrics`` is left out, as the usual exporters do.

    >>> metric_family(Metric("process-rate", "stream-task-metrics", 1.0))
    'kafka_stream_task_process_rate'
    """
    group = metric.group.removesuffix("-metrics")
    return _OTHER.sub("_", f"kafka_{group}_{metric.name}")


def to_prometheus(metrics: Iterable[Metric]) -> bytes:
    """Return the page of ``/metrics``.

    A text value is a label ``value`` of a series that is 1. Text of several lines, such as the
    description of the topology, is left out: ``/topology`` has it.
    """
    families: dict[str, list[Metric]] = {}
    for metric in metrics:
        if isinstance(metric.value, str) and "\n" in metric.value:
            continue
        families.setdefault(metric_family(metric), []).append(metric)
    lines = []
    for name, members in families.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        if members[0].description:
            lines.append(f"# HELP {name} {_help(members[0].description)}")
        lines.append(f"# TYPE {name} {kind}")
        lines += [_sample(name, metric) for metric in members]
    return "".join(f"{line}\n" for line in lines).encode()


def _sample(name: str, metric: Metric) -> str:
    labels = {_OTHER.sub("_", tag): text for tag, text in metric.tags.items()}
    value: float | str = metric.value
    if isinstance(value, str):
        labels["value"], value = value, 1
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")
