"""Connectors as entities: what CREATE, DROP, SHOW and DESCRIBE of them give back."""

from __future__ import annotations

from typing import Any, cast

from penstock.connect.connect import ConnectorInfo, ConnectorState
from penstock.server.entities.facts import Facts
from penstock.server.entities.listings import Entity, entity
from penstock.server.entities.sources import source_description
from penstock.sql.connector_results import (
    ConnectorCreated,
    ConnectorDescription,
    ConnectorDropped,
    ConnectorList,
    ConnectorPluginList,
)
from penstock.sql.results import StatementResult


def connector_entity(result: StatementResult, sql: str, facts: Facts) -> Entity:
    """Return the outcome of a statement about connectors as clients read it."""
    match result:
        case ConnectorCreated(connector=ConnectorInfo() as info):
            return entity("connector_info", sql, info=_info(info))
        case ConnectorDropped(name=name):
            return entity("drop_connector", sql, connectorName=name)
        case ConnectorList(connectors=connectors, warnings=warnings):
            rows = [
                {"name": c.name, "type": c.type, "className": c.class_name, "state": c.state}
                for c in connectors
            ]
            return _warned(entity("connector_list", sql, connectors=rows), warnings)
        case ConnectorPluginList(plugins=plugins):
            found = [
                {"className": p.class_name, "type": p.type, "version": p.version} for p in plugins
            ]
            return entity("connector_plugins_list", sql, connectorsPlugins=found)
        case ConnectorDescription():
            return _description(result, sql, facts)
        case _:
            return entity("warning_entity", sql, message=result.message)


def _info(info: ConnectorInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [{"connector": info.name, "task": number} for number in info.tasks],
        "type": info.type,
    }


def _description(result: ConnectorDescription, sql: str, facts: Facts) -> Entity:
    info, status = cast(ConnectorInfo, result.connector), cast(ConnectorState, result.status)
    sources = [
        source_description(facts.catalog.sources[name], facts)
        for name in result.sources
        if name in facts.catalog.sources
    ]
    made = entity(
        "connector_description", sql,
        connectorClass=info.class_name, status=_status(status), sources=sources,
        topics=list(result.topics),
    )  # fmt: skip
    return _warned(made, result.warnings)


def _status(status: ConnectorState) -> dict[str, Any]:
    whole = {"state": status.state, "worker_id": status.worker_id, "trace": status.trace}
    tasks = [
        {"id": t.id, "state": t.state, "worker_id": t.worker_id, "trace": t.trace}
        for t in status.tasks
    ]
    return {"name": status.name, "connector": whole, "tasks": tasks, "type": status.type}


def _warned(made: Entity, warnings: tuple[str, ...]) -> Entity:
    return {**made, "warnings": [{"message": text} for text in warnings]}
