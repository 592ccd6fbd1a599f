"""DROP and ALTER of streams and tables, and custom types. CREATE: ``penstock.sql.catalog.ddl``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.sql.ast.statements import AlterSource, CreateType, DropSource, DropType
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import Schema, SourceColumn
from penstock.sql.catalog.type_names import resolve
from penstock.sql.planner.sink import validate_formats


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes streams, tables and types that a catalog already has."""

    catalog: Catalog

    def drop(self, statement: DropSource) -> DataSource | None:
        """Remove a stream or table that no query reads or writes any more."""
        found = self.catalog.sources.get(statement.name)
        if found is None:
            if statement.if_exists:
                return None
            found = self.catalog.source(statement.name, statement.span)
        if found.kind != statement.kind:
            raise AnalysisError(
                "wrong-kind",
                f"{found.name} is a {found.kind}, not a {statement.kind}",
                fix=f"write DROP {found.kind} {found.name}",
                span=statement.span,
            )
        readers = [query.id for query in self.catalog.queries_reading(found.name)]
        writers = [
            query.id for query in self.catalog.queries_writing(found.name) if query.plan.is_insert
        ]
        if readers or writers:
            raise AnalysisError(
                "in-use",
                f"{found.name} cannot be dropped: in use by {', '.join((*readers, *writers))}",
                fix="TERMINATE the queries first",
                span=statement.span,
            )
        if found.is_source and statement.delete_topic:
            raise AnalysisError(
                "delete-source-topic",
                f"the topic of {found.name} cannot be deleted: it is a read-only source",
                fix="leave DELETE TOPIC out",
                span=statement.span,
            )
        if statement.delete_topic:
            self._refuse_shared_topic(found, statement)
        for query in self.catalog.queries_writing(found.name):
            self.catalog.end_query(query.id)
        del self.catalog.sources[found.name]
        return found

    def _refuse_shared_topic(self, found: DataSource, statement: DropSource) -> None:
        sources = self.catalog.sources.values()
        others = [s.name for s in sources if s.topic == found.topic and s.name != found.name]
        if others:
            raise AnalysisError(
                "topic-in-use",
                f"topic {found.topic!r} of {found.name} cannot be deleted: {', '.join(others)}"
                f" {'has' if len(others) == 1 else 'have'} the same topic",
                fix="leave DELETE TOPIC out, or drop the others first",
                span=statement.span,
            )

    def alter(self, statement: AlterSource) -> DataSource:
        """Add columns at the end of a stream or table that no query made."""
        source = self.catalog.source(statement.name, statement.span)
        reason = None
        if source.kind != statement.kind:
            reason = f"is a {source.kind}, not a {statement.kind}"
        elif source.is_source:
            reason = "is a read-only source"
        elif self.catalog.queries_writing(source.name):
            reason = "is made by a query, which decides its columns"
        if reason is not None:
            raise AnalysisError(
                "cannot-alter",
                f"{source.name} cannot be altered: it {reason}",
                fix="use CREATE OR REPLACE",
                span=statement.span,
            )
        added = [
            SourceColumn(c.name, resolve(c.type, self.catalog.types)) for c in statement.columns
        ]
        columns = (*source.schema.columns, *added)
        twice = [c.name for c in added if source.schema.find(c.name) is not None]
        twice.extend(c.name for i, c in enumerate(added) if c.name in {a.name for a in added[:i]})
        if twice:
            raise AnalysisError(
                "duplicate-column",
                f"{source.name} has a column {twice[0]} already",
                fix="choose another name",
                span=statement.span,
            )
        altered = replace(source, schema=Schema(columns))
        validate_formats(altered)
        self.catalog.sources[source.name] = altered
        return altered

    def create_type(self, statement: CreateType) -> bool:
        """Add a custom type; return False if IF NOT EXISTS finds one."""
        if statement.name in self.catalog.types:
            if statement.if_not_exists:
                return False
            raise AnalysisError(
                "already-exists",
                f"type {statement.name} exists already",
                fix="choose another name, or DROP TYPE it first",
                span=statement.span,
            )
        self.catalog.types[statement.name] = resolve(statement.type, self.catalog.types)
        return True

    def drop_type(self, statement: DropType) -> bool:
        if statement.name not in self.catalog.types:
            if statement.if_exists:
                return False
            raise AnalysisError(
                "unknown-type",
                f"type {statement.name} does not exist",
                fix=did_you_mean(statement.name, self.catalog.types),
                span=statement.span,
            )
        del self.catalog.types[statement.name]
        return True
