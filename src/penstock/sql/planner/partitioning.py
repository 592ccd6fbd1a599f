"""PARTITION BY: a new key for a stream's records."""

from __future__ import annotations

from dataclasses import replace

from penstock.formats.columns import parts
from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.types import MapType, SqlType
from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall, NullLiteral
from penstock.sql.ast.walk import walk
from penstock.sql.catalog.catalog import FormatSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.expressions import Column
from penstock.sql.planner.names import AliasGenerator
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import RekeyStep
from penstock.sql.syntax.format_expression import format_expression

_NO_KEY = FormatSpec("NONE")


def partitioned(
    stage: Stage, expressions: tuple[Expression, ...] | None, environment: Environment
) -> Stage:
    """Return the stage of PARTITION BY; columns keep their name, others get one.

    before: key ID, row (V, ID)            PARTITION BY V + 1
    after:  key KSQL_COL_0, row (V, ID, KSQL_COL_0)
    """
    if expressions is None:
        return stage
    if not expressions:
        raise AnalysisError(
            "empty-partition-by", "PARTITION BY needs an expression", fix="write PARTITION BY NULL"
        )
    if stage.step.is_table:
        raise AnalysisError(
            "partition-table",
            "PARTITION BY is for streams: a table's rows belong to its primary key",
            fix="GROUP BY the expressions, or read the table's topic as a stream",
            span=expressions[0].span,
        )
    for expression in expressions:
        _refuse_functions(expression, environment)
    if any(isinstance(expression, NullLiteral) for expression in expressions):
        return _without_key(stage, expressions)
    if expressions == stage.key_refs:
        # The key does not change, so it stays windowed if it is.
        return replace(stage, computed=tuple(zip(expressions, stage.key_refs, strict=True)))
    return rekeyed(stage, expressions, environment, "PartitionBy", "PARTITION BY")


def rekeyed(
    stage: Stage,
    expressions: tuple[Expression, ...],
    environment: Environment,
    name: str,
    clause: str,
) -> Stage:
    """Return the stage with the expressions' values as key."""
    if stage.step.window is not None:
        raise AnalysisError(
            "rekey-windowed",
            f"{clause}: the records of {stage.aliases[0]} have windowed keys, which cannot change",
            fix="GROUP BY the expression",
            span=expressions[0].span,
        )
    names = AliasGenerator([column.name for column in stage.columns])
    key: list[SourceColumn] = []
    refs: list[ColumnRef] = []
    appended: list[int] = []
    extra: list[Column] = []
    for i, expression in enumerate(expressions):
        type_ = key_type(expression, stage, environment, clause)
        if isinstance(expression, ColumnRef):
            ref = expression
        else:
            ref = ColumnRef(names.alias_for(expression))
            appended.append(i)
            extra.append(Column(ref.name, type_))
        refs.append(ref)
        key.append(SourceColumn(ref.name, type_, "KEY"))
    step = RekeyStep(
        name=name,
        input=stage.step,
        expressions=expressions,
        key_refs=stage.key_refs,
        appended=tuple(appended),
        columns=(*stage.columns, *extra),
        key=tuple(key),
        key_format=stage.step.key_format,
        window=stage.step.window,
        is_table=stage.step.is_table,
    )
    return replace(
        stage,
        step=step,
        key_refs=tuple(refs),
        equivalent=(),
        viable=(),
        synthetic_keys=(),
        computed=tuple(zip(expressions, refs, strict=True)),
    )


def key_type(
    expression: Expression, stage: Stage, environment: Environment, clause: str
) -> SqlType:
    """Return the type of an expression that becomes a key."""
    type_ = environment.type_of(expression, stage.columns)
    if type_ is None:
        raise SqlTypeError("null-key", f"{clause} NULL has no type", span=expression.span)
    if any(isinstance(part, MapType) for part in parts(type_)):
        raise SqlTypeError(
            "map-in-key",
            f"{clause} {format_expression(expression)} is a key of type {type_}:"
            " maps have no fixed order, so equal keys could have different bytes",
            fix="use single values of the map",
            span=expression.span,
        )
    return type_


def _without_key(stage: Stage, expressions: tuple[Expression, ...]) -> Stage:
    if len(expressions) > 1:
        raise AnalysisError(
            "partition-by-null",
            "PARTITION BY takes columns or NULL, not both",
            fix="write PARTITION BY NULL for records without a key",
            span=expressions[0].span,
        )
    step = RekeyStep(
        name="PartitionBy",
        input=stage.step,
        expressions=(),
        columns=stage.columns,
        key=(),
        key_format=_NO_KEY,
        window=None,
        is_table=False,
    )
    return replace(stage, step=step, key_refs=(), equivalent=(), viable=(), synthetic_keys=())


def _refuse_functions(expression: Expression, environment: Environment) -> None:
    for node in walk(expression):
        if isinstance(node, FunctionCall) and environment.functions.is_table_function(node.name):
            raise AnalysisError(
                "misplaced-table-function",
                f"table function {node.name} cannot stand in PARTITION BY",
                fix="explode into a stream first, then partition that",
                span=node.span,
            )
