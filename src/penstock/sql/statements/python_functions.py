"""CREATE FUNCTION ... LANGUAGE PYTHON and DROP FUNCTION. Decorators: ``sql.functions.user``."""

from __future__ import annotations

import linecache
import sys
import textwrap
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from penstock.model.sql.errors import AnalysisError, SqlError, did_you_mean
from penstock.sql.ast.expressions import BooleanLiteral
from penstock.sql.ast.statements import CreateFunction, DropFunction
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.catalog.type_names import resolve
from penstock.sql.functions.registry import FunctionRegistry
from penstock.sql.functions.signature import Signature
from penstock.sql.functions.user import UserFunction, udaf, udf, udtf
from penstock.sql.planner.plan import calls_of
from penstock.sql.setting_names import PYTHON_FUNCTIONS


def create_function(
    statement: CreateFunction,
    catalog: Catalog,
    built_in: FunctionRegistry,
    config: Mapping[str, str],
) -> bool:
    """Run the body and add its function to the catalog; return whether there is a new function.

    Raises:
        AnalysisError: the configuration does not allow it, the name is taken, or the body is not
            the code of such a function.
    """
    _check_allowed(statement, config)
    name = statement.name.upper()
    if name in built_in and name not in built_in.yielding:
        raise AnalysisError(
            "function-exists",
            f"function {name} is not one that CREATE FUNCTION made, and cannot be replaced",
            fix="take another name",
            span=statement.span,
        )
    if name in catalog.functions:
        if statement.if_not_exists:
            return False
        _check_replaced(statement, catalog, name)
    catalog.functions[name] = _made(statement, catalog, name)
    return True


def drop_function(statement: DropFunction, catalog: Catalog, built_in: FunctionRegistry) -> bool:
    """Remove a function that CREATE FUNCTION made; return whether there was one."""
    name = statement.name.upper()
    if name in catalog.functions:
        _check_unused(name, catalog, statement)
        del catalog.functions[name]
        return True
    if statement.if_exists and (name not in built_in or name in built_in.yielding):
        return False
    raise AnalysisError(
        "unknown-function",
        f"there is no function {name} that CREATE FUNCTION made",
        fix=did_you_mean(name, catalog.functions) or "SHOW FUNCTIONS lists all functions",
        span=statement.span,
    )


def _check_allowed(statement: CreateFunction, config: Mapping[str, str]) -> None:
    if statement.language.upper() != "PYTHON":
        raise AnalysisError(
            "unknown-language",
            f"functions cannot be written in {statement.language}",
            fix="write LANGUAGE PYTHON",
            span=statement.span,
        )
    if config.get(PYTHON_FUNCTIONS, "false").strip().lower() != "true":
        raise AnalysisError(
            "functions-not-allowed",
            "CREATE FUNCTION runs Python code of the script, which is not allowed here",
            fix=f"when you start the engine, set {PYTHON_FUNCTIONS}=true; SET in a script cannot",
            span=statement.span,
        )


def _check_replaced(statement: CreateFunction, catalog: Catalog, name: str) -> None:
    if not statement.or_replace:
        raise AnalysisError(
            "function-exists",
            f"function {name} exists already",
            fix="use CREATE OR REPLACE FUNCTION, or DROP FUNCTION before",
            span=statement.span,
        )
    _check_unused(name, catalog, statement)


def _check_unused(name: str, catalog: Catalog, statement: CreateFunction | DropFunction) -> None:
    for query in catalog.queries.values():
        if name in {call.name for call in calls_of(query.plan.step)}:
            raise AnalysisError(
                "function-in-use",
                f"query {query.id} calls function {name}",
                fix=f"TERMINATE {query.id} before, or take another name",
                span=statement.span,
            )


def _made(statement: CreateFunction, catalog: Catalog, name: str) -> UserFunction:
    module = _module(statement, name)
    found = [value for key, value in vars(module).items() if key.upper() == name]
    if not found:
        raise AnalysisError(
            "no-such-function",
            f"the body of {name} defines no function and no class of that name",
            fix=f"write def {name.lower()}(...) in it",
            span=statement.span,
        )
    try:
        return _declared(statement, catalog, name, found[-1])
    except SqlError as error:
        message = f"{error.message} (at {error.at})" if error.at else error.message
        raise type(error)(error.code, message, error.fix, span=statement.span) from None


def _declared(statement: CreateFunction, catalog: Catalog, name: str, found: Any) -> UserFunction:
    has_types = statement.parameters is not None or statement.returns is not None
    if isinstance(found, UserFunction | type) and has_types:
        raise AnalysisError(
            "types-twice",
            f"the types of {name} come from hints in the body",
            fix="leave out the parameters and RETURNS",
        )
    columns = _is_over_columns(statement)
    if isinstance(found, UserFunction):
        return found
    if isinstance(found, type):
        return udaf(name=name)(found)
    shape = _shape(statement, catalog, name) if has_types else None
    if statement.is_table:
        return udtf(name=name, signature=shape)(found)
    return udf(name=name, signature=shape, columns=columns)(found)


def _shape(statement: CreateFunction, catalog: Catalog, name: str) -> Signature:
    if statement.parameters is None or statement.returns is None:
        raise AnalysisError(
            "incomplete-signature",
            f"function {name} has parameters or RETURNS, and not both",
            fix="write both, or neither and use hints",
        )
    parameters = tuple(resolve(each.type, catalog.types) for each in statement.parameters)
    return Signature(parameters, resolve(statement.returns, catalog.types))


def _is_over_columns(statement: CreateFunction) -> bool:
    is_set = False
    for each in statement.properties:
        if each.name.upper() != "COLUMNS" or not isinstance(each.value, BooleanLiteral):
            raise AnalysisError(
                "unknown-property",
                f"{each.name} is not a property of a function",
                fix="WITH (COLUMNS = TRUE) is the only one: the function takes Arrow arrays",
                span=each.span,
            )
        is_set = each.value.value
    return is_set


def _module(statement: CreateFunction, name: str) -> ModuleType:
    """Run the body in a module of its own, with the line numbers of the script."""
    file = f"CREATE FUNCTION {name}"
    # The body begins on the line of its $$, which is the first line of the text.
    source = "\n" * (statement.body_line - 1) + textwrap.dedent(statement.body)
    module = ModuleType(f"sql_function_{name.lower()}")
    # Workers get modules that they cannot import by value; those have a file.
    module.__file__ = file
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec"), module.__dict__)  # noqa: S102 - the setting allows it
    # The body is the user's own code: whatever it raises is reported with its line.
    except Exception as error:
        line = getattr(error, "lineno", None) or _line(error, file)
        raise AnalysisError(
            "bad-function-body",
            f"the body of {name} cannot be run: {type(error).__name__}: {error}"
            + (f" (line {line})" if line else ""),
            span=statement.span,
        ) from error
    return module


def _line(error: Exception, file: str) -> int | None:
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
