"""INSERT INTO ... SELECT: the rows of a query must fit the stream they go to."""

from __future__ import annotations

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.statements import InsertInto
from penstock.sql.catalog.catalog import Catalog, DataSource
from penstock.sql.catalog.schema import Schema
from penstock.sql.planner.projection import Projected


def insertion_target(statement: InsertInto, catalog: Catalog) -> DataSource:
    """Return the stream to insert into; tables and read-only streams are refused."""
    target = catalog.source(statement.name, statement.span)
    reason = None
    if target.is_table:
        reason = "is a table, INSERT INTO ... SELECT is for streams"
    elif target.is_source:
        reason = "is read-only: it was made by CREATE SOURCE STREAM"
    elif target.schema.headers:
        reason = "has header columns"
    if reason is not None:
        raise AnalysisError(
            "cannot-insert", f"cannot insert into {target.name}: it {reason}", span=statement.span
        )
    return target


def check_insertion(statement: InsertInto, sink: DataSource, result: Projected) -> None:
    """Refuse rows whose columns differ from the stream's in name or type."""
    if result.stage.step.is_table:
        raise AnalysisError(
            "wrong-kind",
            f"the query returns a table, but {sink.name} is a stream",
            fix="insert rows of a stream",
            span=statement.span,
        )
    rows = Schema(result.columns)
    if _shape(rows) != _shape(sink.schema):
        raise AnalysisError(
            "incompatible-insert",
            f"the columns of the query do not fit {sink.name}:"
            f" ({rows.describe()}) is not ({sink.schema.describe()})",
            fix="SELECT the stream's columns in its order, with AS and CAST where needed",
            span=statement.span,
        )


def _shape(schema: Schema) -> tuple[object, ...]:
    return tuple((c.name, c.type) for c in schema.key), tuple(
        (c.name, c.type) for c in schema.value
    )
