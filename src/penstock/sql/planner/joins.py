"""Joins: which sides fit, what the key of the result is, and who must be repartitioned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.sql.ast.expressions import ColumnRef, Comparison, Expression
from penstock.sql.ast.queries import Join, Relation, Source
from penstock.sql.ast.walk import walk
from penstock.sql.catalog import FormatSpec
from penstock.sql.errors import AnalysisError, SqlTypeError
from penstock.sql.expressions import Column
from penstock.sql.format_expression import format_expression
from penstock.sql.formats.formats import format_named
from penstock.sql.planner.analysis import Analysis
from penstock.sql.planner.join_conditions import split_condition, with_condition
from penstock.sql.planner.names import AliasGenerator
from penstock.sql.planner.partitioning import rekeyed
from penstock.sql.planner.sources import source_stage
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ForeignKeyJoinStep, JoinStep, RekeyStep, shape_of
from penstock.sql.planner.subqueries import derived_stage
from penstock.sql.schema import SourceColumn
from penstock.sql.types import SqlType, StructType


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


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two stages of a join with the expressions that must be equal."""

    node: Join
    left: Stage
    right: Stage
    left_on: Expression
    right_on: Expression

    @property
    def condition(self) -> str:
        return f"{format_expression(self.left_on)} = {format_expression(self.right_on)}"

    def refuse(self, code: str, message: str, fix: str | None = None) -> AnalysisError:
        return AnalysisError(code, message, fix, span=self.node.on.span)


def _join(node: Join, analysis: Analysis, environment: Environment, prefix: str) -> Stage:
    left_prefix = f"{prefix}L_" if isinstance(node.left, Join) else f"{prefix}Left"
    left = _stage(node.left, analysis, environment, left_prefix)
    right = _stage(node.right, analysis, environment, f"{prefix}Right")
    node, rest = split_condition(node, left, right, _is_key)
    sides = _sides(node, left, right)
    _check_windows(sides)
    _check_kinds(sides)
    types = _types(sides, environment)
    if _is_foreign_key(sides):
        stage = _foreign_key_join(sides, types, prefix)
    elif types[0] != types[1]:
        raise _mismatch(sides, types)
    else:
        stage = _equal_key_join(sides, analysis, environment, prefix)
    return with_condition(stage, rest, node, right, environment)


def _sides(node: Join, left: Stage, right: Stage) -> _Sides:
    on = node.on
    if not isinstance(on, Comparison) or on.operator != "=":
        raise AnalysisError(
            "join-condition",
            f"a join needs an equality, got {format_expression(on)}",
            fix="write ON left.column = right.column",
            span=on.span,
        )
    first, second = _alias_of(on.left, on), _alias_of(on.right, on)
    if first in left.aliases and second in right.aliases:
        return _Sides(node, left, right, on.left, on.right)
    if second in left.aliases and first in right.aliases:
        return _Sides(node, left, right, on.right, on.left)
    raise AnalysisError(
        "join-condition",
        f"the condition {format_expression(on)} must compare {right.aliases[0]} with"
        f" {' or '.join(left.aliases)}",
        fix="use a column of each side",
        span=on.span,
    )


def _alias_of(expression: Expression, on: Comparison) -> str:
    used = {node.source for node in walk(expression) if isinstance(node, ColumnRef)} - {None}
    if len(used) != 1:
        raise AnalysisError(
            "join-condition",
            f"{format_expression(expression)} must use columns of exactly one source",
            fix="write ON left.column = right.column",
            span=expression.span or on.span,
        )
    return str(used.pop())


def _types(sides: _Sides, environment: Environment) -> tuple[SqlType, SqlType]:
    left = environment.type_of(sides.left_on, sides.left.columns)
    right = environment.type_of(sides.right_on, sides.right.columns)
    if left is None or right is None:
        raise sides.refuse("join-condition", f"{sides.condition} compares with NULL")
    return left, right


def _mismatch(sides: _Sides, types: tuple[SqlType, SqlType]) -> SqlTypeError:
    return SqlTypeError(
        "join-types",
        f"the two sides of {sides.condition} have different types: {types[0]} and {types[1]}",
        fix="CAST one side to the type of the other",
        span=sides.node.on.span,
    )


def _check_windows(sides: _Sides) -> None:
    left, right = sides.left.step.window, sides.right.step.window
    if (left is None) != (right is None):
        raise sides.refuse(
            "join-windows",
            f"{sides.left.aliases[0]} and {sides.right.aliases[0]} cannot be joined:"
            " one has a windowed key, the other has not",
        )
    if left is None or right is None:
        return
    if (left.kind == "SESSION") != (right.kind == "SESSION") or left.size_ms != right.size_ms:
        raise sides.refuse(
            "join-windows",
            f"{sides.left.aliases[0]} has {left.kind} windows, {sides.right.aliases[0]} has"
            f" {right.kind} windows of another size: their keys are never equal",
        )


def _check_kinds(sides: _Sides) -> None:
    left, right, node = sides.left.step, sides.right.step, sides.node
    if left.is_table and not right.is_table:
        raise sides.refuse(
            "join-order",
            f"table {sides.left.aliases[0]} cannot be joined with stream {sides.right.aliases[0]}",
            fix="put the stream first: stream JOIN table",
        )
    if right.is_table and node.within is not None:
        raise sides.refuse(
            "join-within",
            "WITHIN is only for joins of two streams",
            fix="leave WITHIN out",
        )
    if not right.is_table and node.within is None:
        raise sides.refuse(
            "join-within",
            "a join of two streams needs WITHIN: how far apart may their records be?",
            fix="write JOIN ... WITHIN 1 HOUR ON ...",
        )
    if right.is_table and not _is_key(sides.right_on, sides.right):
        raise sides.refuse(
            "join-on-non-key",
            f"a join with a table must use its primary key, {sides.condition} does not",
            fix=f"join on the primary key of {sides.right.aliases[0]}",
        )
    if right.is_table and not left.is_table and node.kind in ("RIGHT", "FULL"):
        raise sides.refuse(
            "join-kind",
            f"a stream and a table cannot be joined by {node.kind} JOIN",
            fix="use INNER or LEFT JOIN",
        )


def _is_key(expression: Expression, stage: Stage) -> bool:
    if expression in stage.equivalent:
        return True
    return len(stage.key_refs) == 1 and expression == stage.key_refs[0]


def _is_foreign_key(sides: _Sides) -> bool:
    return sides.left.step.is_table and not _is_key(sides.left_on, sides.left)


def _foreign_key_join(sides: _Sides, types: tuple[SqlType, SqlType], prefix: str) -> Stage:
    node, left, right = sides.node, sides.left, sides.right
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
        raise _mismatch(sides, types)
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
    sides: _Sides, analysis: Analysis, environment: Environment, prefix: str
) -> Stage:
    _check_partitions(sides, environment)
    left = _keyed(sides.left, sides.left_on, environment, f"{prefix}LeftSourceKeyed")
    right = _keyed(sides.right, sides.right_on, environment, f"{prefix}RightSourceKeyed")
    key_format = _key_format(left, right, environment)
    left = _in_format(left, key_format, f"{prefix}LeftSourceKeyed")
    right = _in_format(right, key_format, f"{prefix}RightSourceKeyed")
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


def _check_partitions(sides: _Sides, environment: Environment) -> None:
    left, right = (environment.partitions.get(s.topic) for s in (sides.left, sides.right))
    if left is not None and right is not None and left != right:
        raise sides.refuse(
            "co-partitioning",
            f"{sides.left.aliases[0]} ({left} partitions) and {sides.right.aliases[0]}"
            f" ({right} partitions) cannot be joined",
            fix="CREATE a copy of one of them with the PARTITIONS of the other and join that",
        )


def _keyed(stage: Stage, on: Expression, environment: Environment, name: str) -> Stage:
    if _is_key(on, stage):
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


def _equivalent(sides: _Sides) -> frozenset[Expression]:
    """Gives all expressions that equal the key; after a FULL JOIN either side may be missing."""
    if sides.node.kind == "FULL":
        return frozenset()
    own = frozenset((sides.left_on, sides.right_on))
    for side in (sides.left, sides.right):
        if side.equivalent & own:
            own |= side.equivalent
    return own


def _viable(sides: _Sides, equivalent: frozenset[Expression]) -> tuple[ColumnRef, ...]:
    candidates = (*sides.left.viable, sides.left_on, *sides.right.viable, sides.right_on)
    columns = [c for c in candidates if isinstance(c, ColumnRef) and c in equivalent]
    return tuple(dict.fromkeys(columns))
