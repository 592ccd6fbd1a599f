"""Statements that list, describe, print, stop or set something: no rows, no topology."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.sql.ast.node import Node

Listing = Literal[
    "PROPERTIES",
    "TOPICS",
    "ALL TOPICS",
    "STREAMS",
    "TABLES",
    "FUNCTIONS",
    "CONNECTORS",
    "SOURCE CONNECTORS",
    "SINK CONNECTORS",
    "CONNECTOR PLUGINS",
    "TYPES",
    "VARIABLES",
    "QUERIES",
]


@dataclass(frozen=True, slots=True)
class Show(Node):
    """``SHOW|LIST what [EXTENDED]``."""

    what: Listing
    is_extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeSource(Node):
    """``DESCRIBE name [EXTENDED]``."""

    name: str
    is_extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeAll(Node):
    """``DESCRIBE STREAMS|TABLES [EXTENDED]``."""

    what: Literal["STREAMS", "TABLES"]
    is_extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeFunction(Node):
    """``DESCRIBE FUNCTION name``."""

    name: str


@dataclass(frozen=True, slots=True)
class DescribeConnector(Node):
    """``DESCRIBE CONNECTOR name``."""

    name: str


@dataclass(frozen=True, slots=True)
class PrintTopic(Node):
    """``PRINT topic [FROM BEGINNING] [INTERVAL n] [LIMIT n]``."""

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ControlQuery(Node):
    """``TERMINATE|PAUSE|RESUME id|ALL``; ``query_id`` None means all."""

    action: Literal["TERMINATE", "PAUSE", "RESUME"]
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class SetProperty(Node):
    """``SET 'name' = 'value'``."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class UnsetProperty(Node):
    """``UNSET 'name'``."""

    name: str


@dataclass(frozen=True, slots=True)
class AlterSystem(Node):
    """``ALTER SYSTEM 'name' = 'value'``."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Define(Node):
    """``DEFINE name = 'value'``."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Undefine(Node):
    """``UNDEFINE name``."""

    name: str


@dataclass(frozen=True, slots=True)
class RunScript(Node):
    """``RUN SCRIPT 'path'``."""

    path: str


AdministrationStatement = (
    Show
    | DescribeSource
    | DescribeAll
    | DescribeFunction
    | DescribeConnector
    | PrintTopic
    | ControlQuery
    | SetProperty
    | UnsetProperty
    | AlterSystem
    | Define
    | Undefine
    | RunScript
)
