"""What SQL asks of Kafka Connect: a protocol, and its answers as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.model.secrets import HIDDEN, all_shown

CLASS = "connector.class"
RUNNING = "RUNNING"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector as it was created. ``type`` is ``source``, ``sink`` or ``unknown``."""

    name: str
    type: str
    config: Mapping[str, str]
    #: The numbers of its tasks.
    tasks: tuple[int, ...] = ()

    @property
    def class_name(self) -> str:
        return self.config.get(CLASS, "")

    def masked(self, secret: frozenset[str] = frozenset()) -> ConnectorInfo:
        """Return the connector without secrets; ``secret`` adds to those found by their names."""
        config = {
            name: HIDDEN if name in secret and value else value
            for name, value in all_shown(self.config).items()
        }
        return ConnectorInfo(self.name, self.type, config, self.tasks)


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of one task; ``trace`` says why it failed."""

    id: int
    state: str
    worker_id: str = ""
    trace: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The states of a connector and its tasks, as Connect reports them."""

    name: str
    state: str
    type: str = "unknown"
    worker_id: str = ""
    trace: str = ""
    tasks: tuple[TaskState, ...] = ()

    @property
    def summary(self) -> str:
        """Return the state as ksqlDB writes it, such as ``RUNNING (1/1 tasks RUNNING)``."""
        if self.state != RUNNING:
            return self.state
        running = sum(task.state == RUNNING for task in self.tasks)
        word = "WARNING" if self.tasks and not running else RUNNING
        return f"{word} ({running}/{len(self.tasks)} tasks RUNNING)"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A class of connectors that a worker has; ``type`` is ``source`` or ``sink``."""

    class_name: str
    type: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of Connect's check of a configuration, before it is used.

    ``errors`` has the errors by property. ``secret`` has the properties whose values the connector
    itself declares to be passwords.
    """

    errors: Mapping[str, tuple[str, ...]]
    secret: frozenset[str] = frozenset()


class Connectors(Protocol):
    """The connectors that there are. Every method raises ``ConnectError`` if it is refused."""

    def connectors(self) -> list[str]:
        """Return the names of all connectors."""

    def describe(self, name: str) -> ConnectorInfo: ...

    def status(self, name: str) -> ConnectorState: ...

    def topics(self, name: str) -> list[str]:
        """Return the topics that a connector has used so far."""

    def delete(self, name: str) -> None:
        """Delete a connector.

        Raises:
            UnknownConnectorError: there is none of that name.
        """


def connector_info(answer: Mapping[str, Any]) -> ConnectorInfo:
    """Read a connector from Connect's JSON."""
    config = {name: str(value) for name, value in (answer.get("config") or {}).items()}
    tasks = tuple(int(task["task"]) for task in answer.get("tasks") or ())
    return ConnectorInfo(str(answer["name"]), str(answer.get("type") or "unknown"), config, tasks)


def connector_state(answer: Mapping[str, Any]) -> ConnectorState:
    """Read the states of a connector from Connect's JSON."""
    own = answer.get("connector") or {}
    tasks = tuple(
        TaskState(
            int(task["id"]), str(task["state"]), str(task.get("worker_id") or ""),
            str(task.get("trace") or ""),
        )
        for task in answer.get("tasks") or ()
    )  # fmt: skip
    return ConnectorState(
        str(answer["name"]), str(own.get("state") or "UNASSIGNED"),
        str(answer.get("type") or "unknown"), str(own.get("worker_id") or ""),
        str(own.get("trace") or ""), tasks,
    )  # fmt: skip


def validation(answer: Mapping[str, Any]) -> Validation:
    """Read the result of a configuration check from Connect's JSON."""
    errors, secret = {}, set()
    for each in answer.get("configs") or ():
        value, definition = each.get("value") or {}, each.get("definition") or {}
        name = str(value.get("name") or definition.get("name") or "")
        if value.get("errors"):
            errors[name] = tuple(str(error) for error in value["errors"])
        if definition.get("type") == "PASSWORD":
            secret.add(name)
    return Validation(errors, frozenset(secret))


class Connect(Connectors, Protocol):
    """A Kafka Connect cluster, which can also make connectors."""

    def plugins(self) -> list[Plugin]: ...

    def validate(self, class_name: str, config: Mapping[str, str]) -> Validation: ...

    def create(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Create a connector.

        Raises:
            ConnectorExistsError: there is one of that name.
        """
