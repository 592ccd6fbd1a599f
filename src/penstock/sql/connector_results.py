"""The results of statements about connectors. Other results: ``sql.results``."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.connect.connect import ConnectorInfo, ConnectorState, Plugin
from penstock.sql.ast.administration import DescribeConnector, Show
from penstock.sql.ast.statements import CreateConnector, DropConnector
from penstock.sql.results import StatementResult, TableResult

ConnectorStatement = CreateConnector | DropConnector | DescribeConnector | Show


@dataclass(frozen=True, slots=True)
class ConnectorRequest(StatementResult):
    """A statement to send to Kafka Connect once the whole script has been accepted."""

    statement: ConnectorStatement | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ConnectorCreated(StatementResult):
    """The outcome of CREATE CONNECTOR; secrets of ``connector`` are masked."""

    connector: ConnectorInfo | None = None


@dataclass(frozen=True, slots=True)
class ConnectorDropped(StatementResult):
    """The outcome of DROP CONNECTOR."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorWarning(StatementResult):
    """A statement that did nothing because of IF [NOT] EXISTS; ``message`` says why."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class ListedConnector:
    """One row of SHOW CONNECTORS. Class and state are None if Connect could not tell them."""

    name: str
    type: str
    class_name: str | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorList(TableResult):
    """The answer to SHOW CONNECTORS; ``warnings`` say what Connect did not tell."""

    connectors: tuple[ListedConnector, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConnectorPluginList(TableResult):
    """The answer to SHOW CONNECTOR PLUGINS."""

    plugins: tuple[Plugin, ...] = ()


@dataclass(frozen=True, slots=True)
class ConnectorDescription(TableResult):
    """The answer to DESCRIBE CONNECTOR; secrets of ``connector`` are masked."""

    connector: ConnectorInfo | None = None
    status: ConnectorState | None = None
    #: The topics that the connector has used so far.
    topics: tuple[str, ...] = ()
    #: The streams and tables over those topics.
    sources: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
