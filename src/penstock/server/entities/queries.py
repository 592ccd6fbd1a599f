"""Persistent queries as entities: SHOW QUERIES, and what DESCRIBE and EXPLAIN tell of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.model.secrets import all_shown
from penstock.server.entities.facts import Facts, Statuses
from penstock.server.entities.schemas import field_infos
from penstock.server.security.masking import masked
from penstock.sql.catalog.catalog import PersistentQuery
from penstock.sql.planner.plan import QueryPlan, steps_of
from penstock.sql.statements.explaining import explained_step
from penstock.topology.topology import Topology


def running_query(query: PersistentQuery, facts: Facts) -> dict[str, Any]:
    """Return one line of SHOW QUERIES."""
    statuses = facts.node.statuses(query.id)
    sink = query.plan.sink
    return {
        "queryString": masked(query.sql),
        "sinks": [] if query.sink is None else [query.sink],
        "sinkKafkaTopics": [] if sink is None else [sink.topic],
        "id": query.id,
        "statusCount": dict(sorted(Counter(statuses.values()).items())),
        "queryType": "PERSISTENT",
        "state": aggregate_status(statuses),
    }


def push_query(query_id: str, sql: str) -> dict[str, Any]:
    """Return one line of SHOW QUERIES for a push query of this node."""
    return {
        "queryString": masked(sql),
        "sinks": [],
        "sinkKafkaTopics": [],
        "id": query_id,
        "statusCount": {"RUNNING": 1},
        "queryType": "PUSH",
        "state": "RUNNING",
    }


def aggregate_status(statuses: Statuses) -> str:
    """Return one status for a query on all hosts; ERROR on one host wins, so that it is noticed."""
    found = set(statuses.values())
    return next((each for each in ("ERROR", "RUNNING", "PAUSED") if each in found), "RUNNING")


def query_description(query: PersistentQuery, facts: Facts) -> dict[str, Any]:
    """Return what SHOW QUERIES EXTENDED and EXPLAIN tell of a query."""
    described = plan_description(query.plan, query.topology, query.sql)
    statuses = facts.node.statuses(query.id)
    return {
        **described,
        "ksqlHostQueryStatus": dict(statuses),
        "queryErrors": [
            {
                "timestamp": failure.time_ms,
                "errorMessage": failure.message,
                "type": failure.error_class,
                "queryId": query.id,
            }
            for failure in facts.node.failures(query.id)
        ],
        "consumerGroupId": facts.node.application_id(query.id),
        "state": aggregate_status(statuses),
    }


def plan_description(
    plan: QueryPlan, topology: Topology, sql: str, query_type: str = "PERSISTENT"
) -> dict[str, Any]:
    """Return the description of a plan, whether it runs or not."""
    sink = plan.sink
    window = None if sink is None or sink.window is None else sink.window.kind
    return {
        "id": plan.id,
        "statementText": masked(sql),
        "windowType": window,
        "fields": field_infos(plan.columns if sink is None else sink.schema.columns),
        "sources": sorted({source.name for source in plan.sources}),
        "sinks": [] if sink is None else [sink.name],
        "topology": str(topology.describe()),
        "executionPlan": _execution_plan(plan),
        "overriddenProperties": _overridden(plan),
        "ksqlHostQueryStatus": {},
        "queryType": query_type,
        "queryErrors": [],
        "tasksMetadata": [],
        "consumerGroupId": None,
        "state": None,
    }


def _overridden(plan: QueryPlan) -> dict[str, str]:
    """Return what SET has changed for a query; the server's own settings are not shown."""
    return all_shown({n: value for n, value in plan.settings if n in plan.own_settings})


def _execution_plan(plan: QueryPlan) -> str:
    """Write one line per step, the last step first, as ksqlDB does."""
    steps = [explained_step(step) for step in steps_of(plan.step)]
    lines = []
    for depth, (name, kind, does, columns) in enumerate(reversed(steps)):
        lines.append(f"{'  ' * depth} > [ {kind.upper()} ] | Schema: {columns} | {name}: {does}\n")
    return "".join(lines)
