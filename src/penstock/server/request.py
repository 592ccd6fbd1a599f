"""One request to ``/ksql``: check all its statements first, then run them one by one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from penstock.errors import PenstockError
from penstock.model.sql.errors import SqlError
from penstock.server.applying import PASSING, Written
from penstock.server.commands.command import Command
from penstock.server.commands.ids import command_id_of
from penstock.server.connectors import is_about_connectors
from penstock.server.created_topics import refuse_missing_topic
from penstock.server.entities.facts import Facts
from penstock.server.entities.listings import Entity, entity, listed
from penstock.server.entities.queries import plan_description, query_description
from penstock.server.entities.statuses import current_status
from penstock.server.errors import (
    AssertionFailedError,
    BadRequestError,
    BadStatementError,
    QueryEndpointError,
    ServerError,
)
from penstock.server.resolving import with_columns
from penstock.server.security.masking import blotted, masked
from penstock.server.security.roles import check_access
from penstock.serving.credentials import Access
from penstock.sql.analysed import Analysed, Planned
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.ast.queries import Query
from penstock.sql.ksql_settings import is_unknown_ksql
from penstock.sql.session import SqlSession
from penstock.sql.setting_names import layered
from penstock.sql.statements.explaining import warnings_of
from penstock.sql.syntax.parser import StatementText, split_statements

if TYPE_CHECKING:
    from penstock.server.node import ServerNode

T = TypeVar("T")
#: Work that yields the seconds to wait before its next step, and returns its result at the end.
Steps = Generator[float, None, T]

_SESSION = (admin.SetProperty, admin.UnsetProperty, admin.Define, admin.Undefine)
_LISTING = (admin.Show, admin.DescribeSource, admin.DescribeAll, admin.DescribeFunction)
_ROWS = (ast.InsertValues, ast.InsertRows, ast.DeleteFrom)
_ASSERTING = (ast.AssertTopic, ast.AssertSchema)
#: Statements whose result depends on the cluster at the moment they run.
_UNCHECKED = (*_LISTING, *_ASSERTING, ast.Explain)


class Request:
    """Run one script. Settings and variables that it changes are in force until its end."""

    def __init__(
        self,
        node: ServerNode,
        properties: Mapping[str, Any],
        variables: Mapping[str, str],
        access: Access,
    ) -> None:
        self._node, self._access = node, access
        try:
            self._properties = node.checked(properties)
        except SqlError as error:
            raise BadRequestError(error.code, error.message, error.fix) from None
        self._variables = {name.upper(): str(value) for name, value in variables.items()}

    def run(self, sql: str) -> Steps[list[Entity]]:
        """Check all statements, then run them; an error carries the entities before it.

        It yields when a statement has to wait for the cluster, so that no thread is held meanwhile.
        """
        self._node.refuse_if_ended()
        pieces = _pieces(sql)
        properties, variables = dict(self._properties), dict(self._variables)
        checked = self._checked(pieces)
        self._properties, self._variables = properties, variables
        entities: list[Entity] = []
        for each in checked:
            try:
                found = yield from self._executed(each)
            except ServerError as error:
                error.entities = [*entities, *error.entities]
                raise
            if found is not None:
                entities.append(found)
        self._warn(entities)
        return entities

    def _warn(self, entities: list[Entity]) -> None:
        problem = self._node.runner.problem
        if problem is not None:
            for each in entities:
                each["warnings"] = [*each["warnings"], {"message": problem.message}]

    # Checking

    def _checked(self, pieces: list[StatementText]) -> list[Analysed]:
        """Run the script on a copy of the catalog, so that a wrong script changes nothing.

        Return its statements, each with the variables that are in force where it stands.
        """
        if len(pieces) == 1:
            return [self._checked_alone(pieces[0])]
        session = self._session()
        is_checked = False
        checked: list[Analysed] = []
        for text in pieces:
            piece = self._allowed(text)
            checked.append(piece)
            statement = piece.statement
            if not self._has_trial(statement):
                continue
            if not is_checked and command_id_of(statement) is not None:
                self._learn_topics(session)
                is_checked = True
            session.catalog = self._tried(session, piece).catalog
            self._take_session(statement)
        return checked

    def _checked_alone(self, text: StatementText) -> Analysed:
        """Check the only statement of a request, and keep what a command will do."""
        piece = self._allowed(text)
        if not self._has_trial(piece.statement):
            return piece
        if command_id_of(piece.statement) is not None:
            return replace(piece, planned=self._planned(piece, self._node.runner.next_number))
        self._tried(self._session(), piece)
        self._take_session(piece.statement)
        return piece

    def _planned(self, piece: Analysed, number: int) -> Planned:
        base, session = self._node.engine.catalog, self._session()
        self._learn_topics(session)
        return Planned(base, number, self._tried(session, piece, number))

    def _allowed(self, text: StatementText) -> Analysed:
        """Parse a statement that its caller may send here."""
        piece = self._parsed(text)
        check_access(piece.statement, self._access, shown_text(piece.text))
        self._refuse_queries(piece)
        return piece

    def _has_trial(self, statement: Node) -> bool:
        """Return whether a statement is checked by running it on a copy of the catalog."""
        if isinstance(statement, _UNCHECKED) or is_about_connectors(statement):
            return False
        return not self._is_about_push(statement)

    def _refuse_queries(self, piece: Analysed) -> None:
        statement = piece.statement
        if isinstance(statement, Query | admin.PrintTopic):
            raise QueryEndpointError(
                "query-endpoint",
                "SELECT and PRINT are for the endpoints /query and /query-stream",
                fix="send the statement to /query",
                statement=shown_text(piece.text),
            )
        if isinstance(statement, admin.RunScript):
            raise BadStatementError(
                "run-script",
                "RUN SCRIPT reads a file of the client, and the server has none",
                fix="send the statements of the script",
                statement=shown_text(piece.text),
            )

    def _parsed(self, piece: StatementText) -> Analysed:
        try:
            with self._node.planning:
                return Analysed.of(piece.text, self._variables)
        except SqlError as error:
            raise _refused(error.with_source(piece.text), piece) from None

    def _tried(self, session: SqlSession, piece: Analysed, number: int | None = None) -> Any:
        before = session.catalog
        try:
            with self._node.planning:
                trial = session.trial_of(piece, number=number)
            self._node.topic_rules.check(before, trial, self._access)
            if self._node.cluster is not None:
                refuse_missing_topic(piece.statement, before, trial)
        except PenstockError as error:
            raise _refused(error, piece) from None
        return trial

    def _session(self) -> SqlSession:
        return self._node.engine.session(self._properties, self._variables)

    def _learn_topics(self, session: SqlSession) -> None:
        if self._node.cluster is not None:
            session.catalog.topics.update(self._node.cluster.partitions())

    # Running

    def _executed(self, piece: Analysed) -> Steps[Entity | None]:
        statement = piece.statement
        if isinstance(statement, _ASSERTING):
            return (yield from self._asserted(statement, piece))
        return self._at_once(piece)

    def _at_once(self, piece: Analysed) -> Entity | None:
        """Run a statement that needs only one step."""
        statement = piece.statement
        shown = shown_text(piece.text)
        if isinstance(statement, _SESSION):
            self._tried(self._session(), piece)
            self._take_session(statement)
            return None
        if is_about_connectors(statement):
            return self._connector(piece)
        if self._is_about_push(statement):
            return self._ended_push(cast(admin.ControlQuery, statement), shown)
        if isinstance(statement, _LISTING):
            return self._guarded(piece, lambda: listed(statement, shown, self._facts()))
        if isinstance(statement, ast.Explain):
            return self._guarded(piece, lambda: self._explained(statement, shown))
        if isinstance(statement, _ROWS):
            trial = self._tried(self._session(), piece)
            self._guarded(piece, lambda: self._node.engine.settle(trial.outgoing))
            return None
        return self._distributed(piece)

    def _take_session(self, statement: Node) -> None:
        """Apply SET, UNSET, DEFINE and UNDEFINE to the statements after them."""
        match statement:
            case admin.SetProperty(name, value):
                # What the trial took with a warning changes nothing, also in later statements.
                known = None if is_unknown_ksql(name) else value
                self._properties |= self._node.checked({name: known})
            case admin.UnsetProperty(name):
                self._properties.pop(name, None)
            case admin.Define(name, value):
                self._variables[name.upper()] = value
            case admin.Undefine(name):
                self._variables.pop(name.upper(), None)
            case _:
                pass

    def _facts(self) -> Facts:
        session = self._session()
        return Facts(
            session.catalog,
            session.known_functions(),
            layered(self._node.options.settings, session.settings),
            self._node,
            self._properties,
        )

    def _guarded(self, piece: Analysed, work: Callable[[], T]) -> T:
        try:
            return work()
        except PenstockError as error:
            raise _refused(error, piece) from None

    def _explained(self, statement: ast.Explain, sql: str) -> Entity:
        facts = self._facts()
        if statement.query_id is not None:
            query = facts.catalog.queries.get(statement.query_id)
            if query is not None:
                described = query_description(query, facts)
                return entity("queryDescription", sql, queryDescription=described)
        session, asked = self._session(), statement.statement
        plan, topology = session.explained(statement)
        is_pull = isinstance(asked, Query) and asked.emit is None
        kind = "PERSISTENT" if plan.sink is not None else "PULL" if is_pull else "PUSH"
        described = plan_description(plan, topology, sql, kind)
        if isinstance(asked, Query) and is_pull:
            # How the rows are found comes first: it decides how long the answer takes.
            found = f" > [ PULL ] | {session.pull_way(asked)}\n"
            described["executionPlan"] = found + described["executionPlan"]
        warnings = [{"message": each} for each in warnings_of(plan.step)]
        return {
            **entity("queryDescription", sql, queryDescription=described),
            "warnings": warnings,
        }

    def _asserted(
        self, statement: ast.AssertTopic | ast.AssertSchema, piece: Analysed
    ) -> Steps[Entity]:
        shown = shown_text(piece.text)
        try:
            yield from self._session().pauses(statement, piece.text)
        except PenstockError as error:
            if error.code == "assertion-failed":
                raise AssertionFailedError(error.code, error.message, error.fix) from None
            raise _refused(error, piece) from None
        if isinstance(statement, ast.AssertTopic):
            return entity("assert_topic", shown, topicName=statement.name, exists=statement.exists)
        return entity(
            "assert_schema", shown,
            subject=statement.subject, id=statement.schema_id, exists=statement.exists,
        )  # fmt: skip

    def _connector(self, piece: Analysed) -> Entity:
        connectors = self._node.connectors
        if connectors is None:
            raise BadStatementError(
                "no-connect",
                "there is no Kafka Connect to run connectors",
                fix="set ksql.connect.url",
                statement=shown_text(piece.text),
            )
        shown, facts = shown_text(piece.text), self._facts()
        return self._guarded(piece, lambda: connectors.execute(piece.statement, shown, facts))

    # Push queries

    def _is_about_push(self, statement: Node) -> bool:
        """Return whether a statement ends a push query, which only this node knows."""
        if not isinstance(statement, admin.ControlQuery) or statement.action != "TERMINATE":
            return False
        return self._push_id(statement) is not None

    def _push_id(self, statement: admin.ControlQuery) -> str | None:
        """Return the id of a push query; as in ksqlDB its letters may have any case."""
        wanted = (statement.query_id or "").upper()
        return next((each for each in self._node.push_queries() if each.upper() == wanted), None)

    def _ended_push(self, statement: admin.ControlQuery, sql: str) -> Entity:
        query_id, transient = self._push_id(statement) or "", self._node.transient
        is_ended = transient is not None and transient.end(query_id)
        return entity("terminate_query", sql, queryId=query_id, wasTerminated=is_ended)

    # Commands

    def _distributed(self, piece: Analysed) -> Entity:
        """Write a command, after the statement was checked against all commands before it."""
        statement = piece.statement
        command_id = command_id_of(statement)
        if command_id is None:
            raise BadStatementError(
                "not-supported",
                f"{type(statement).__name__} cannot be run here",
                statement=shown_text(piece.text),
            )
        node, shown = self._node, shown_text(piece.text)
        node.runner.refuse_if_degraded()
        found: list[str] = []

        def prepare(number: int) -> Written | None:
            planned = piece.planned
            if planned is None or not planned.holds(node.engine.catalog, number):
                planned = self._planned(piece, number)
            trial = planned.trial
            if trial.results[0].kind == "exists":
                found.append(trial.results[0].message)
                return None
            self._guarded(piece, lambda: self._make_way(trial))
            command = Command(
                id=command_id,
                statement=with_columns(statement, trial.catalog, piece.text),
                properties=dict(self._properties),
                variables=dict(self._variables),
                topics=_touched(statement, trial.catalog),
                number=number,
            )
            return Written(command, replace(piece, planned=planned))

        done = node.submit(prepare)
        if done is None:
            return entity("warning_entity", shown, message=found[-1])
        sequence, command, status = done
        if isinstance(statement, admin.ControlQuery) and statement.action == "RESUME":
            node.supervisor.retry(statement.query_id)
        if status.status == "ERROR":
            raise BadStatementError("command-failed", status.message, statement=shown)
        return current_status(shown, command.id, status, sequence)

    def _make_way(self, trial: Any) -> None:
        """Make topics and register schemas, before any node starts to use them."""
        self._node.engine.register(trial)
        if self._node.cluster is not None:
            self._node.cluster.make_topics(trial.catalog)


def _touched(statement: Node, catalog: Any) -> dict[str, int]:
    """Return the partitions of the topic that a statement creates a stream or table over."""
    if not isinstance(statement, ast.CreateSource | ast.CreateAsSelect):
        return {}
    source = catalog.sources.get(statement.name)
    if source is None or source.topic not in catalog.topics:
        return {}
    return {source.topic: catalog.topics[source.topic]}


def _pieces(sql: str) -> list[StatementText]:
    try:
        pieces = list(split_statements(sql))
    except SqlError as error:
        error = error.pointing_into(blotted(sql))
        raise BadStatementError(error.code, str(error), statement=blotted(sql)) from None
    if not pieces:
        raise BadRequestError("no-statement", "the request has no statement", fix="send one")
    return pieces


def _refused(error: PenstockError, piece: StatementText | Analysed) -> ServerError:
    """Return the error of one statement as clients get it: ksqlDB's code, our text."""
    # Secrets become stars of the same length, since the error names a line and column of the text.
    shown = _ended(blotted(piece.text))
    if isinstance(error, ServerError):
        error.statement = error.statement or shown
        return error
    if isinstance(error, SqlError) and error.source is not None:
        error = error.pointing_into(blotted(error.source))
    kind = ServerError if error.code in PASSING else BadStatementError
    return kind(error.code, str(error), statement=shown)


def shown_text(sql: str) -> str:
    """Return a statement as entities and errors show it: secrets masked, with its semicolon."""
    return _ended(masked(sql))


def _ended(sql: str) -> str:
    return f"{sql.rstrip().removesuffix(';')};"
