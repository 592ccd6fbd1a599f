"""SELECT: stars become columns, columns of the key stay the key, the rest is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.model.sql.types import SqlType, StructType, can_widen
from penstock.sql.ast.expressions import Cast, ColumnRef, Dereference, Expression
from penstock.sql.ast.queries import AllColumns, AllFields, Query, SelectColumn
from penstock.sql.catalog.schema import SYSTEM_COLUMNS, WINDOW_COLUMNS, SourceColumn
from penstock.sql.expressions import Column
from penstock.sql.planner.analysis import Analysis
from penstock.sql.planner.names import join_column
from penstock.sql.planner.stage import Environment, Stage
from penstock.sql.planner.steps import ProjectStep
from penstock.sql.syntax.format_expression import format_expression
from penstock.sql.syntax.parser import parse_type

_SYNTHESISED = "KSQL_SYNTH_"
#: The names of the key's columns that an inner query does not select.
HIDDEN_KEY = f"{_SYNTHESISED}KEY_"
_WINDOW_NAMES = frozenset(name for name, _ in WINDOW_COLUMNS)


def expanded(stage: Stage, query: Query, analysis: Analysis, environment: Environment) -> Query:
    """Replace stars by columns, and expressions that a clause computed by their columns.

    before: SELECT * FROM S                 S has key ID and value V
    after:  SELECT S.ID AS ID, S.V AS V FROM S
    """
    items: list[SelectColumn] = []
    for item in query.items:
        if isinstance(item, AllColumns):
            items.extend(_all_columns(item, stage, analysis))
        elif isinstance(item, AllFields):
            items.extend(_all_fields(item, stage, environment))
        else:
            items.append(_resolved(item, stage))
    return replace(query, items=tuple(items))


def _resolved(item: SelectColumn, stage: Stage) -> SelectColumn:
    for expression, ref in stage.computed:
        if item.expression == expression:
            return replace(item, expression=ref)
    return item


def _all_columns(item: AllColumns, stage: Stage, analysis: Analysis) -> Iterator[SelectColumn]:
    if not stage.is_join:
        return _columns_of_one(item, stage, analysis)
    return _columns_of_join(item, stage, analysis)


def _columns_of_one(item: AllColumns, stage: Stage, analysis: Analysis) -> Iterator[SelectColumn]:
    for ref in stage.key_refs:
        if not ref.name.startswith(HIDDEN_KEY):
            yield SelectColumn(ref, ref.name, span=item.span)
    keys = set(stage.key_refs)
    if stage.step.window is not None and not analysis.is_persistent:
        for name, _ in WINDOW_COLUMNS:
            yield SelectColumn(ColumnRef(name, stage.aliases[0]), name, span=item.span)
    for column in stage.columns:
        ref = ColumnRef(column.name, column.source)
        if ref not in keys and not _is_hidden(column):
            yield SelectColumn(ref, column.name, span=item.span)


def _is_hidden(column: Column) -> bool:
    return column.name in SYSTEM_COLUMNS or column.name.startswith(_SYNTHESISED)


def _columns_of_join(item: AllColumns, stage: Stage, analysis: Analysis) -> Iterator[SelectColumn]:
    if stage.computed and item.source is None:
        yield from _columns_of_rekeyed_join(item, stage)
        return
    if item.source is None:
        for name in stage.synthetic_keys:
            yield SelectColumn(ColumnRef(name), name, span=item.span)
    # Sources with commas between them may be joined in another order.
    for alias in (each.alias for each in analysis.sources):
        if item.source not in (None, alias):
            continue
        schema = analysis.source(alias).schema
        keys = [column.name for column in schema.key if not column.name.startswith(_SYNTHESISED)]
        others = [
            column.name
            for column in stage.columns
            if column.source == alias and column.name not in (*SYSTEM_COLUMNS, *keys)
        ]
        bounds = list(_bounds(stage, alias))
        for name in (*keys, *bounds, *others):
            yield SelectColumn(ColumnRef(name, alias), join_column(alias, name), span=item.span)


def _columns_of_rekeyed_join(item: AllColumns, stage: Stage) -> Iterator[SelectColumn]:
    """After PARTITION BY a join's columns are all alike: key first, pseudo columns included."""
    for ref in stage.key_refs:
        name = join_column(ref.source, ref.name) if ref.source else ref.name
        yield SelectColumn(ref, name, span=item.span)
    for column in stage.columns:
        ref = ColumnRef(column.name, column.source)
        if ref not in stage.key_refs and column.source is not None:
            name = join_column(column.source, column.name)
            yield SelectColumn(ref, name, span=item.span)


def _bounds(stage: Stage, alias: str) -> Iterator[str]:
    return (c.name for c in stage.columns if c.source == alias and c.name in _WINDOW_NAMES)


def _all_fields(item: AllFields, stage: Stage, environment: Environment) -> Iterator[SelectColumn]:
    type_ = environment.type_of(item.base, stage.columns)
    if not isinstance(type_, StructType):
        raise SqlTypeError(
            "not-a-struct",
            f"{format_expression(item.base)} is {type_ or 'NULL'}, ->* takes a STRUCT",
            span=item.span,
        )
    for each in type_.fields:
        yield SelectColumn(
            Dereference(item.base, each.name, span=item.span), each.name, span=item.span
        )


@dataclass(frozen=True, slots=True)
class Projected:
    """The last stage of a query and the columns of its result, those of the key first.

    ``selected`` are the same columns in the order of SELECT. ``plain_names`` are columns of a join
    by the names that they have in their sources.
    """

    stage: Stage
    columns: tuple[SourceColumn, ...]
    selected: tuple[SourceColumn, ...] = ()
    plain_names: Mapping[str, str] = field(default_factory=dict)


def projected(
    stage: Stage,
    query: Query,
    analysis: Analysis,
    environment: Environment,
    target: tuple[SourceColumn, ...] = (),
    *,
    is_inner: bool = False,
) -> Projected:
    """Return the columns of the result; ``target`` are those of the stream of INSERT INTO.

    The rows of an inner query have no topic of their own, so its SELECT need not have the key.
    """
    items = [item for item in query.items if isinstance(item, SelectColumn)]
    if analysis.is_persistent:
        items = [item for item in items if not _is_window_bound(item)]
        keys = _key_names(stage, items)
        missing = [ref for place, ref in enumerate(stage.key_refs) if place not in keys.values()]
        # With DISTINCT, the key is a part of the row or it is not.
        if missing and (not is_inner or (query.is_distinct and keys)):
            # A misspelt name may be meant as the key. Then this check refuses it and suggests the
            # right name.
            for item in items:
                _type(item.expression, stage, environment)
            raise _missing_key(stage, missing, analysis)
    else:
        keys = {}
    values: list[tuple[str, Expression]] = []
    shown: list[SourceColumn] = []
    selected: list[SourceColumn] = []
    by_index = {index: name for name, index in keys.items()}
    for place, item in enumerate(items):
        assert item.alias is not None
        index = _key_index(stage, item) if item.alias in keys else None
        if index is not None:
            selected.append(SourceColumn(item.alias, stage.step.key[index].type, "KEY"))
            continue
        wanted = target[place] if place < len(target) else None
        expression = _cast(item.expression, wanted, stage, environment)
        values.append((item.alias, expression))
        shown.append(SourceColumn(item.alias, _type(expression, stage, environment)))
        selected.append(shown[-1])
    key = tuple(
        SourceColumn(by_index.get(i, _name_of_key(i, column, is_inner)), column.type, "KEY")
        for i, column in enumerate(stage.step.key)
    )
    columns = (*key, *shown) if analysis.is_persistent else tuple(shown)
    _check_columns(columns, shown, analysis)
    step = ProjectStep(
        name="Project",
        input=stage.step,
        expressions=tuple(expression for _, expression in values),
        key_refs=stage.key_refs,
        columns=tuple(Column(column.name, column.type) for column in shown),
        key=key,
        key_format=stage.step.key_format,
        window=stage.step.window,
        is_table=stage.step.is_table,
    )
    names = _plain_names(items, {ref: each for each, ref in stage.computed})
    return Projected(replace(stage, step=step), columns, tuple(selected), names)


def _plain_names(
    items: list[SelectColumn], origin: Mapping[Expression, Expression]
) -> dict[str, str]:
    """Return the columns that a star has named A_X and that may be called X in an outer query."""
    found: dict[str, list[str]] = {}
    for item in items:
        ref = origin.get(item.expression, item.expression)
        if not isinstance(ref, ColumnRef) or ref.source is None or item.alias is None:
            continue
        if item.alias == join_column(ref.source, ref.name):
            found.setdefault(ref.name, []).append(item.alias)
    taken = {item.alias for item in items}
    return {name: n[0] for name, n in found.items() if len(n) == 1 and name not in taken}


def is_hidden_key(column: SourceColumn) -> bool:
    """Return whether a column of the key is one that an inner query does not select."""
    return column.name.startswith(HIDDEN_KEY)


def _name_of_key(place: int, column: SourceColumn, is_inner: bool) -> str:
    """Return the name of a key column that SELECT does not have."""
    return f"{HIDDEN_KEY}{place}" if is_inner else column.name


def _is_window_bound(item: SelectColumn) -> bool:
    return (
        isinstance(item.expression, ColumnRef)
        and item.expression.name in _WINDOW_NAMES
        and item.alias == item.expression.name
    )


def _key_index(stage: Stage, item: SelectColumn) -> int | None:
    for i, ref in enumerate(stage.key_refs):
        if item.expression == ref:
            return i
    return None


def _key_names(stage: Stage, items: list[SelectColumn]) -> dict[str, int]:
    """Return the names of the key's columns in the result; none may be there twice."""
    names: dict[str, int] = {}
    for item in items:
        index = _key_index(stage, item)
        if index is None:
            continue
        if index in names.values():
            raise AnalysisError(
                "repeated-key",
                f"key column {format_expression(stage.key_refs[index])} is in the SELECT twice",
                fix="keep one, and copy the key into the value with AS_VALUE",
                span=item.span,
            )
        names[str(item.alias)] = index
    return names


def _missing_key(stage: Stage, missing: list[ColumnRef], analysis: Analysis) -> AnalysisError:
    hidden = next((ref for ref in missing if ref.name.startswith(HIDDEN_KEY)), None)
    if hidden is not None:
        return AnalysisError(
            "missing-key",
            f"the key is missing in the SELECT: it is that of the query {hidden.source}, which does"
            " not select it either",
            fix=f"add the key to both; columns that {hidden.source} groups, partitions or joins by"
            " are its key",
            span=analysis.query.items[0].span or analysis.query.span,
        )
    origin = {ref: expression for expression, ref in stage.computed}
    choices = {ref: refs for ref, refs in zip(stage.key_refs, stage.viable, strict=False) if refs}
    wanted = " and ".join(
        " or ".join(format_expression(origin.get(each, each)) for each in choices.get(ref, (ref,)))
        for ref in missing
    )
    return AnalysisError(
        "missing-key",
        f"the key is missing in the SELECT: it must contain {wanted}",
        fix=f"add {wanted}",
        span=analysis.query.items[0].span or analysis.query.span,
    )


def _cast(
    expression: Expression,
    wanted: SourceColumn | None,
    stage: Stage,
    environment: Environment,
) -> Expression:
    """Cast a number if the target column of INSERT INTO has a wider type."""
    if wanted is None:
        return expression
    type_ = environment.type_of(expression, stage.columns)
    if type_ is None or type_ == wanted.type or not can_widen(type_, wanted.type):
        return expression
    return Cast(expression, parse_type(str(wanted.type)), span=expression.span)


def _type(expression: Expression, stage: Stage, environment: Environment) -> SqlType:
    type_ = environment.type_of(expression, stage.columns)
    if type_ is None:
        raise SqlTypeError(
            "null-column",
            "a column cannot be NULL alone: it has no type",
            fix="write CAST(NULL AS VARCHAR), or another type",
            span=expression.span,
        )
    return type_


def _check_columns(
    columns: tuple[SourceColumn, ...], values: list[SourceColumn], analysis: Analysis
) -> None:
    span = analysis.query.items[0].span or analysis.query.span
    if not values:
        raise AnalysisError(
            "no-value-columns",
            "the SELECT has no columns besides the key",
            fix="add a column, or copy the key into the value with AS_VALUE",
            span=span,
        )
    if not analysis.is_persistent:
        return
    twice = [name for name, count in Counter(c.name for c in columns).items() if count > 1]
    if twice:
        raise AnalysisError(
            "duplicate-column",
            f"the SELECT has several columns called {', '.join(twice)}",
            fix="give them different names with AS",
            span=span,
        )
