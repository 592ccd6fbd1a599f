"""A planned pull query that can be answered again and again, with other literals in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.sql.types import SqlType
from penstock.server.errors import BadStatementError
from penstock.server.pull.parameters import Parameters, Test
from penstock.server.pull.shape import Literal
from penstock.sql.ast.expressions import FunctionCall, Like
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.engine import SqlEngine
from penstock.sql.planner.lowering.context import Row
from penstock.sql.queries.access import (
    NO_KEY,
    Access,
    Constant,
    KeyLookup,
    KeyRange,
    Scan,
    access_of,
    key_value,
    start_range,
)
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.push import key_places
from penstock.sql.queries.row_plan import RowPlan, row_plan
from penstock.sql.syntax.format_expression import identifier

PULL_ENABLED = "ksql.pull.queries.enable"
TABLE_SCAN_ENABLED = "ksql.query.pull.table.scan.enabled"
RANGE_SCAN_ENABLED = "ksql.query.pull.range.scan.enabled"
LIMIT_ENABLED = "ksql.query.pull.limit.clause.enabled"
STREAM_ENABLED = "ksql.query.pull.stream.enabled"

STREAM_SCAN, GENERAL, TABLE_SCAN = "STREAM_SCAN", "GENERAL", "TABLE_SCAN"


@dataclass(frozen=True, slots=True)
class Term:
    """The value of one key column: a constant, or the literal with a number."""

    type: SqlType
    value: Any
    literal: int | None

    def of(self, literals: Sequence[Literal]) -> Any:
        if self.literal is None:
            return self.value
        literal = literals[self.literal]
        return key_value(literal.type, literal.value, self.type)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of WINDOWSTART: a constant, or the literal with a number."""

    operator: str
    value: int
    literal: int | None

    def of(self, literals: Sequence[Literal]) -> tuple[str, int]:
        value = self.value if self.literal is None else literals[self.literal].value
        return self.operator, value


@dataclass(frozen=True, slots=True)
class PreparedPull:
    """How one pull query is answered; ``kind`` names the plan.

    ``source`` and ``rows`` are set if the query reads one source row by row.
    """

    query: PullQuery
    kind: str
    #: The table or stream as the catalog has it.
    source: DataSource | None
    rows: RowPlan | None
    keys: tuple[tuple[Term, ...], ...]
    range: KeyRange | None
    starts: tuple[Bound, ...]
    #: Tells whether a row belongs to the answer; None if all rows do.
    test: Test | None
    #: The numbers of the literals that another statement of the shape may change.
    bound: frozenset[int]
    #: The columns of the answer.
    columns: tuple[SourceColumn, ...]
    #: The columns as the header of an answer has them.
    schema: str
    #: Whether a row costs microseconds: no function and no LIKE works on its values.
    is_light: bool = False
    #: The writers of rows, by form. All answers of the plan share them.
    forms: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_plain(self) -> bool:
        """Whether rows are sent as they are found: there is no ORDER BY, DISTINCT or UNION ALL."""
        query = self.query.query
        return not (query.order_by or query.is_distinct or query.union_all)

    @property
    def source_names(self) -> str:
        """The tables and streams that the query reads, for the metrics."""
        if self.source is not None:
            return self.source.name
        return ",".join(sorted({source.name for source in self.query.push.plan.sources}))

    @property
    def limit(self) -> int | None:
        return self.query.query.limit

    @property
    def offset(self) -> int:
        return self.query.query.offset or 0

    def key_values(self, literals: Sequence[Literal]) -> list[Row]:
        """Return the keys to look up; those that no row can have are left out."""
        if len(self.keys) == 1:
            only = tuple([term.of(literals) for term in self.keys[0]])
            return [] if NO_KEY in only else [only]
        found: dict[str, Row] = {}
        for terms in self.keys:
            key = tuple([term.of(literals) for term in terms])
            if NO_KEY not in key:
                found.setdefault(repr(key), key)
        return list(found.values())

    def start_range(self, literals: Sequence[Literal]) -> tuple[int | None, int | None]:
        """Return the first and the last start of the windows that are wanted."""
        return start_range([bound.of(literals) for bound in self.starts])


def prepare(session: SqlEngine, sql: str, literals: Sequence[Literal]) -> PreparedPull:
    """Plan a SELECT without EMIT.

    Raises:
        SqlError: what is wrong with the statement.
        BadStatementError: a setting forbids it.
    """
    _check_enabled(session, PULL_ENABLED, "pull queries are not enabled on this server", sql)
    query = session.pull(sql)
    if query.query.limit is not None:
        _check_enabled(session, LIMIT_ENABLED, "LIMIT in pull queries is not enabled", sql)
    lowering = session.lowering(query.push.id)
    rows = row_plan(query.push.plan, lowering)
    if rows is None:
        _check_scans(session, query, sql)
        return _general(query)
    source = session.catalog.sources[rows.source.name]
    parameters = Parameters(literals)
    if not source.is_table:
        _check_enabled(session, STREAM_ENABLED, "pull queries on streams are not enabled", sql)
        test = parameters.test(rows.conditions, rows.step.columns, lowering)
        return _by_rows(query, STREAM_SCAN, source, rows, None, test, parameters)
    access = access_of(rows.step, rows.conditions, lowering.environment.scope(()))
    access = _allowed(session, access, source, sql)
    if isinstance(access.way, KeyRange):
        # The bounds are part of the plan, so their literals cannot change.
        parameters = Parameters(())
    test = parameters.test(access.rest, rows.step.columns, lowering)
    return _by_rows(query, access.kind, source, rows, access, test, parameters)


def _by_rows(
    query: PullQuery,
    kind: str,
    source: DataSource,
    rows: RowPlan,
    access: Access | None,
    test: Test | None,
    parameters: Parameters,
) -> PreparedPull:
    keys: tuple[tuple[Term, ...], ...] = ()
    starts: tuple[Bound, ...] = ()
    if access is not None:
        if isinstance(access.way, KeyLookup):
            types = [column.type for column in source.schema.key]
            keys = tuple(
                tuple(_term(c, t, parameters) for c, t in zip(key, types, strict=True))
                for key in access.way.keys
            )
        starts = tuple(
            Bound(b.operator, b.constant.value, parameters.number_of(b.constant.expression))
            for b in access.starts
        )
    in_keys = {term.literal for key in keys for term in key if term.literal is not None}
    return PreparedPull(
        query,
        kind,
        source,
        rows,
        keys,
        access.way if access is not None and isinstance(access.way, KeyRange) else None,
        starts,
        test,
        frozenset(in_keys | parameters.used),
        query.columns,
        schema_text(query, marks_keys=source.is_table),
        not any(isinstance(node, FunctionCall | Like) for node in walk(query.query)),
    )


def _term(constant: Constant, type_: SqlType, parameters: Parameters) -> Term:
    return Term(type_, constant.value, parameters.number_of(constant.expression))


def _general(query: PullQuery) -> PreparedPull:
    schema = schema_text(query, marks_keys=query.push.plan.step.is_table)
    return PreparedPull(
        query, GENERAL, None, None, (), None, (), None, frozenset(), query.columns, schema
    )


def schema_text(query: PullQuery, *, marks_keys: bool) -> str:
    """Return the columns as ksqlDB writes them, with KEY after those of a table's key."""
    places = key_places(query.push.plan.step) if marks_keys else []
    texts = []
    for number, column in enumerate(query.columns):
        is_key = number < len(places) and places[number] is not None
        texts.append(f"{_quoted(column.name)} {column.type}{' KEY' if is_key else ''}")
    return ", ".join(texts)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _allowed(session: SqlEngine, access: Access, source: DataSource, sql: str) -> Access:
    """Return how the rows are found; if settings forbid range scans, a range is a full scan."""
    if isinstance(access.way, KeyRange) and not _is_on(session, RANGE_SCAN_ENABLED):
        access = Access(Scan(), access.rest, access.starts)
    if isinstance(access.way, Scan):
        _check_scan(session, source, sql)
    return access


def _check_scan(session: SqlEngine, source: DataSource, sql: str) -> None:
    if not _is_on(session, TABLE_SCAN_ENABLED):
        names = ", ".join(identifier(column.name) for column in source.schema.key)
        raise BadStatementError(
            "scan-disabled",
            f"the query would read all rows of {source.name}, and {TABLE_SCAN_ENABLED} is false",
            fix=f"ask for a key: WHERE {names} = ..., or set {TABLE_SCAN_ENABLED} to true in the"
            " server's settings",
            statement=sql,
        )


def _check_scans(session: SqlEngine, query: PullQuery, sql: str) -> None:
    """Refuse groups and joins over sources whose rows may not all be read."""
    for name in {source.name for source in query.push.plan.sources}:
        # The plan may read a table as a stream of rows; only the catalog knows that it is a table.
        source = session.catalog.sources[name]
        if source.is_table:
            _check_scan(session, source, sql)
        else:
            _check_enabled(session, STREAM_ENABLED, "pull queries on streams are not enabled", sql)


def _check_enabled(session: SqlEngine, setting: str, problem: str, sql: str) -> None:
    if not _is_on(session, setting):
        raise BadStatementError(
            "disabled",
            f"{problem}: {setting} is false",
            f"set {setting} to true in the server's settings",
            statement=sql,
        )


def _is_on(session: SqlEngine, setting: str) -> bool:
    """Return whether both the server and the request allow something.

    A request can turn off what the server allows, but it cannot allow what the server forbids.
    """
    server = {**session.config, **session.catalog.system}
    return all(
        str(settings.get(setting, "true")).lower() != "false"
        for settings in (server, session.settings)
    )
