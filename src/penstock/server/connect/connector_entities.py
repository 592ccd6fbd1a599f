"""Results of statements about connectors as ksqlDB's entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.connect.connect import ConnectorInfo, ConnectorState
from penstock.sql.connector_results import (
    ConnectorCreated,
    ConnectorDescription,
    ConnectorDropped,
    ConnectorList,
    ConnectorPluginList,
    ConnectorWarning,
)
from penstock.sql.results import StatementResult

Describe = Callable[[str], dict[str, Any]]


def connector_entity(result: StatementResult, describe: Describe | None = None) -> dict[str, Any]:
    """Return the result of a statement about connectors as ksqlDB's JSON.

    Args:
        result: The engine's result.
        describe: Returns the description of a stream or table by name, for DESCRIBE CONNECTOR.
    """
    match result:
        case ConnectorCreated(connector=ConnectorInfo() as connector):
            return _entity("connector_info", result, info=_info(connector))
        case ConnectorDropped(name=name):
            return _entity("drop_connector", result, connectorName=name)
        case ConnectorWarning():
            return _entity("warning_entity", result, message=result.message)
        case ConnectorList():
            listed = [
                {
                    "name": each.name, "type": each.type,
                    "className": each.class_name, "state": each.state,
                }
                for each in result.connectors
            ]  # fmt: skip
            return _entity("connector_list", result, result.warnings, connectors=listed)
        case ConnectorPluginList():
            plugins = [
                {"className": each.class_name, "type": each.type, "version": each.version}
                for each in result.plugins
            ]
            return _entity("connector_plugins_list", result, connectorsPlugins=plugins)
        case ConnectorDescription(connector=ConnectorInfo() as connector, status=status):
            assert status is not None
            sources = [] if describe is None else [describe(name) for name in result.sources]
            return _entity(
                "connector_description", result, result.warnings,
                connectorClass=connector.class_name, status=_state(status), sources=sources,
                topics=list(result.topics),
            )  # fmt: skip
        case _:
            raise TypeError(f"{result.kind!r} is not a result about connectors")


def _entity(
    kind: str, result: StatementResult, warnings: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    shown = [{"message": each} for each in warnings]
    return {"@type": kind, "statementText": result.sql, **more, "warnings": shown}


def _info(connector: ConnectorInfo) -> dict[str, Any]:
    tasks = [{"connector": connector.name, "task": number} for number in connector.tasks]
    return {
        "name": connector.name, "config": dict(connector.config), "tasks": tasks,
        "type": connector.type,
    }  # fmt: skip


def _state(status: ConnectorState) -> dict[str, Any]:
    return {
        "name": status.name,
        "connector": {
            "state": status.state, "worker_id": status.worker_id, "trace": status.trace or None,
        },
        "tasks": [
            {
                "id": task.id, "state": task.state, "worker_id": task.worker_id,
                "trace": task.trace or None,
            }
            for task in status.tasks
        ],
        "type": status.type,
    }  # fmt: skip
