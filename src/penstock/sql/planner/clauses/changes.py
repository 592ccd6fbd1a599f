"""CHANGES(table): the changes of a table as a stream."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import STRING, Field, StructType
from penstock.sql.ast.queries import Source
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import Schema, SourceColumn
from penstock.sql.expressions import Column
from penstock.sql.planner.stage import Stage
from penstock.sql.planner.steps import ChangesStep, SourceStep

CHANGE = "CHANGE"
BEFORE = "BEFORE"


def changes_of(table: DataSource, node: Source) -> DataSource:
    """Return the stream of a table's changes: its columns, what happened, and the row before."""
    if not table.is_table:
        raise AnalysisError(
            "changes-of-stream",
            f"{table.name} is a stream: its records are its changes",
            fix=f"write FROM {table.name}",
            span=node.span,
        )
    for name in (CHANGE, BEFORE):
        if table.schema.find(name) is not None:
            raise AnalysisError(
                "changes-column",
                f"table {table.name} has a column {name}, which CHANGES adds",
                fix=f"CREATE a table from it in which {name} has another name",
                span=node.span,
            )
    return replace(table, kind="STREAM", schema=Schema((*table.schema.columns, *_added(table))))


def _added(table: DataSource) -> tuple[SourceColumn, ...]:
    row = StructType(tuple(Field(column.name, column.type) for column in table.schema.value))
    return SourceColumn(CHANGE, STRING), SourceColumn(BEFORE, row)


def changes_stage(stage: Stage, table: DataSource) -> Stage:
    """Return the stage of a table's changes, from that of its rows."""
    rows = stage.step
    assert isinstance(rows, SourceStep)
    added = tuple(Column(c.name, c.type, stage.aliases[0]) for c in _added(table))
    step = ChangesStep(
        name=f"{rows.name}-Changes",
        input=replace(rows, is_table=False),
        columns=(*rows.columns, *added),
        key=rows.key,
        key_format=rows.key_format,
        window=rows.window,
        is_table=False,
    )
    return replace(stage, step=step)
