"""A planned pull query that can be answered again and again, with other literals in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, assert_never

from penstock.model.sql.types import SqlType
from penstock.server.errors import BadStatementError
from penstock.sql.ast.expressions import FunctionCall, Like
from penstock.sql.ast.queries import Query
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.planner.lowering.context import Row
from penstock.sql.pull.parameters import Parameters
from penstock.sql.pull.plans import (
    Bound,
    General,
    KeyLookup,
    PullPlan,
    RangeScan,
    Reading,
    StreamScan,
    TableScan,
    Term,
)
from penstock.sql.pull.shape import Literal
from penstock.sql.queries.access import Access, Constant, KeyRange, Scan, access_of
from penstock.sql.queries.access import KeyLookup as Keys
from penstock.sql.queries.pull import PullQuery
from penstock.sql.queries.push import key_places
from penstock.sql.queries.row_plan import row_plan
from penstock.sql.session import SqlSession
from penstock.sql.syntax.format_expression import identifier

PULL_ENABLED = "ksql.pull.queries.enable"
TABLE_SCAN_ENABLED = "ksql.query.pull.table.scan.enabled"
RANGE_SCAN_ENABLED = "ksql.query.pull.range.scan.enabled"
LIMIT_ENABLED = "ksql.query.pull.limit.clause.enabled"
STREAM_ENABLED = "ksql.query.pull.stream.enabled"


@dataclass(frozen=True, slots=True)
class PreparedPull:
    """A planned pull query: its plan, and what all answers of it have in common."""

    query: PullQuery
    plan: PullPlan
    #: The numbers of the literals that another statement of the shape may change.
    bound: frozenset[int]
    #: The columns as the header of an answer has them.
    schema: str
    #: Whether a row costs microseconds: no function and no LIKE works on its values.
    is_light: bool = False
    #: The writers of rows, by form. All answers of the plan share them.
    forms: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        """The columns of the answer."""
        return self.query.columns

    @property
    def is_plain(self) -> bool:
        """Whether rows are sent as they are found: there is no ORDER BY, DISTINCT or UNION ALL."""
        query = self.query.query
        return not (query.order_by or query.is_distinct or query.union_all)

    @property
    def source_names(self) -> str:
        """The tables and streams that the query reads, for the metrics."""
        return ",".join(sorted({source.name for source in self.query.push.plan.sources}))

    @property
    def limit(self) -> int | None:
        return self.query.query.limit

    def paged(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Apply ORDER BY, DISTINCT, OFFSET and LIMIT to rows of the push query."""
        if self.is_plain:
            limit, offset = self.limit, self.query.query.offset or 0
            if limit is None and not offset:
                return rows
            return islice(rows, offset, None if limit is None else offset + limit)
        names = [column.name for column in self.query.push.columns]
        found = (dict(zip(names, row, strict=True)) for row in rows)
        return [tuple(row.values()) for row in self.query.finished(found)]


def prepare(
    session: SqlSession, sql: str, literals: Sequence[Literal], parsed: Query | None = None
) -> PreparedPull:
    """Plan a SELECT without EMIT, which may have been parsed already.

    Raises:
        SqlError: what is wrong with the statement.
        BadStatementError: a setting forbids it.
    """
    _check_enabled(session, PULL_ENABLED, "pull queries are not enabled on this server", sql)
    query = session.pull(sql, parsed)
    if query.query.limit is not None:
        _check_enabled(session, LIMIT_ENABLED, "LIMIT in pull queries is not enabled", sql)
    lowering = session.lowering(query.push.id)
    rows = row_plan(query.push.plan, lowering)
    if rows is None:
        _check_scans(session, query, sql)
        schema = schema_text(query, marks_keys=query.push.plan.step.is_table)
        names = {source.name for source in query.push.plan.sources}
        sources = tuple(session.catalog.sources[name] for name in sorted(names))
        return PreparedPull(query, General(query, sources), frozenset(), schema)
    source = session.catalog.sources[rows.source.name]
    schema = schema_text(query, marks_keys=source.is_table)
    is_light = not any(isinstance(node, FunctionCall | Like) for node in walk(query.query))
    parameters = Parameters(literals)
    if not source.is_table:
        _check_enabled(session, STREAM_ENABLED, "pull queries on streams are not enabled", sql)
        test = parameters.test(rows.conditions, rows.step.columns, lowering)
        plan = StreamScan(Reading(source, rows, test))
        return PreparedPull(query, plan, frozenset(parameters.used), schema, is_light)
    access = access_of(rows.step, rows.conditions, lowering.environment.scope(()))
    access = _allowed(session, access, source, sql)
    if isinstance(access.way, KeyRange):
        # The bounds are part of the plan, so their literals cannot change.
        parameters = Parameters(())
    test = parameters.test(access.rest, rows.step.columns, lowering)
    found, in_keys = _by_way(access, Reading(source, rows, test), parameters)
    return PreparedPull(query, found, in_keys | parameters.used, schema, is_light)


def _by_way(
    access: Access, reading: Reading, parameters: Parameters
) -> tuple[PullPlan, frozenset[int]]:
    """Return the plan for a way to the rows, and the literals that it finds them by."""
    match access.way:
        case Keys(keys):
            types = [column.type for column in reading.source.schema.key]
            terms = tuple(
                tuple(_term(c, t, parameters) for c, t in zip(key, types, strict=True))
                for key in keys
            )
            starts = tuple(
                Bound(b.operator, b.constant.value, parameters.number_of(b.constant.expression))
                for b in access.starts
            )
            used = {term.literal for key in terms for term in key if term.literal is not None}
            return KeyLookup(reading, terms, starts), frozenset(used)
        case KeyRange() as span:
            return RangeScan(reading, span), frozenset()
        case Scan():
            return TableScan(reading), frozenset()
        case other:
            assert_never(other)


def _term(constant: Constant, type_: SqlType, parameters: Parameters) -> Term:
    return Term(type_, constant.value, parameters.number_of(constant.expression))


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


def _allowed(session: SqlSession, access: Access, source: DataSource, sql: str) -> Access:
    """Return how the rows are found; if settings forbid range scans, a range is a full scan."""
    if isinstance(access.way, KeyRange) and not _is_on(session, RANGE_SCAN_ENABLED):
        access = Access(Scan(), access.rest, access.starts)
    if isinstance(access.way, Scan):
        _check_scan(session, source, sql)
    return access


def _check_scan(session: SqlSession, source: DataSource, sql: str) -> None:
    if not _is_on(session, TABLE_SCAN_ENABLED):
        names = ", ".join(identifier(column.name) for column in source.schema.key)
        raise BadStatementError(
            "scan-disabled",
            f"the query would read all rows of {source.name}, and {TABLE_SCAN_ENABLED} is false",
            fix=f"ask for a key: WHERE {names} = ..., or set {TABLE_SCAN_ENABLED} to true in the"
            " server's settings",
            statement=sql,
        )


def _check_scans(session: SqlSession, query: PullQuery, sql: str) -> None:
    """Refuse groups and joins over sources whose rows may not all be read."""
    for name in {source.name for source in query.push.plan.sources}:
        # The plan may read a table as a stream of rows; only the catalog knows that it is a table.
        source = session.catalog.sources[name]
        if source.is_table:
            _check_scan(session, source, sql)
        else:
            _check_enabled(session, STREAM_ENABLED, "pull queries on streams are not enabled", sql)


def _check_enabled(session: SqlSession, setting: str, problem: str, sql: str) -> None:
    if not _is_on(session, setting):
        raise BadStatementError(
            "disabled",
            f"{problem}: {setting} is false",
            f"set {setting} to true in the server's settings",
            statement=sql,
        )


def _is_on(session: SqlSession, setting: str) -> bool:
    """Return whether both the server and the request allow something.

    A request can turn off what the server allows, but it cannot allow what the server forbids.
    """
    server = {**session.config, **session.catalog.system}
    return all(
        str(settings.get(setting, "true")).lower() != "false"
        for settings in (server, session.settings)
    )
