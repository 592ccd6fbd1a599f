"""The time of windows, if it is another than that of the records."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import BIGINT, TIMESTAMP
from penstock.sql.ast.expressions import ColumnRef
from penstock.sql.ast.queries import Query
from penstock.sql.catalog.schema import ROWTIME
from penstock.sql.planner.plan import steps_of
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import (
    DerivedStep,
    FilterStep,
    ProjectStep,
    RetimeStep,
    SourceStep,
    Step,
    shape_of,
)


def retimed(stage: Stage, query: Query, environment: Environment) -> Stage:
    """Give the records of windows the time that the windows go by.

    before: TABLE(TUMBLE(TABLE S, DESCRIPTOR(S.T), ...)), where S has the TIMESTAMP column U
    after:  the same rows, each at the time S.T
    """
    time = query.window_time
    if time is None:
        return stage
    assert isinstance(time, ColumnRef)
    if _is_time_of_record(time, stage.step):
        return stage
    type_ = environment.type_of(time, stage.columns)
    if type_ not in (TIMESTAMP, BIGINT):
        raise AnalysisError(
            "window-time-column",
            f"windows go by a time, and {time.name} is {type_ or 'NULL'}",
            fix="name a TIMESTAMP, or a BIGINT with milliseconds since 1970",
            span=time.span,
        )
    name = f"{environment.prefix}Retime"
    step = RetimeStep(name=name, input=stage.step, time=time, **shape_of(stage.step))
    return replace(stage, step=step)


def _is_time_of_record(time: ColumnRef, step: Step) -> bool:
    """Return whether a column of a step is known to be the time of its records."""
    if time.name == ROWTIME and not isinstance(step, DerivedStep):
        return True
    match step:
        case SourceStep(source=source):
            return source.timestamp is not None and source.timestamp.name == time.name
        case FilterStep(input=before):
            return _is_time_of_record(time, before)
        case DerivedStep(input=ProjectStep() as inner):
            names = [column.name for column in inner.columns]
            if time.name not in names or sum(isinstance(s, SourceStep) for s in steps_of(step)) > 1:
                return time.name == ROWTIME
            expression = inner.expressions[names.index(time.name)]
            return isinstance(expression, ColumnRef) and _is_time_of_record(expression, inner.input)
        case _:
            return False
