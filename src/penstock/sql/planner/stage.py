"""What a pass returns to the next one: the last step so far, and the meaning of names after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.model.sql.errors import AnalysisError
from penstock.model.sql.types import SqlType
from penstock.sql.ast.expressions import ColumnRef, Expression, Lambda
from penstock.sql.expressions import Column, Scope, compile_expression
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.planner.steps import Step


@dataclass(frozen=True, slots=True)
class Environment:
    """What every pass can use: functions, custom types and the settings in force."""

    functions: FunctionRegistry
    types: Mapping[str, SqlType]
    settings: Mapping[str, str]
    #: The number of partitions of each topic, if it is known.
    partitions: Mapping[str, int] = field(default_factory=dict)
    #: The prefix of the names of an inner query's steps, so that all names differ.
    prefix: str = ""

    def scope(self, columns: tuple[Column, ...]) -> Scope:
        return Scope(columns, self.functions, self.types)

    def type_of(
        self, expression: Expression | Lambda, columns: tuple[Column, ...]
    ) -> SqlType | None:
        """Check an expression and return its type; None for a bare NULL."""
        if isinstance(expression, Lambda):
            raise AnalysisError(
                "misplaced-lambda",
                "a lambda can only be the argument of a scalar function",
                span=expression.span,
            )
        return compile_expression(expression, self.scope(columns)).type


@dataclass(frozen=True, slots=True)
class Stage:
    """A step and how expressions refer to its key.

    ``key_refs`` has, for each key column, the column of the row that holds the key's value and
    makes a SELECT item the key. ``aliases`` are the sources in FROM, in order.
    """

    step: Step
    key_refs: tuple[ColumnRef, ...]
    aliases: tuple[str, ...]
    # For each column of a join's key: expressions that are equal to it, and those of them that
    # are columns.
    equivalent: tuple[frozenset[Expression], ...] = ()
    viable: tuple[tuple[ColumnRef, ...], ...] = ()
    # Expressions that a clause computed, and the columns that now hold their values.
    computed: tuple[tuple[Expression, ColumnRef], ...] = field(default=())
    # Columns of the key that no column of either side holds.
    synthetic_keys: tuple[str, ...] = ()
    is_foreign_key_join: bool = False
    # A join compares the number of partitions of this topic.
    topic: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.step.columns

    @property
    def is_join(self) -> bool:
        return len(self.aliases) > 1
