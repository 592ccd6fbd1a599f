"""What an expression can see: the columns of its row, functions and custom types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.model.sql.types import SqlType
from penstock.sql.ast.expressions import ColumnRef, Expression
from penstock.sql.functions.registry import FunctionRegistry

Row = Sequence[Any]
Evaluate = Callable[[Row], Any]
# Called with the SQL text that failed, the error and the row: the processing log of a query.
Log = Callable[[str, Exception, Row], None]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row; ``source`` is the alias it can be qualified with."""

    name: str
    type: SqlType
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A checked expression: its type, None for a bare NULL, and the function over a row.

    ``evaluate`` may raise an error; that of ``compile_expression`` logs it and returns None.
    """

    type: SqlType | None
    evaluate: Evaluate


def _no_log(_: str, __: Exception, ___: Row) -> None:
    """Ignore an error."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns of a row in order, and everything else that an expression can name.

    A lambda's parameters are columns after those of the row; among them, the last one of a name
    wins.
    """

    columns: tuple[Column, ...]
    functions: FunctionRegistry
    types: Mapping[str, SqlType] = field(default_factory=dict)
    log: Log = _no_log
    lambda_columns: tuple[Column, ...] = ()

    def with_parameters(self, columns: tuple[Column, ...]) -> Scope:
        return replace(self, lambda_columns=self.lambda_columns + columns)

    def find(self, ref: ColumnRef) -> tuple[int, SqlType]:
        """Return a column's position in the row and its type."""
        width = len(self.columns)
        for i in range(len(self.lambda_columns) - 1, -1, -1):
            if ref.source is None and self.lambda_columns[i].name == ref.name:
                return width + i, self.lambda_columns[i].type
        found = [
            i
            for i, column in enumerate(self.columns)
            if column.name == ref.name and ref.source in (None, column.source)
        ]
        if len(found) == 1:
            return found[0], self.columns[found[0]].type
        raise self._ambiguous(ref, found) if found else self._unknown(ref)

    def _ambiguous(self, ref: ColumnRef, found: list[int]) -> AnalysisError:
        sources = " or ".join(f"{self.columns[i].source}.{ref.name}" for i in found)
        return AnalysisError(
            "ambiguous-column",
            f"column {ref.name!r} is ambiguous",
            fix=f"write {sources}",
            span=ref.span,
        )

    def _unknown(self, ref: ColumnRef) -> AnalysisError:
        shown = f"{ref.source}.{ref.name}" if ref.source else ref.name
        known = {column.source for column in self.columns} - {None}
        if ref.source is not None and ref.source not in known:
            return AnalysisError(
                "unknown-source",
                f"column {shown!r} cannot be resolved: no source is called {ref.source!r}",
                fix=did_you_mean(ref.source, [name for name in known if name]),
                span=ref.span,
            )
        return AnalysisError(
            "unknown-column",
            f"column {shown!r} cannot be resolved",
            fix=did_you_mean(ref.name, [column.name for column in self.columns])
            or f"columns are {', '.join(column.name for column in self.columns) or 'none'}",
            span=ref.span,
        )


class CompileNode(Protocol):
    """Compiles a part of an expression, whatever its kind; ``compiler.compile_node`` is the one.

    Modules of single kinds get it as an argument, because the compiler imports all of them.
    """

    def __call__(
        self, node: Expression, scope: Scope, hint: SqlType | None = None, /
    ) -> Compiled: ...
