"""Apply a command to the catalog. The effect is the same on every node."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import orjson

from penstock.errors import PenstockError
from penstock.model.secrets import shown
from penstock.server.commands.command import Command
from penstock.server.commands.ids import TERMINATE_CLUSTER
from penstock.server.commands.status import CommandStatus
from penstock.sql.analysed import Analysed
from penstock.sql.ast import administration as admin
from penstock.sql.ast import statements as ast
from penstock.sql.ast.node import Node
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.catalog.schema_inference import registered_subjects
from penstock.sql.engine import SqlEngine
from penstock.sql.functions.regex.java_regex import java_pattern
from penstock.sql.results import DeletedTopic, StatementResult
from penstock.sql.session import SqlSession
from penstock.sql.trial import Trial

DELETE_TOPICS = "deleteTopicList"
#: Codes for a registry or cluster that does not answer. The command may succeed on a retry.
PASSING = frozenset({"registry-unavailable", "broker-unreachable", "kafka-not-ready"})
_PAUSE_S = 1.0
_ATTEMPTS = 60


@dataclass(frozen=True, slots=True)
class CommandEffect:
    """The catalog after a command, and what the node that wrote the command still has to do."""

    status: CommandStatus
    catalog: Catalog
    #: Queries that ended for good.
    ended: tuple[str, ...] = ()
    deleted: tuple[DeletedTopic, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A command that this node writes, with its statement if it has been analysed."""

    command: Command
    analysed: Analysed | None = None


def apply_command(
    engine: SqlEngine, command: Command, analysed: Analysed | None = None
) -> CommandEffect:
    """Run a command on a copy of the catalog.

    Args:
        engine: The engine with the catalog before the command.
        command: The command.
        analysed: Its statement, if this node has written it and so has parsed and planned it.

    Raises:
        PenstockError: the command cannot be run; the catalog stays as it is.
    """
    if command.id == TERMINATE_CLUSTER:
        return _terminated(engine.catalog, command)
    base = engine.catalog
    session = engine.session(command.properties, command.variables)
    session.catalog.topics.update(command.topics)
    if analysed is None or analysed.text != command.statement:
        analysed = Analysed.of(command.statement, session.catalog.variables)
    trial = _planned(analysed, command, base) or _tried(session, analysed, command.number)
    catalog = replace(trial.catalog, properties=base.properties, variables=base.variables)
    deleted = tuple(each for each in trial.outgoing if isinstance(each, DeletedTopic))
    message = _message(analysed.statement, trial.results[0], base)
    status = CommandStatus("SUCCESS", message, trial.results[0].query_id)
    return CommandEffect(status, catalog, tuple(catalog.ended), deleted)


def _planned(analysed: Analysed, command: Command, base: Catalog) -> Trial | None:
    """Return what a statement does if its writer has planned it as every other node would.

    The writer has asked the cluster for its topics, and others know those of the commands only. If
    a topic of the catalog has other partitions there, the statement is planned again.
    """
    planned = analysed.planned
    if planned is None or not planned.holds(base, command.number):
        return None
    if not isinstance(analysed.statement, ast.CreateAsSelect | ast.CreateSource | ast.InsertInto):
        return None
    made, topics = planned.trial.catalog, {**base.topics, **command.topics}
    used = {source.topic for source in made.sources.values()}
    if any(made.topics.get(topic) != topics.get(topic) for topic in used):
        return None
    return replace(planned.trial, catalog=replace(made, topics=topics))


def _tried(session: SqlSession, analysed: Analysed, number: int | None) -> Trial:
    for attempt in range(_ATTEMPTS):
        try:
            return session.trial_of(analysed, number=number)
        except PenstockError as error:
            if error.code not in PASSING or attempt == _ATTEMPTS - 1:
                raise
        time.sleep(_PAUSE_S)
    raise AssertionError


def _terminated(base: Catalog, command: Command) -> CommandEffect:
    """End all queries. A sink's topic is deleted if its name matches one of the patterns."""
    patterns = [java_pattern(text) for text in orjson.loads(command.properties[DELETE_TOPICS])]
    sinks = [query.plan.sink for query in base.queries.values() if query.plan.sink is not None]
    deleted = {
        sink.topic: DeletedTopic(sink.topic, registered_subjects(sink))
        for sink in sinks
        if any(pattern.fits(sink.topic) for pattern in patterns)
    }
    status = CommandStatus("SUCCESS", "The cluster is terminated.")
    return CommandEffect(status, Catalog(), tuple(base.queries), tuple(deleted.values()))


def _message(statement: Node, result: StatementResult, base: Catalog) -> str:
    """Return what was done in ksqlDB's words: clients show them, and some parse them."""
    match statement:
        case ast.CreateSource(kind):
            return f"{kind.capitalize()} created"
        case ast.CreateAsSelect() | ast.InsertInto():
            return f"Created query with ID {result.query_id}"
        case ast.DropSource(_, name):
            dropped = base.sources.get(name)
            if dropped is None:
                return f"Source `{name}` does not exist."
            return f"Source `{name}` (topic: {dropped.topic}) was dropped."
        case ast.AlterSource():
            return "Source altered"
        case ast.CreateType(name):
            return f"Registered custom type with name '{name}'"
        case ast.DropType(name):
            return f"Dropped type '{name}'"
        case admin.ControlQuery(action):
            done = {"TERMINATE": "terminated", "PAUSE": "paused", "RESUME": "resumed"}
            return f"Query {done[action]}."
        case admin.AlterSystem(name, value):
            return f"System property {name} was set to {shown(name, value)}."
        case _:
            return result.message
