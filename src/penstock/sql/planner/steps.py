"""The steps of a physical plan, as data. How they become operators: ``planner.lowering``.

A row has one value for each of ``columns``. The key of a record is a tuple with one value for each
of ``key``, inside ``Windowed`` where ``window`` is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from penstock.model.sql.types import SqlType
from penstock.sql.ast.expressions import ColumnRef, Expression, FunctionCall
from penstock.sql.ast.queries import JoinKind, OrderItem, Window, Within
from penstock.sql.catalog.catalog import DataSource, FormatSpec, WindowSpec
from penstock.sql.catalog.schema import SourceColumn
from penstock.sql.expressions import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What all steps declare about their output records."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[SourceColumn, ...]
    key_format: FormatSpec
    window: WindowSpec | None
    is_table: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStep(Step):
    """Reads a topic. Rows are value and header columns, pseudo columns, key, window bounds."""

    source: DataSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesStep(Step):
    """Turns the records of a table's topic into rows about changes, each with the row before."""

    input: SourceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedStep(Step):
    """Takes the rows of an inner query as those of a source: with its key among the columns."""

    input: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterStep(Step):
    """Keeps the rows for which a condition holds."""

    input: Step
    condition: Expression
    clause: Literal["WHERE", "HAVING"] = "WHERE"


@dataclass(frozen=True, slots=True, kw_only=True)
class RekeyStep(Step):
    """Changes the key of records; key values that no column has are appended to the row.

    Without expressions, the key is null. ``is_forced`` marks a key that stays the same but must be
    serialized in another format. ``key_refs`` are the columns of the old key: expressions over
    these columns alone can be evaluated for records without a row, too.
    """

    input: Step
    expressions: tuple[Expression, ...]
    key_refs: tuple[ColumnRef, ...] = ()
    appended: tuple[int, ...] = ()
    is_forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplodeStep(Step):
    """Emits a row for each row of its table functions, with their values appended."""

    input: Step
    calls: tuple[FunctionCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStep(Step):
    """Joins on equal keys; ``key_columns`` are the positions in the key that are added to rows."""

    kind: JoinKind
    left: Step
    right: Step
    within: Within | None = None
    key_columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKeyJoinStep(Step):
    """Joins each left row with the right row whose key is computed from the left row."""

    kind: JoinKind
    left: Step
    right: Step
    foreign_key: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OverCall:
    """ROW_NUMBER, or LAG: the value that an expression had some rows before."""

    name: Literal["ROW_NUMBER", "LAG"]
    type: SqlType
    value: Expression | None = None
    rows: int = 0
    default: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverStep(Step):
    """Appends the results of OVER calls to each row; the key stays as it is.

    ``key_refs`` are the columns that hold the key. With ``by_time`` a row that is older than the
    one before it is dropped.
    """

    input: Step
    partition_by: tuple[Expression, ...]
    keeps_key: bool
    key_refs: tuple[ColumnRef, ...]
    calls: tuple[OverCall, ...]
    by_time: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TopStep(Step):
    """Keeps the first rows of each partition in an order.

    Rows get the values of ``partition_by`` and their rank as last columns. These are the key of the
    result; a single row of each partition needs no rank in it. With ``keeps_key`` the partition is
    the key of the input.
    """

    input: Step
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    at_most: int
    keeps_key: bool

    @property
    def has_rank(self) -> bool:
        return self.at_most > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwindowStep(Step):
    """Makes the windows of a table's keys plain columns of the key: first the key, then bounds."""

    input: Step
    bounds: tuple[Literal["START", "END"], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetimeStep(Step):
    """Gives each record the time that a column has; records without one are dropped."""

    input: Step
    time: ColumnRef


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctStep(Step):
    """Forwards each distinct row of a stream once.

    Without ``has_key`` only the columns decide, not the key. A row is remembered for ``ttl_ms``,
    or for ever.
    """

    input: Step
    has_key: bool
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionStep(Step):
    """Puts the rows of several inputs into one stream; all inputs have the same columns."""

    inputs: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateStep(Step):
    """Groups and folds. Rows are the key, one value for each call, then window bounds."""

    input: Step
    group_by: tuple[Expression, ...]
    calls: tuple[FunctionCall, ...]
    window_clause: Window | None = None
    is_final: bool = False
    keeps_key: bool = False
    #: What a user should know of the size of its state.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStep(Step):
    """Computes the columns of the result; the key stays as it is.

    ``key_refs`` are the columns of the input that hold the key.
    """

    input: Step
    expressions: tuple[Expression, ...]
    key_refs: tuple[ColumnRef, ...] = ()


class Shape(TypedDict):
    """The fields of ``Step`` that most steps take over from the one before."""

    columns: tuple[Column, ...]
    key: tuple[SourceColumn, ...]
    key_format: FormatSpec
    window: WindowSpec | None
    is_table: bool


def shape_of(
    step: Step,
    *,
    columns: tuple[Column, ...] | None = None,
    key_format: FormatSpec | None = None,
) -> Shape:
    """Return the shape of a step, with other columns or another key format if given."""
    return Shape(
        columns=step.columns if columns is None else columns,
        key=step.key,
        key_format=step.key_format if key_format is None else key_format,
        window=step.window,
        is_table=step.is_table,
    )
