"""Joins: what the key of the result is, and who must be repartitioned."""

from __future__ import annotations

from dataclasses import replace

from penstock.formats.formats import format_named
from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import SqlType, StructType
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.queries import Join, Relation, Source
from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.expressions import Column
from penstock.sql.planner.analysis import Analysis
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.join_conditions import split_condition, with_condition
from penstock.sql.planner.join_sides import (
    Sides,
    check_kinds,
    check_partitions,
    check_windows,
    is_key,
    sides_of,
    type_mismatch,
    types_of,
)
from penstock.sql.planner.names import AliasGenerator
from penstock.sql.planner.partitioning import rekeyed
from penstock.sql.planner.sources import source_stage
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ForeignKeyJoinStep, JoinStep, RekeyStep, shape_of
from penstock.sql.planner.subqueries import derived_stage


def joined(analysis: Analysis, environment: Environment) -> Stage:
    """Gives the stage of FROM: a source, or the joins of several from left to right."""
    return _stage(analysis.query.source, analysis, environment, environment.prefix)


def _stage(relation: Relation, analysis: Analysis, environment: Environment, prefix: str) -> Stage:
    if isinstance(relation, Join):
        return _join(relation, analysis, environment, prefix)
    name = relation.name if isinstance(relation, Source) else ""
    alias = relation.alias or name
    aliased = next(each for each in analysis.sources if each.alias == alias)
    if aliased.derived is not None:
        return derived_stage(aliased.derived, alias)
    return source_stage(aliased, f"KafkaTopic_{prefix}")


def _join(node: Join, analysis: Analysis, environment: Environment, prefix: str) -> Stage:
    left_prefix = f"{prefix}L_" if isinstance(node.left, Join) else f"{prefix}Left"
    left = _stage(node.left, analysis, environment, left_prefix)
    right = _stage(node.right, analysis, environment, f"{prefix}Right")
    node, rest = split_condition(node, left, right, is_key)
    sides = sides_of(node, left, right)
    check_windows(sides)
    check_kinds(sides)
    types = types_of(sides, environment)
    if _is_foreign_key(sides):
        stage = _foreign_key_join(sides, types, prefix)
    elif types[0] != types[1]:
        raise type_mismatch(sides, types)
    else:
        stage = _equal_key_join(sides, analysis, environment, prefix)
    return with_condition(stage, rest, node, right, environment)


def _is_foreign_key(sides: Sides) -> bool:
    return sides.left.step.is_table and not is_key(sides.left_on, sides.left)


def _foreign_key_join(sides: Sides, types: tuple[SqlType, SqlType], prefix: str) -> Stage:
    node, left, right = sides.node, sides.left, sides.right
    refuse_clock((sides.left_on,), left, "ON")
    if node.kind in ("RIGHT", "FULL"):
        raise sides.refuse(
            "join-kind",
            f"{node.kind} JOIN is not possible on a foreign key",
            fix="use INNER or LEFT JOIN",
        )
    if left.is_join:
        raise sides.refuse(
            "foreign-key-join",
            f"{sides.condition} is a join on a foreign key, which must be the only join",
            fix="CREATE a table from the other joins first",
        )
    if types[0] != types[1]:
        raise type_mismatch(sides, types)
    if right.step.window is not None:
        raise sides.refuse("join-windows", "a foreign key cannot point at a windowed table")
    if isinstance(types[1], StructType) and _has_schema_id(right.step.key_format):
        # The schema that others wrote these keys with need not be the one written here.
        right = _rewritten(right, left.step.key_format, f"{prefix}RightSourceKeyed")
    step = ForeignKeyJoinStep(
        name=f"{prefix}Join",
        kind=node.kind,
        left=left.step,
        right=right.step,
        foreign_key=sides.left_on,
        **shape_of(left.step, columns=(*left.columns, *right.columns)),
    )
    return replace(
        left, step=step, aliases=(*left.aliases, *right.aliases), is_foreign_key_join=True
    )


def _equal_key_join(
    sides: Sides, analysis: Analysis, environment: Environment, prefix: str
) -> Stage:
    check_partitions(sides, environment)
    left = _keyed(sides.left, sides.left_on, environment, f"{prefix}LeftSourceKeyed")
    right = _keyed(sides.right, sides.right_on, environment, f"{prefix}RightSourceKeyed")
    key_format = _key_format(left, right, environment)
    left = _in_format(left, key_format, f"{prefix}LeftSourceKeyed")
    right = _in_format(right, key_format, f"{prefix}RightSourceKeyed")
    if _is_rekeyed(right):
        # Schemas have the names of columns in them, and equal keys must have equal bytes.
        right = replace(right, step=replace(right.step, key=left.step.key))
    equivalent = _equivalent(sides)
    viable = _viable(sides, equivalent)
    columns: tuple[Column, ...] = (*left.columns, *right.columns)
    type_ = left.step.key[0].type
    synthetic = None
    if viable:
        ref = next((each for each in viable if analysis.projects(each)), viable[0])
        key_name = f"{ref.source}_{ref.name}"
    else:
        names = [c.name for each in analysis.sources for c in each.source.schema.columns]
        synthetic = key_name = AliasGenerator(names).join_key()
        ref = ColumnRef(synthetic)
        columns = (*columns, Column(synthetic, type_))
    step = JoinStep(
        name=f"{prefix}Join",
        kind=sides.node.kind,
        left=left.step,
        right=right.step,
        within=sides.node.within,
        has_key_column=synthetic is not None,
        columns=columns,
        key=(SourceColumn(key_name, type_, "KEY"),),
        key_format=key_format,
        window=left.step.window,
        is_table=left.step.is_table,
    )
    return Stage(
        step,
        (ref,),
        (*left.aliases, *right.aliases),
        topic=right.topic,
        equivalent=equivalent,
        viable=viable,
        synthetic_key=synthetic,
    )


def _keyed(stage: Stage, on: Expression, environment: Environment, name: str) -> Stage:
    if is_key(on, stage):
        return stage
    return rekeyed(stage, (on,), environment, name, "JOIN ON")


def _is_rekeyed(stage: Stage) -> bool:
    return isinstance(stage.step, RekeyStep)


def _key_format(left: Stage, right: Stage, environment: Environment) -> FormatSpec:
    """Gives the left side's format, unless only the right side keeps its key."""
    for side in (left, right):
        if not _is_rekeyed(side) and side.step.key_format.name != "NONE":
            return side.step.key_format
    for side in (left, right):
        if side.step.key_format.name != "NONE":
            return side.step.key_format
    return FormatSpec(environment.settings.get("ksql.persistence.default.format.key", "KAFKA"))


def _in_format(stage: Stage, key_format: FormatSpec, name: str) -> Stage:
    """Writes the keys of a side anew where their bytes may differ from the other side's.

    Keys with a schema id always may: the id depends on who wrote them.
    """
    if _is_rekeyed(stage):
        return replace(stage, step=replace(stage.step, key_format=key_format))
    if stage.step.key_format == key_format and (stage.is_join or not _has_schema_id(key_format)):
        return stage
    if stage.step.window is not None and not _has_schema_id(key_format):
        raise AnalysisError(
            "rekey-windowed",
            f"the windowed keys of {stage.aliases[0]} are {stage.step.key_format.name} and would"
            f" have to be {key_format.name}, which is not possible",
            fix="use the same KEY_FORMAT on both sides",
        )
    return _rewritten(stage, key_format, name)


def _rewritten(stage: Stage, key_format: FormatSpec, name: str) -> Stage:
    step = RekeyStep(
        name=name,
        input=stage.step,
        expressions=tuple(stage.key_refs),
        is_forced=True,
        **shape_of(stage.step, key_format=key_format),
    )
    return replace(stage, step=step)


def _has_schema_id(spec: FormatSpec) -> bool:
    return format_named(spec.name).infers


def _equivalent(sides: Sides) -> frozenset[Expression]:
    """Gives all expressions that equal the key; after a FULL JOIN either side may be missing."""
    if sides.node.kind == "FULL":
        return frozenset()
    own = frozenset((sides.left_on, sides.right_on))
    for side in (sides.left, sides.right):
        if side.equivalent & own:
            own |= side.equivalent
    return own


def _viable(sides: Sides, equivalent: frozenset[Expression]) -> tuple[ColumnRef, ...]:
    candidates = (*sides.left.viable, sides.left_on, *sides.right.viable, sides.right_on)
    columns = [c for c in candidates if isinstance(c, ColumnRef) and c in equivalent]
    return tuple(dict.fromkeys(columns))
