"""Proves from its bytecode that a Python function has no side effects.

Over columns, a function sees all records of a piece before the next function sees any, and a batch
that is given up calls it again. Nobody can tell if its result depends on its arguments alone and it
changes nothing. So it may read its arguments, use operators and call what is known to be as
harmless. It may not assign to items or attributes, change anything outside of it, or call anything
that is not known here.

The proof holds for arguments of plain types: ``PLAIN`` has them. An operator of a class of the user
may do anything, so the caller checks the types.
"""

from __future__ import annotations

import builtins
import dis
import math
import operator
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from itertools import islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
)
from typing import Any, Final

from penstock.model.column_function import MadeOf
from penstock.model.windows.windowed import Window, Windowed

#: Types of values whose operators and methods are known.
PLAIN: Final[frozenset[type]] = frozenset({
    bool, bytes, complex, date, datetime, Decimal, dict, float, Fraction, frozenset, int, list, set,
    str, time, timedelta, tuple, type(None), Window, Windowed,
})  # fmt: skip
#: Types of constants that hold other constants.
_HOLDERS = (dict, frozenset, list, set, tuple)
_HARMLESS: Final = frozenset({
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "chr", "dict", "divmod", "enumerate",
    "filter", "float", "format", "frozenset", "hex", "int", "isinstance", "len", "list", "map",
    "max", "min", "oct", "ord", "pow", "range", "repr", "reversed", "round", "set", "slice",
    "sorted", "str", "sum", "tuple", "zip",
})  # fmt: skip
_BUILTINS: Final = {name: getattr(builtins, name) for name in _HARMLESS}
_MODULES: Final = (math,)
_OPERATORS: Final = (
    operator.add, operator.and_, operator.eq, operator.floordiv, operator.ge, operator.gt,
    operator.le, operator.lt, operator.mod, operator.mul, operator.ne, operator.neg,
    operator.not_, operator.or_, operator.sub, operator.truediv, operator.xor,
)  # fmt: skip
#: Methods and attributes of plain values that only read. A name that some type uses for a method
#: with side effects, such as ``pop``, is not among them.
_READS: Final = frozenset({
    *(name for name in dir(str) + dir(bytes) if not name.startswith("_")),
    "as_integer_ratio", "bit_length", "conjugate", "copy", "count", "date", "day", "days",
    "difference", "end", "fromhex", "fromisoformat", "fromkeys", "fromtimestamp", "get", "hex",
    "hour", "imag", "index", "int", "intersection", "is_integer", "isdisjoint", "isoformat",
    "isocalendar", "isoweekday", "issubset", "issuperset", "items", "key", "keys", "microsecond",
    "minute", "month", "quantize", "real", "second", "seconds", "start", "strftime", "strptime",
    "symmetric_difference", "time", "timestamp", "total_seconds", "tzinfo", "union", "utctimetuple",
    "values", "weekday", "window", "year",
    *(name for name in dir(math) if not name.startswith("_")),
    # Fields of a record, which timestamp extractors read.
    "headers", "offset", "partition", "topic", "value",
})  # fmt: skip
#: Classes that may be called and whose class methods may be used; the current time is not read.
_CLASSES: Final = (date, datetime, Decimal, Fraction, time, timedelta, timezone)
_CLOCKS: Final = frozenset({"now", "today", "utcnow"})

_OPERATIONS: Final = frozenset({
    "BINARY_SLICE", "BINARY_SUBSCR", "BUILD_CONST_KEY_MAP", "BUILD_LIST", "BUILD_MAP",
    "BUILD_SET", "BUILD_SLICE", "BUILD_STRING", "BUILD_TUPLE", "CACHE", "CALL",
    "CALL_FUNCTION_EX", "CALL_INTRINSIC_1", "CALL_KW", "CHECK_EXC_MATCH", "COMPARE_OP",
    "CONTAINS_OP", "CONVERT_VALUE", "COPY", "COPY_FREE_VARS", "DELETE_FAST", "DICT_MERGE",
    "DICT_UPDATE", "END_FOR", "EXTENDED_ARG", "FORMAT_SIMPLE", "FORMAT_VALUE",
    "FORMAT_WITH_SPEC", "FOR_ITER", "GET_ITER", "GET_LEN", "IS_OP", "KW_NAMES", "LIST_APPEND",
    "LIST_EXTEND", "LIST_TO_TUPLE", "LOAD_ASSERTION_ERROR", "LOAD_CLOSURE",
    "LOAD_COMMON_CONSTANT", "LOAD_CONST", "LOAD_FAST", "LOAD_FAST_AND_CLEAR",
    "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_SMALL_INT", "MAKE_CELL", "MAKE_FUNCTION",
    "MAP_ADD", "MATCH_CLASS", "MATCH_KEYS", "MATCH_MAPPING", "MATCH_SEQUENCE", "NOP",
    "NOT_TAKEN", "POP_EXCEPT", "POP_ITER", "POP_TOP", "PRECALL", "PUSH_EXC_INFO", "PUSH_NULL",
    "RAISE_VARARGS", "RERAISE", "RESUME", "RETURN_CONST", "RETURN_GENERATOR", "RETURN_VALUE",
    "SET_ADD", "SET_FUNCTION_ATTRIBUTE", "SET_UPDATE", "STORE_FAST", "STORE_FAST_LOAD_FAST",
    "STORE_FAST_STORE_FAST", "SWAP", "TO_BOOL", "UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_NOT",
    "UNARY_POSITIVE", "UNPACK_EX", "UNPACK_SEQUENCE", "YIELD_VALUE",
})  # fmt: skip
_JUMPS: Final = ("JUMP", "POP_JUMP")
#: Why an operation is not harmless, for those that people use.
_CHANGES: Final = {
    "DELETE_ATTR": "changes an object",
    "DELETE_GLOBAL": "changes a variable outside of it",
    "DELETE_SUBSCR": "deletes an item",
    "IMPORT_NAME": "imports a module",
    "STORE_ATTR": "changes an object",
    "STORE_GLOBAL": "changes a variable outside of it",
    "STORE_SLICE": "assigns to an item",
    "STORE_SUBSCR": "assigns to an item",
}
#: How much of a constant is looked at.
_MOST_ITEMS: Final = 1_000
_DEEPEST: Final = 8
_NOT_CALLED_ONCE: Final = CO_ASYNC_GENERATOR | CO_COROUTINE | CO_GENERATOR


class UnprovenError(Exception):
    """Says what a function does that may have a side effect."""


def side_effect(fn: Any) -> str | None:
    """Return what a function may do besides computing its result; ``None`` if it does nothing.

    The text continues a sentence: "its function ...".
    """
    try:
        _check(fn, set())
    except UnprovenError as found:
        return str(found)
    return None


def unread_arguments(fn: Any) -> frozenset[int]:
    """Return the places of the arguments that a plain function never looks at."""
    if not isinstance(fn, FunctionType):
        return frozenset()
    code = fn.__code__
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        # Arguments that are collected into a tuple or a dict have no place of their own.
        return frozenset()
    read = {name for each in dis.get_instructions(code) for name in _names(each)}
    arguments = code.co_varnames[: code.co_argcount]
    return frozenset(place for place, name in enumerate(arguments) if name not in read)


def _names(each: dis.Instruction) -> tuple[str, ...]:
    """Return the local variables of an instruction; some instructions have two."""
    if isinstance(each.argval, tuple):
        return tuple(name for name in each.argval if isinstance(name, str))
    return (each.argval,) if isinstance(each.argval, str) else ()


def _check(fn: Any, seen: set[int]) -> None:
    """Raise unless calling ``fn`` with plain values is harmless."""
    if id(fn) in seen:
        return
    seen.add(id(fn))
    if isinstance(fn, FunctionType):
        _check_function(fn, seen)
    elif type(fn) is partial:
        for part in (*fn.args, *fn.keywords.values()):
            _check_value(part, "an argument", seen)
        _check(fn.func, seen)
    elif isinstance(fn, MadeOf):
        for part in fn.parts():
            _check(part, seen)
    elif isinstance(fn, operator.itemgetter):
        return
    elif not _is_known(fn):
        raise UnprovenError(f"calls {_name(fn)!r}, which may do anything")


def _is_known(fn: Any) -> bool:
    if isinstance(fn, MethodDescriptorType):
        return fn.__objclass__ in PLAIN and fn.__name__ in _READS
    if isinstance(fn, BuiltinFunctionType) and getattr(fn, "__self__", None) is math:
        return True
    known: tuple[Any, ...] = (*_BUILTINS.values(), *_OPERATORS, *_CLASSES)
    return any(fn is each for each in known) or _is_error(fn)


def _is_error(fn: Any) -> bool:
    """Tell whether this is a class of built-in errors: making one has no effect."""
    return isinstance(fn, type) and issubclass(fn, Exception) and fn.__module__ == builtins.__name__


def _check_function(fn: FunctionType, seen: set[int]) -> None:
    if fn.__code__.co_flags & _NOT_CALLED_ONCE:
        raise UnprovenError("is a generator or a coroutine")
    for given in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
        _check_value(given, "a default", seen)
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:
            raise UnprovenError(f"uses {name!r}, which has no value yet") from None
        _check_value(held, name, seen)
    _check_code(fn.__code__, fn.__globals__, seen)


def _check_code(code: CodeType, names: dict[str, Any], seen: set[int], outer: str = "") -> None:
    for each in dis.get_instructions(code):
        operation, value = each.opname, each.argval
        if operation == "LOAD_GLOBAL":
            _check_value(_found(value, names), value, seen)
        elif operation in ("LOAD_ATTR", "LOAD_METHOD"):
            if value not in _READS or value in _CLOCKS:
                raise UnprovenError(f"uses {value!r}, which may do anything")
        elif operation == "BINARY_OP":
            if each.argrepr.endswith("="):
                raise UnprovenError(f"uses '{each.argrepr}', which may change a value in its place")
        elif operation in ("LOAD_DEREF", "STORE_DEREF"):
            # A variable that inner functions share; those of outer functions were checked above.
            if operation == "STORE_DEREF" and value not in code.co_cellvars:
                raise UnprovenError(f"changes the variable {value!r} outside of it")
        elif operation not in _OPERATIONS and not operation.startswith(_JUMPS):
            raise UnprovenError(_CHANGES.get(operation, f"does what is not known: {operation}"))
    for inner in _inner_codes(code):
        _check_code(inner, names, seen)


def _inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code of comprehensions and of functions inside a function."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
                raise UnprovenError("has a coroutine")
            yield constant


def _found(name: str, names: dict[str, Any]) -> Any:
    if name in names:
        return names[name]
    known = names.get("__builtins__", builtins)
    known = known if isinstance(known, dict) else vars(known)
    if name not in known:
        raise UnprovenError(f"uses {name!r}, which does not exist")
    return known[name]


def _check_value(value: Any, name: str, seen: set[int]) -> None:
    """Raise unless a value from outside the function is plain data or can be called."""
    if any(value is module for module in _MODULES):
        return
    if isinstance(value, ModuleType):
        raise UnprovenError(f"uses the module {name!r}")
    if type(value) in PLAIN:
        for item in _items(value):
            if not _is_data(item):
                raise UnprovenError(f"uses {name!r}, which holds a {type(item).__name__}")
        return
    if not callable(value):
        raise UnprovenError(f"uses {name!r}, a {type(value).__name__}")
    try:
        _check(value, seen)
    except UnprovenError as reason:
        if isinstance(value, FunctionType):
            raise UnprovenError(f"calls {name!r}, which {reason}") from None
        raise UnprovenError(f"uses {name!r}, which may do anything") from None


def _items(value: Any) -> Iterator[Any]:
    """Return the first items of a constant that holds others: a large one has them all alike."""
    if isinstance(value, dict):
        yield from islice(value, _MOST_ITEMS)
        yield from islice(value.values(), _MOST_ITEMS)
    elif isinstance(value, _HOLDERS):
        yield from islice(value, _MOST_ITEMS)


def _is_data(value: Any, depth: int = _DEEPEST) -> bool:
    if type(value) not in PLAIN or not depth:
        return False
    return all(_is_data(item, depth - 1) for item in _items(value))


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__
