"""WHERE: keeps rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from penstock.sql.ast.expressions import Expression
from penstock.sql.expressions import compile_condition
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import FilterStep, shape_of


def filtered(
    stage: Stage,
    condition: Expression | None,
    environment: Environment,
    clause: Literal["WHERE", "HAVING"] = "WHERE",
) -> Stage:
    """Add the condition, which must be a BOOLEAN over the stage's columns."""
    if condition is None:
        return stage
    refuse_clock((condition,), stage, clause)
    compile_condition(condition, environment.scope(stage.columns), clause)
    name = "WhereFilter" if clause == "WHERE" else "Aggregate-HavingFilter"
    before = stage.step
    step = FilterStep(
        name=name,
        input=before,
        condition=condition,
        clause=clause,
        **shape_of(before),
    )
    return replace(stage, step=step)
