"""Runs the statements of a SQL test one by one: each row goes through the queries at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from penstock.errors import PenstockError
from penstock.model.sql.errors import AnalysisError, SqlError
from penstock.model.sql.span import Span
from penstock.runtime.local.kept import KeptApplication
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql import SqlEngine
from penstock.sql.ast.administration import RunScript
from penstock.sql.ast.statements import AssertSource, AssertTombstone, AssertValues
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.queries.following import todo
from penstock.sql.queries.local import LocalQueries, LocalQuery
from penstock.sql.syntax.parser import parse_statement, split_statements
from penstock.testing.sql.assertions import Expectation, check_source
from penstock.testing.sql.sections import Section


class TestFailedError(SqlError):
    """A test has another result than it expects."""


class TestSession:
    """One test on an engine of its own.

    Records of a topic are read in order: each assertion takes the next one.
    """

    __test__ = False

    def __init__(self, engine: SqlEngine, folder: Path, *, over_columns: bool = False) -> None:
        self._engine = engine
        self._over_columns = over_columns
        self._folder = folder
        self._queries = LocalQueries(())
        self._plans: dict[str, QueryPlan] = {}
        #: By query: what CREATE OR REPLACE goes on with.
        self._kept: dict[str, KeptApplication] = {}
        self._topics: dict[str, list[ProducedRecord]] = defaultdict(list)
        self._read: Counter[str] = Counter()
        self._has_asserted = False

    def problem(self, section: Section) -> str | None:
        """Run a test, and return what is wrong; None if it passes."""
        try:
            self._run(section.text)
        except PenstockError as error:
            return _unexpected(error, section)
        finally:
            self._queries.close()
        if section.is_refused:
            return "all statements are accepted, but one must be refused"
        if not self._has_asserted:
            return "it asserts nothing: add ASSERT VALUES, or --@expected.error and an error's code"
        return None

    def _run(self, script: str) -> None:
        for piece in split_statements(script):
            text = piece.placed_in(script)
            try:
                self._run_statement(text)
            except SqlError as error:
                raise error.pointing_into(script) from None

    def _run_statement(self, text: str) -> None:
        statement = parse_statement(text, self._engine.catalog.variables)
        match statement:
            case AssertValues() | AssertTombstone():
                self._has_asserted = True
                self._check_next(Expectation.of(statement, self._engine), statement.span)
            case AssertSource():
                self._has_asserted = True
                problem = check_source(statement, self._engine)
                if problem is not None:
                    raise TestFailedError("assertion-failed", problem, span=statement.span)
            case RunScript(path):
                script = self._script(path, statement.span)
                try:
                    self._run(script)
                except SqlError as error:
                    raise error.in_file(path) from None
            case _:
                self._engine.execute(text, answers=False)
                self._follow_catalog()
                self._take_outbox()

    def _script(self, path: str, span: Span | None) -> str:
        try:
            return (self._folder / path).read_text(encoding="utf-8")
        except OSError as error:
            raise AnalysisError(
                "unreadable-script", f"{path!r} cannot be read: {error.strerror}", span=span
            ) from None

    def _follow_catalog(self) -> None:
        """Start queries that are new or replaced, and end those that are gone with their state."""
        catalog = self._engine.catalog
        work = todo(self._plans, catalog)
        for query in [each for each in self._queries.queries if each.id in work.stop]:
            self._queries.queries.remove(query)
            query.close()
            del self._plans[query.id]
        for query_id in work.forget:
            self._kept.pop(query_id, None)
        catalog.ended.clear()
        for query_id in work.start:
            self._plans[query_id] = catalog.queries[query_id].plan
            self._queries.queries.append(self._local_query(query_id))

    def _local_query(self, query_id: str) -> LocalQuery:
        return LocalQuery(
            query_id,
            self._engine.application_id(query_id),
            self._engine.topology(query_id),
            over_columns=self._over_columns,
            kept=self._kept.setdefault(query_id, KeptApplication()),
        )

    def _take_outbox(self) -> None:
        for record in self._engine.outbox:
            time = record.timestamp or 0
            self._topics[record.topic].append(
                ProducedRecord(record.topic, record.key, record.value, time, record.headers, 0)
            )
            before = len(self._queries.produced)
            self._queries.pipe(record.topic, record.key, record.value, time, record.headers)
            for produced in self._queries.produced[before:]:
                self._topics[produced.topic].append(produced)
        self._engine.outbox.clear()

    def _check_next(self, expected: Expectation, span: Span | None) -> None:
        topic = expected.source.topic
        place = self._read[topic]
        records = self._topics[topic]
        if place >= len(records):
            raise TestFailedError(
                "assertion-failed",
                f"{expected.source.name} has no further record after {place}: expected {expected}",
                span=span,
            )
        self._read[topic] += 1
        problem = expected.difference(records[place])
        if problem is not None:
            what = (
                f"record {place + 1} of {expected.source.name} is not the expected one: {problem}"
            )
            raise TestFailedError("assertion-failed", what, span=span)


def _unexpected(error: PenstockError, section: Section) -> str | None:
    """Return why an error is not the expected one; None if it is.

    The name of a Java class stands for any error, since errors have other names here.
    """
    if not section.is_refused or isinstance(error, TestFailedError):
        return str(error)
    wanted = section.error
    if wanted and "." not in wanted and wanted not in (error.code, type(error).__name__):
        return f"expected {wanted}, got {type(error).__name__}: {error}"
    if section.message and section.message.lower() not in str(error).lower():
        return f"expected a message with {section.message!r}, got {error}"
    return None
