"""The SQL language: ksqlDB's dialect, on the same topologies as the DSL.

The parser turns text into a tree, the planner checks the tree against columns and types, and the
expressions of a query are compiled to Python functions:

``syntax``, ``builders``
    Text to AST. ``parser.parse_statement`` parses one statement. ``split_statements`` cuts a script
    into statements, because a statement can define variables that later ones use. ``format`` turns
    an AST back into text that parses to the same AST.
``ast``
    Frozen dataclasses with source spans: ``statements`` (``Statement`` is the union of all),
    ``administration``, ``queries``, ``expressions``, ``types``; ``walk`` finds and replaces nodes.
``casting``, ``values``, ``arrow``, ``python_values``
    CAST and implicit conversion, and SQL values in Python and in Arrow. The types themselves are in
    ``penstock.model``, with ISO dates and Java's numbers.
``expressions``
    ``compile_expression(node, Scope(columns, functions))`` returns a type and a function of a row
    (a list or tuple with one value for each column of the scope). If an evaluation fails, the
    function returns None and calls the scope's ``log``. ``over_rows`` evaluates many rows at once.
``functions``
    ``library.built_in_functions()`` returns a ``FunctionRegistry``: ``scalar`` functions for
    expressions, ``bind_table`` for table functions such as EXPLODE, ``bind_aggregate`` for an
    ``Aggregator`` (initialize, aggregate, merge, map, undo). ``user`` has ``@udf``, ``@udtf`` and
    ``@udaf``.
``catalog``
    The streams, tables, types and queries of an engine; the properties of WITH; what CREATE, ALTER
    and DROP change.
``planner``
    From a query to a plan, and from a plan to a ``Topology``. Its docstring lists the passes.
``engine``, ``execution``, ``statements``, ``results``
    ``SqlEngine`` runs scripts; an ``Execution`` runs one script on a copy of the catalog.
``queries``
    Queries that run, in this process or on Spark, and the rows of SELECT.
``penstock.model.sql.errors``
    ``SqlError`` and its subclasses: code, message, fix, line, column and a caret line.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.model.sql.errors import (
        AnalysisError,
        FunctionError,
        ParseError,
        SqlError,
        SqlTypeError,
    )
    from penstock.sql.engine import SqlEngine
    from penstock.sql.functions.user import UserFunction, udaf, udf, udtf

#: The module of each public name. It is imported at the first access to the name.
_HOMES = {
    "penstock.model.sql.errors": (
        "AnalysisError", "FunctionError", "ParseError", "SqlError", "SqlTypeError",
    ),
    "penstock.sql.engine": ("SqlEngine",),
    "penstock.sql.functions.user": ("UserFunction", "udaf", "udf", "udtf"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'penstock.sql' has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "SqlEngine",
    "udf",
    "udtf",
    "udaf",
    "UserFunction",
    "SqlError",
    "ParseError",
    "AnalysisError",
    "SqlTypeError",
    "FunctionError",
]
