"""ksqlDB's newer planner: SELECT decides the key columns of a stream and their order.

It is off unless ``ksql.new.query.planner.enabled`` is true, as in ksqlDB.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.sql.ast.expressions import ColumnRef
from penstock.sql.ast.queries import Query, SelectColumn
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import RekeyStep

NEW_PLANNER = "ksql.new.query.planner.enabled"


def ordered_key(stage: Stage, query: Query, environment: Environment) -> Stage:
    """Return the stage with the key columns that SELECT has, in its order.

    before: key (ID, AGE)                   SELECT AGE, NAME
    after:  key (AGE)
    """
    if str(environment.settings.get(NEW_PLANNER, "")).lower() != "true" or stage.step.is_table:
        return stage
    selected = [item.expression for item in query.items if isinstance(item, SelectColumn)]
    refs = tuple(e for e in selected if isinstance(e, ColumnRef) and e in stage.key_refs)
    if refs == stage.key_refs or len(set(refs)) < len(refs):
        return stage
    key = tuple(stage.step.key[stage.key_refs.index(ref)] for ref in refs)
    step = RekeyStep(
        name="KeyOrder",
        input=stage.step,
        expressions=refs,
        key_refs=stage.key_refs,
        columns=stage.columns,
        key=key,
        key_format=stage.step.key_format,
        window=stage.step.window,
        is_table=False,
    )
    return replace(stage, step=step, key_refs=refs)
