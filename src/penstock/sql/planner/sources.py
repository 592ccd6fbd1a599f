"""Sources: the row of a topic's record, with pseudo columns, key and window bounds at its end."""

from __future__ import annotations

from penstock.sql.ast.expressions import ColumnRef
from penstock.sql.catalog.schema import PSEUDO_COLUMNS, WINDOW_COLUMNS
from penstock.sql.expressions import Column
from penstock.sql.planner.analysis import AliasedSource
from penstock.sql.planner.clauses.changes import changes_stage
from penstock.sql.planner.stage import Stage
from penstock.sql.planner.steps import SourceStep


def source_stage(aliased: AliasedSource, name: str) -> Stage:
    """Return the first stage of a query; its store is named after ``name``."""
    source, alias = aliased.changed or aliased.source, aliased.alias
    schema = source.schema
    named = [(c.name, c.type) for c in (*schema.value, *schema.headers)]
    named.extend(PSEUDO_COLUMNS)
    named.extend((c.name, c.type) for c in schema.key)
    if source.window is not None:
        named.extend(WINDOW_COLUMNS)
    step = SourceStep(
        name=name,
        columns=tuple(Column(column, type_, alias) for column, type_ in named),
        key=schema.key,
        key_format=source.key_format,
        window=source.window,
        is_table=source.is_table,
        source=source,
    )
    key_refs = tuple(ColumnRef(c.name, alias) for c in schema.key)
    stage = Stage(step, key_refs, (alias,), topic=source.topic)
    return stage if aliased.changed is None else changes_stage(stage, source)
