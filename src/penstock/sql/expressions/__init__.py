"""Expressions: resolve names, check types, and compile each expression to a function of a row."""

from penstock.sql.expressions.columns import ColumnExpression, compile_columns
from penstock.sql.expressions.compiler import compile_condition, compile_expression
from penstock.sql.expressions.scope import Column, Compiled, Evaluate, Log, Row, Scope

__all__ = [
    "Column",
    "ColumnExpression",
    "Compiled",
    "Evaluate",
    "Log",
    "Row",
    "Scope",
    "compile_columns",
    "compile_condition",
    "compile_expression",
]
