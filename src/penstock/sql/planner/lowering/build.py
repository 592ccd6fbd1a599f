"""Dispatches each step to the module that lowers it, and adds the sink."""

from __future__ import annotations

from collections.abc import Callable

from penstock.registry.registry import SchemaRegistry
from penstock.sql.planner.fingerprint import statement_of
from penstock.sql.planner.lowering.aggregates import lower_aggregate
from penstock.sql.planner.lowering.changes import lower_changes
from penstock.sql.planner.lowering.context import Lowering
from penstock.sql.planner.lowering.distinct import lower_distinct
from penstock.sql.planner.lowering.explode import lower_explode
from penstock.sql.planner.lowering.joins import (
    is_stream_table,
    lower_foreign_key_join,
    lower_join,
    number_source,
)
from penstock.sql.planner.lowering.over import lower_over
from penstock.sql.planner.lowering.pending import Lowered, made, written
from penstock.sql.planner.lowering.records import (
    lower_filter,
    lower_project,
    lower_rekey,
    lower_union,
    lower_unwindow,
)
from penstock.sql.planner.lowering.retime import lower_retime
from penstock.sql.planner.lowering.sink import lower_sink
from penstock.sql.planner.lowering.sources import lower_derived, lower_source
from penstock.sql.planner.lowering.top import lower_top
from penstock.sql.planner.plan import QueryPlan, columns_used, inputs, steps_of
from penstock.sql.planner.stage import Environment
from penstock.sql.planner.steps import (
    AggregateStep,
    ChangesStep,
    DerivedStep,
    DistinctStep,
    ExplodeStep,
    FilterStep,
    ForeignKeyJoinStep,
    JoinStep,
    OverStep,
    ProjectStep,
    RekeyStep,
    RetimeStep,
    SourceStep,
    Step,
    TopStep,
    UnionStep,
    UnwindowStep,
)
from penstock.topology.topology import Topology

_LOWERINGS: dict[type[Step], Callable[..., Lowered]] = {
    SourceStep: lower_source,
    DerivedStep: lower_derived,
    ChangesStep: lower_changes,
    FilterStep: lower_filter,
    RekeyStep: lower_rekey,
    RetimeStep: lower_retime,
    UnwindowStep: lower_unwindow,
    TopStep: lower_top,
    ExplodeStep: lower_explode,
    ProjectStep: lower_project,
    AggregateStep: lower_aggregate,
    JoinStep: lower_join,
    ForeignKeyJoinStep: lower_foreign_key_join,
    UnionStep: lower_union,
    DistinctStep: lower_distinct,
    OverStep: lower_over,
}


def topology_of(
    plan: QueryPlan, environment: Environment, registry: SchemaRegistry | None
) -> Topology:
    """Return the topology of a query; without a sink, it writes to a topic named by its id."""
    sources = tuple(step for step in steps_of(plan.step) if isinstance(step, SourceStep))
    lowering = Lowering(plan.id, environment, registry, columns_used(plan.step), sources)
    last = lower(plan.step, lowering)
    lower_sink(plan, written(last), lowering)
    topology = lowering.builder.build()
    return topology if plan.sink is None else topology._with_statement(statement_of(plan))


def lower(step: Step, lowering: Lowering) -> Lowered:
    """Lower a step and, before it, its inputs."""
    if isinstance(step, JoinStep) and is_stream_table(step):
        # The table comes first, so that generated names have the same numbers as in ksqlDB.
        right = made(lower(step.right, lowering))
        number_source(step.right, lowering)
        left = made(lower(step.left, lowering))
        lowering.step = step.name
        return _LOWERINGS[type(step)](step, lowering, left, right)
    before = [lower(each, lowering) for each in inputs(step)]
    if not isinstance(step, FilterStep | ProjectStep | AggregateStep | DerivedStep):
        before = [made(each) for each in before]
    lowering.step = step.name
    return _LOWERINGS[type(step)](step, lowering, *before)
