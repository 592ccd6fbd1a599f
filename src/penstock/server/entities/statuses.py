"""The outcome of a statement that changed something, as an entity."""

from __future__ import annotations

from typing import Any

from penstock.server.commands.status import CommandStatus
from penstock.server.entities.listings import Entity, entity


def command_status(status: CommandStatus) -> dict[str, Any]:
    """Return a status as ``/status`` and ``/ksql`` show it."""
    return {"status": status.status, "message": status.message, "queryId": status.query_id}


def current_status(sql: str, command_id: str, status: CommandStatus, sequence: int) -> Entity:
    """Return the answer to a statement that went through the command topic."""
    return entity(
        "currentStatus", sql,
        commandId=command_id, commandStatus=command_status(status), commandSequenceNumber=sequence,
    )  # fmt: skip
