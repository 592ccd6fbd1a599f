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
``types``, ``casting``, ``calendar``, ``java``, ``values``, ``arrow``
    SQL types and their Python values, CAST and implicit conversion, ISO dates, Java's numbers,
    Arrow's types.
``expressions``
    ``compile_expression(node, Scope(columns, functions))`` gives a type and a function over a row
    (a list or tuple with one value for each column of the scope). An evaluation that fails gives
    None and calls the scope's ``log``. ``compile_columns`` gives the same over Arrow columns.
``functions``
    ``library.built_in_functions()`` gives a ``FunctionRegistry``: ``scalar`` functions for
    expressions, ``bind_table`` for EXPLODE and its kin, ``bind_aggregate`` for an ``Aggregator``
    (initialize, aggregate, merge, map, undo). ``user`` has ``@udf``, ``@udtf`` and ``@udaf``.
``errors``
    ``SqlError`` and its kinds: code, message, fix, line, column and a caret line.
"""

from penstock.sql.engine import SqlEngine
from penstock.sql.errors import (
    AnalysisError,
    FunctionError,
    ParseError,
    SqlError,
    SqlTypeError,
)
from penstock.sql.functions.user import UserFunction, udaf, udf, udtf

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
