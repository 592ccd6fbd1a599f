"""What the server measures, under ksqlDB's names."""

from __future__ import annotations

from collections import Counter

from penstock.model.metric import Metric
from penstock.server.commands.runner import RunnerState
from penstock.server.node import ServerNode

_ENGINE = "ksql-engine-query-stats"
_RUNNER = "ksql-rest-app-command-runner"
_QUERY = "ksql-queries"


def node_metrics(node: ServerNode) -> list[Metric]:
    """Return the metrics of a node: its queries, its command topic, and what others add."""
    tags = {"ksql_service_id": node.options.service_id}
    statuses = node.own_statuses()
    counts = Counter(statuses.values())
    found = [
        Metric("num-persistent-queries", _ENGINE, len(statuses), tags, "Persistent queries."),
        Metric("status-num", _RUNNER, _number(node.runner.state), tags, "0: running, 2: degraded."),
        Metric("status", _RUNNER, node.runner.state.value, tags, "State of the command topic."),
        Metric(
            "command-sequence-number", _RUNNER, node.runner.sequence, tags,
            "Sequence number of the last command that was run.",
        ),
        Metric("num-commands", _RUNNER, len(node.runner.statuses.all()), tags, "Known commands."),
        Metric(
            "alive-hosts", _ENGINE,
            1 + sum(is_alive for _, is_alive in node.hosts.reports().values()), tags,
            "Servers of this service that are alive.",
        ),
    ]  # fmt: skip
    for status in ("RUNNING", "PAUSED", "ERROR"):
        name = f"{status.lower()}-queries"
        text = f"Persistent queries that are {status}."
        found.append(Metric(name, _ENGINE, counts.get(status, 0), tags, text))
    for query_id, restarts in node.supervisor.restarts().items():
        named = {**tags, "query_id": query_id}
        text = "How often the query was started again after a failure."
        found.append(Metric("query-restart-total", _QUERY, restarts, named, text))
        found.append(Metric("query-status", _QUERY, statuses.get(query_id, "ERROR"), named))
    return [*found, *(metric for source in node.metric_sources for metric in source())]


def _number(state: RunnerState) -> int:
    return {RunnerState.RUNNING: 0, RunnerState.STARTING: 1}.get(state, 2)
