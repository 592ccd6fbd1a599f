"""The SQL language: ksqlDB's dialect, on the same topologies as the DSL.

Text becomes a tree, the tree is checked against columns and types, expressions become closures:

``grammar.lark``, ``lexer``, ``parser``, ``builders``
    Text to AST. ``parser.parse_statement`` is the way in; ``split_statements`` cuts a script
    whose statements define variables that later ones use.
``ast``
    Frozen dataclasses with source spans: ``statements`` (``Statement`` is the union of all),
    ``administration``, ``queries``, ``expressions``, ``types``; ``walk`` finds and replaces nodes.
``format``
    AST to text that parses back to the same AST.
``type_names``, ``casting``, ``values``, ``arrow``
    SQL types as written, CAST and implicit conversion, Python values, Arrow's types. The types
    themselves are in ``penstock.model``, with ISO dates and Java's numbers.
``expressions``
    ``compile_expression(node, Scope(columns, functions))`` gives a type and a function over a row
    (a list or tuple with one value for each column of the scope). An evaluation that fails gives
    None and calls the scope's ``log``. ``over_rows`` gives the same for many rows at once.
``functions``
    ``library.built_in_functions()`` gives a ``FunctionRegistry``: ``scalar`` functions for
    expressions, ``bind_table`` for EXPLODE and its kin, ``bind_aggregate`` for an ``Aggregator``
    (initialize, aggregate, merge, map, undo). ``user`` has ``@udf``, ``@udtf`` and ``@udaf``.
``catalog``, ``schema``, ``properties``, ``ddl``, ``ddl_changes``, ``inferring``
    Streams, tables, types and queries; WITH; what CREATE, ALTER and DROP do to them.
``planner``
    From a query to a plan, and from a plan to a ``Topology``: its own module has the map.
``engine``, ``execution``, ``session``, ``insert_values``, ``listing``, ``results``
    ``SqlEngine`` runs scripts; an ``Execution`` runs one on a copy of the catalog.
``local``, ``running``, ``push``, ``pull``
    Queries in this process or on Spark, and the rows of SELECT.
``penstock.model.sql.errors``
    ``SqlError`` and its kinds: code, message, fix, line, column and a caret line.
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

#: Where each public name is defined; whoever asks for it loads that module.
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
