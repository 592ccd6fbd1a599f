"""CREATE, DROP, SHOW and DESCRIBE of connectors, through Kafka Connect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.connect.connect import CLASS, Connect, ConnectorInfo, Connectors, ConnectorState
from penstock.connect.errors import ConnectError, UnknownConnectorError
from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.administration import DescribeConnector, Show
from penstock.sql.ast.expressions import BooleanLiteral, NullLiteral
from penstock.sql.ast.statements import CreateConnector, DropConnector, Property
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.connector_results import (
    ConnectorCreated,
    ConnectorDescription,
    ConnectorDropped,
    ConnectorList,
    ConnectorPluginList,
    ConnectorRequest,
    ConnectorStatement,
    ConnectorWarning,
    ListedConnector,
)
from penstock.sql.results import StatementResult
from penstock.sql.syntax.masking import masked_connector
from penstock.sql.syntax.parser import split_statements

_UNKNOWN = "unknown"
#: Lets Connect make the topics of a source, with as many partitions and replicas as the broker
#: chooses. Without them, a broker that makes no topics by itself refuses the source's records.
_TOPIC_DEFAULTS = {
    "topic.creation.default.partitions": "-1",
    "topic.creation.default.replication.factor": "-1",
}
_ABOUT = re.compile(
    r"(?is)\s*(?:(?:--[^\n]*\n|/\*.*?\*/)\s*)*(?:CREATE|DROP|SHOW|LIST|DESCRIBE)\b[\s\w]*?\bCONNECTORS?\b"
)


def asks_connect(script: str) -> bool:
    """Return whether a script may have a statement about connectors, judged by its words.

    It may be true because of a column of that name, so it only decides whether to start a worker.
    """
    return any(_ABOUT.match(piece.text) for piece in split_statements(script))


def connector_request(statement: ConnectorStatement, sql: str) -> ConnectorRequest:
    """Check what can be checked without Kafka Connect, and keep the statement for later."""
    if isinstance(statement, CreateConnector):
        connector_config(statement)
        sql = masked_connector(statement)
    return ConnectorRequest("connector-request", sql, statement=statement)


def connector_config(statement: CreateConnector) -> dict[str, str]:
    """Return the configuration that Connect gets, with texts for all values.

    Raises:
        AnalysisError: ``no-connector-class``, or a property is given twice or is NULL.
    """
    config: dict[str, str] = {}
    for each in statement.properties:
        if each.name in config:
            raise AnalysisError(
                "duplicate-property", f"{each.name!r} is given twice", span=each.span
            )
        config[each.name] = _text(each)
    if not config.get(CLASS, "").strip():
        raise AnalysisError(
            "no-connector-class",
            f"connector {statement.name!r} does not say which class it is of",
            fix=_quoting(config) or f"add '{CLASS}' = '...'; SHOW CONNECTOR PLUGINS lists them",
            span=statement.span,
        )
    defaults = _TOPIC_DEFAULTS if statement.kind == "SOURCE" else {}
    return {**defaults, **config, "name": statement.name}


@dataclass(frozen=True, slots=True)
class ConnectorStatements:
    """Runs statements about connectors against a Kafka Connect.

    ``connect`` may start a worker. ``existing`` starts none unless there are connectors.
    """

    connect: Callable[[], Connect]
    existing: Callable[[], Connectors]
    sources: Mapping[str, DataSource]

    def check(self, statement: CreateConnector) -> None:
        """Refuse a connector that Connect would refuse, before any statement of a script is run.

        Raises:
            AnalysisError: ``connector-exists`` or ``connector-invalid``.
        """
        if self._exists(statement.name):
            if statement.if_not_exists:
                return
            raise AnalysisError(
                "connector-exists",
                f"there is a connector {statement.name!r} already",
                fix="drop it first, or write IF NOT EXISTS",
                span=statement.span,
            )
        config = connector_config(statement)
        self._check_plugin(statement, config[CLASS])
        found = self.connect().validate(config[CLASS], config)
        if found.errors:
            lines = [f"{name}: {' '.join(errors)}" for name, errors in found.errors.items()]
            secrets = [config[name] for name in found.secret if config.get(name)]
            raise AnalysisError(
                "connector-invalid",
                _without(f"connector {statement.name!r} is refused: " + "; ".join(lines), secrets),
                fix=_quoting(config) or "correct these properties",
                span=statement.span,
            )

    def run(self, statement: ConnectorStatement, sql: str) -> StatementResult:
        match statement:
            case CreateConnector():
                return self._create(statement, sql)
            case DropConnector():
                return self._drop(statement, sql)
            case DescribeConnector(name):
                return self._describe(name, sql)
            case Show("CONNECTOR PLUGINS"):
                return self._plugins(sql)
            case Show(what):
                return self._list(what.removesuffix("CONNECTORS").strip().lower(), sql)

    def _create(self, statement: CreateConnector, sql: str) -> StatementResult:
        name = statement.name
        if statement.if_not_exists and self._exists(name):
            return ConnectorWarning("warning", sql, f"Connector {name} already exists", name=name)
        config = connector_config(statement)
        made = self.connect().create(name, config)
        shown = made.masked(self._secret(made))
        return ConnectorCreated(
            "connector-created", sql, f"connector {name} created", connector=shown
        )

    def _drop(self, statement: DropConnector, sql: str) -> StatementResult:
        name = statement.name
        try:
            self.existing().delete(name)
        except UnknownConnectorError:
            if not statement.if_exists:
                raise
            message = f"Connector '{name}' does not exist."
            return ConnectorWarning("warning", sql, message, name=name)
        return ConnectorDropped("connector-dropped", sql, f"connector {name} dropped", name=name)

    def _list(self, scope: str, sql: str) -> ConnectorList:
        found, warnings = [], []
        connectors = self.existing()
        for name in connectors.connectors():
            try:
                info = connectors.describe(name)
            except ConnectError as error:
                warnings.append(f"Could not describe connector {name}: {error.message}")
                if not scope:
                    found.append(ListedConnector(name, _UNKNOWN))
                continue
            if scope in ("", info.type):
                found.append(self._listed(info, warnings))
        rows = tuple((each.name, each.type, each.class_name, each.state) for each in found)
        return ConnectorList(
            "connectors", sql, columns=("name", "type", "class", "state"), rows=rows,
            details={"warnings": warnings} if warnings else {},
            connectors=tuple(found), warnings=tuple(warnings),
        )  # fmt: skip

    def _listed(self, info: ConnectorInfo, warnings: list[str]) -> ListedConnector:
        try:
            state = self._status(info).summary
        except ConnectError as error:
            warnings.append(f"Could not tell the state of {info.name}: {error.message}")
            state = None
        return ListedConnector(info.name, info.type, info.class_name, state)

    def _plugins(self, sql: str) -> ConnectorPluginList:
        plugins = tuple(self.connect().plugins())
        rows = tuple((each.class_name, each.type, each.version) for each in plugins)
        return ConnectorPluginList(
            "connector-plugins", sql, columns=("class", "type", "version"), rows=rows,
            plugins=plugins,
        )  # fmt: skip

    def _describe(self, name: str, sql: str) -> ConnectorDescription:
        connectors = self.existing()
        info = connectors.describe(name)
        status = self._status(info)
        info, warnings = info.masked(self._secret(info)), []
        try:
            topics = tuple(connectors.topics(name))
        except ConnectError as error:
            topics = ()
            warnings.append(f"Could not list related topics: {error.message}")
        sources = tuple(each.name for each in self.sources.values() if each.topic in topics)
        details = {
            "name": info.name,
            "type": info.type,
            "class": info.class_name,
            "state": status.state,
            "worker": status.worker_id,
            "topics": list(topics),
            "sources": list(sources),
            "config": [f"{key} = {value}" for key, value in sorted(info.config.items())],
        }
        rows = tuple((task.id, task.state, task.worker_id, task.trace) for task in status.tasks)
        return ConnectorDescription(
            "connector", sql, columns=("task", "state", "worker", "error"), rows=rows,
            details=details, connector=info, status=status, topics=topics, sources=sources,
            warnings=tuple(warnings),
        )  # fmt: skip

    def _status(self, info: ConnectorInfo) -> ConnectorState:
        try:
            return self.existing().status(info.name)
        except UnknownConnectorError:
            # It was created a moment ago, and no worker has taken it yet.
            return ConnectorState(info.name, "UNASSIGNED", info.type)

    def _exists(self, name: str) -> bool:
        # As in ksqlDB, two connectors may not differ in case alone.
        return name.lower() in {each.lower() for each in self.connect().connectors()}

    def _check_plugin(self, statement: CreateConnector, class_name: str) -> None:
        known = {each.class_name: each.type for each in self.connect().plugins()}
        short = {name.rsplit(".", 1)[-1]: name for name in known}
        found = known.get(class_name) or known.get(short.get(class_name, ""))
        # A worker also takes the class without "Connector" at its end.
        found = found or known.get(short.get(f"{class_name}Connector", ""))
        if found is None:
            raise AnalysisError(
                "unknown-connector-class",
                f"Kafka Connect has no connector {class_name!r}",
                fix="install it with penstock connect install GROUP:ARTIFACT:VERSION and start"
                f" again; there are {', '.join(sorted(known)) or 'none'}",
                span=statement.span,
            )
        if found in ("source", "sink") and found != statement.kind.lower():
            raise AnalysisError(
                "wrong-connector-kind",
                f"{class_name} is a {found} connector, not a {statement.kind.lower()} connector",
                fix=f"write CREATE {found.upper()} CONNECTOR",
                span=statement.span,
            )

    def _secret(self, info: ConnectorInfo) -> frozenset[str]:
        """Return the properties that the connector itself declares to be secret."""
        try:
            return self.connect().validate(info.class_name, info.config).secret
        except ConnectError:
            # Its class may be gone. Then hide everything but the class.
            return frozenset(info.config) - {CLASS, "name"}


def _text(property_: Property) -> str:
    value = property_.value
    if isinstance(value, NullLiteral):
        raise AnalysisError(
            "bad-property", f"{property_.name!r} is NULL", fix="leave it out", span=property_.span
        )
    if isinstance(value, BooleanLiteral):
        return str(value.value).lower()
    return str(getattr(value, "value", ""))


def _quoting(config: Mapping[str, str]) -> str | None:
    """Advise to quote names, if one has no small letter: unquoted names are in capitals."""
    loud = [name for name in config if name.isupper()]
    if not loud:
        return None
    return f"put names in quotes: '{loud[0].lower()}' = ..., for unquoted ones are in capitals"


def _without(text: str, secrets: list[str]) -> str:
    for each in secrets:
        text = text.replace(each, "[hidden]")
    return text
