"""Joins: the key of the result, and which side must be repartitioned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.formats.formats import format_named
from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import StructType
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.ast.queries import Join, Relation, Source
from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.expressions import Column
from penstock.sql.planner.analysis import Analysis
from penstock.sql.planner.clauses.clock import refuse_clock
from penstock.sql.planner.joining.join_conditions import (
    split_condition,
    with_condition,
    without_nulls,
)
from penstock.sql.planner.joining.join_sides import (
    Sides,
    check_kinds,
    check_partitions,
    check_types,
    check_windows,
    is_key,
)
from penstock.sql.planner.joining.windows_of_sides import with_plain_windows
from penstock.sql.planner.key_names import rewritten, with_equal_names
from penstock.sql.planner.names import AliasGenerator
from penstock.sql.planner.partitioning import rekeyed
from penstock.sql.planner.sources import source_stage
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ForeignKeyJoinStep, JoinStep, RekeyStep, shape_of
from penstock.sql.planner.subqueries import derived_stage


def joined(analysis: Analysis, environment: Environment) -> Stage:
    """Return the stage of FROM: a source, or the joins of several from left to right."""
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
    return join_stages(node, left, right, analysis, environment, prefix)


def join_stages(
    node: Join,
    left: Stage,
    right: Stage,
    analysis: Analysis,
    environment: Environment,
    prefix: str,
) -> Stage:
    """Return the join of two stages by the condition of ``node``."""
    node, right = with_plain_windows(node, left, right, prefix)
    sides, rest = split_condition(node, left, right)
    check_kinds(sides)
    if not _is_foreign_key(sides):
        check_windows(sides)
    if _is_foreign_key(sides):
        stage = _foreign_key_join(sides, environment, prefix)
    else:
        check_types(sides, environment)
        stage = _equal_key_join(sides, analysis, environment, prefix)
    return with_condition(stage, rest, node, right, environment)


def _is_foreign_key(sides: Sides) -> bool:
    left, right = sides.left, sides.right
    # Many windows of a key point at one row of a table without windows.
    is_windowed_alone = left.step.window is not None and right.step.window is None
    return left.step.is_table and (is_windowed_alone or not is_key(sides.left_on, left))


def _foreign_key_join(sides: Sides, environment: Environment, prefix: str) -> Stage:
    node, left, right = sides.node, sides.left, sides.right
    refuse_clock(sides.left_on, left, "ON")
    if node.kind in ("RIGHT", "FULL"):
        raise sides.refuse(
            "join-kind",
            f"{node.kind} JOIN is not possible on a foreign key",
            fix="use INNER or LEFT JOIN",
        )
    check_types(sides, environment)
    if right.step.window is not None:
        alias = right.aliases[0]
        raise sides.refuse(
            "join-windows",
            f"the keys of {alias} are windowed, and ON does not say which window is meant",
            fix=f"compare the windows, too: AND ... = {alias}.WINDOWSTART",
        )
    has_fields = len(right.step.key) > 1 or isinstance(right.step.key[0].type, StructType)
    if has_fields and _has_schema_id(right.step.key_format):
        # Other producers may have written these keys with another schema.
        right = rewritten(right, left.step.key_format, f"{prefix}RightSourceKeyed")
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
    sides = without_nulls(sides, environment)
    left = _keyed(sides.left, sides.left_on, environment, f"{prefix}LeftSourceKeyed")
    right = _keyed(sides.right, sides.right_on, environment, f"{prefix}RightSourceKeyed")
    key_format = _key_format(left, right, environment)
    left = _in_format(left, key_format, f"{prefix}LeftSourceKeyed")
    right = _in_format(right, key_format, f"{prefix}RightSourceKeyed")
    left, right = with_equal_names(left, right, prefix)
    equivalent = _equivalent(sides)
    viable = _viable(sides, equivalent)
    key = _key(left, viable, analysis)
    step = JoinStep(
        name=f"{prefix}Join",
        kind=sides.node.kind,
        left=left.step,
        right=right.step,
        within=sides.node.within,
        key_columns=key.appended,
        columns=(*left.columns, *right.columns, *key.extra),
        key=key.columns,
        key_format=key_format,
        window=left.step.window,
        is_table=left.step.is_table,
    )
    return Stage(
        step,
        key.refs,
        (*left.aliases, *right.aliases),
        topic=right.topic,
        equivalent=equivalent,
        viable=viable,
        synthetic_keys=tuple(column.name for column in key.extra),
    )


@dataclass(frozen=True, slots=True)
class _JoinKey:
    """The key of a join: its names, and its columns that neither side has."""

    refs: tuple[ColumnRef, ...]
    columns: tuple[SourceColumn, ...]
    extra: tuple[Column, ...]
    appended: tuple[int, ...]


def _key(left: Stage, viable: tuple[tuple[ColumnRef, ...], ...], analysis: Analysis) -> _JoinKey:
    taken = [c.name for each in analysis.sources for c in each.source.schema.columns]
    names = AliasGenerator(taken)
    refs: list[ColumnRef] = []
    columns: list[SourceColumn] = []
    extra: list[Column] = []
    appended: list[int] = []
    for place, candidates in enumerate(viable):
        type_ = left.step.key[place].type
        if candidates:
            ref = next((each for each in candidates if analysis.projects(each)), candidates[0])
            name = f"{ref.source}_{ref.name}"
        else:
            name = names.join_key()
            ref = ColumnRef(name)
            extra.append(Column(name, type_))
            appended.append(place)
        refs.append(ref)
        columns.append(SourceColumn(name, type_, "KEY"))
    return _JoinKey(tuple(refs), tuple(columns), tuple(extra), tuple(appended))


def _keyed(stage: Stage, on: tuple[Expression, ...], environment: Environment, name: str) -> Stage:
    if is_key(on, stage):
        return stage
    return rekeyed(stage, on, environment, name, "JOIN ON")


def _is_rekeyed(stage: Stage) -> bool:
    return isinstance(stage.step, RekeyStep)


def _key_format(left: Stage, right: Stage, environment: Environment) -> FormatSpec:
    """Return the left side's format, unless only the right side keeps its key."""
    for side in (left, right):
        if not _is_rekeyed(side) and side.step.key_format.name != "NONE":
            return side.step.key_format
    for side in (left, right):
        if side.step.key_format.name != "NONE":
            return side.step.key_format
    return FormatSpec(environment.settings.get("ksql.persistence.default.format.key", "KAFKA"))


def _in_format(stage: Stage, key_format: FormatSpec, name: str) -> Stage:
    """Serialize the keys of a side again if their bytes may differ from the other side's.

    Keys with a schema id may always differ: the id depends on the producer.
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
    return rewritten(stage, key_format, name)


def _has_schema_id(spec: FormatSpec) -> bool:
    return format_named(spec.name).infers


def _equivalent(sides: Sides) -> tuple[frozenset[Expression], ...]:
    """Return, for each column of the key, all expressions that equal it.

    After a FULL JOIN either side may be missing, so no expression equals it.
    """
    found: list[frozenset[Expression]] = []
    for pair in zip(sides.left_on, sides.right_on, strict=True):
        own = frozenset[Expression](pair if sides.node.kind != "FULL" else ())
        for side in (sides.left, sides.right):
            for known in side.equivalent:
                if known & own:
                    own |= known
        found.append(own)
    return tuple(found)


def _viable(
    sides: Sides, equivalent: tuple[frozenset[Expression], ...]
) -> tuple[tuple[ColumnRef, ...], ...]:
    found: list[tuple[ColumnRef, ...]] = []
    for place, known in enumerate(equivalent):
        candidates = (
            *(ref for refs in sides.left.viable for ref in refs),
            sides.left_on[place],
            *(ref for refs in sides.right.viable for ref in refs),
            sides.right_on[place],
        )
        columns = [each for each in candidates if isinstance(each, ColumnRef) and each in known]
        found.append(tuple(dict.fromkeys(columns)))
    return tuple(found)
