"""The stateless named functions: mappers, key selectors, flat mappers, predicates.

Every function takes ``(key, value)``; ``build`` narrows it to the overload a case asks for.
Functions that fold two values into one are in ``folds``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.oracle.values import MAX_LONG, field, fmt, plus, text, times, units, wrap64

KeyValueFn = Callable[[Any, Any], Any]
#: Makes a function from what follows the first colon of its spec.
Factory = Callable[[str], Any]


class UnknownSpecError(Exception):
    """A case names a function or processor that the format does not have."""


class Registry:
    """Named function factories of one family. A spec is ``name`` or ``name:rest``."""

    def __init__(self, family: str, factories: dict[str, Factory]) -> None:
        self._family = family
        self._factories = factories

    def __call__(self, spec: str) -> Any:
        name, _, rest = spec.partition(":")
        if name not in self._factories:
            raise UnknownSpecError(f"unknown {self._family} {spec!r}")
        return self._factories[name](rest)

    def __contains__(self, spec: str) -> bool:
        return spec.partition(":")[0] in self._factories


def _of_value(function: Callable[[Any], Any]) -> Factory:
    """A value mapper without argument that gives None for None."""
    return lambda _: lambda _k, v: None if v is None else function(v)


def _with_rest(function: Callable[[Any, str], Any]) -> Factory:
    """A value mapper that takes the rest of its spec and gives None for None."""
    return lambda rest: lambda _k, v: None if v is None else function(v, rest)


def _number(literal: str, like: Any) -> Any:
    return int(literal) if isinstance(like, int) else float(literal)


def _parse_long(value: Any) -> int:
    if not re.fullmatch(r"[+-]?\d+", text(value)) or wrap64(int(value)) != int(value):
        raise ValueError(f"For input string: {value!r}")
    return int(value)


def _to_long(value: float) -> int:
    return 0 if value != value else max(-MAX_LONG - 1, min(MAX_LONG, int(value)))


def _fail_if(value: Any, rest: str) -> Any:
    if fmt(value) == rest:
        raise RuntimeError(f"fail_if:{rest}")
    return value


def _set_field(value: Any, rest: str) -> Any:
    name, _, new = rest.partition(":")
    return {**value, name: new}


def _key_concat(key: Any, value: Any) -> str:
    return f"{fmt(key)}={fmt(value)}"


value_mapper = Registry(
    "value mapper",
    {
        "identity": _of_value(lambda v: v),
        "upper": _of_value(lambda v: text(v).upper()),
        "lower": _of_value(lambda v: text(v).lower()),
        "reverse": _of_value(lambda v: text(v)[::-1]),
        "first_char": _of_value(lambda v: text(v)[:1] or None),
        "len": _of_value(lambda v: units(text(v))),
        "append": _with_rest(lambda v, x: fmt(v) + x),
        "prefix": _with_rest(lambda v, x: x + fmt(v)),
        "to_string": _of_value(fmt),
        "fmt": lambda _: lambda _k, v: fmt(v),
        "parse_long": _of_value(_parse_long),
        "to_double": _of_value(float),
        "to_long": _of_value(_to_long),
        "add": _with_rest(lambda v, n: plus(v, _number(n, v))),
        "mul": _with_rest(lambda v, n: times(v, _number(n, v))),
        "mod": _with_rest(lambda v, n: v % int(n)),
        "null_if": _with_rest(lambda v, x: None if fmt(v) == x else v),
        "fail_if": _with_rest(_fail_if),
        "default": lambda x: lambda _k, v: x if v is None else v,
        "const": lambda x: lambda _k, _v: x,
        "const_long": lambda n: lambda _k, _v: int(n),
        "null": lambda _: lambda _k, _v: None,
        "value_field": _with_rest(field),
        "wrap": _with_rest(lambda v, f: {f: v}),
        "set_field": _with_rest(_set_field),
        "key_concat": lambda _: _key_concat,
        "key": lambda _: lambda k, _v: k,
    },
)


def _on_key(spec: str) -> KeyValueFn:
    mapper = value_mapper(spec)
    return lambda k, _v: mapper(k, k)


key_selector = Registry(
    "key selector",
    {
        "key": lambda _: lambda k, _v: k,
        "value": lambda _: lambda _k, v: v,
        "const": lambda x: lambda _k, _v: x,
        "null": lambda _: lambda _k, _v: None,
        "key_concat": lambda _: _key_concat,
        "field": lambda f: lambda _k, v: field(v, f),
        "on_key": _on_key,
        "on_value": value_mapper,
        "window_start": lambda _: lambda k, _v: None if k is None else k.window.start,
        "window_key": lambda _: lambda k, _v: None if k is None else k.key,
    },
)


def _pair(make_key: KeyValueFn, make_value: KeyValueFn) -> KeyValueFn:
    return lambda k, v: (make_key(k, v), make_value(k, v))


def _this_key(key: Any, _value: Any) -> Any:
    return key


def _this_value(_key: Any, value: Any) -> Any:
    return value


def _key_by_and(rest: str) -> KeyValueFn:
    selector, _, mapper = rest.partition("|")
    return _pair(key_selector(selector), value_mapper(mapper))


pair_mapper = Registry(
    "key-value mapper",
    {
        "swap_kv": lambda _: lambda k, v: (v, k),
        "identity": lambda _: lambda k, v: (k, v),
        "const_key": lambda x: lambda _k, v: (x, v),
        "on_value": lambda spec: _pair(_this_key, value_mapper(spec)),
        "on_key": lambda spec: _pair(_on_key(spec), _this_value),
        "key_by": lambda spec: _pair(key_selector(spec), _this_value),
        "key_by_and": _key_by_and,
        "null_pair": lambda _: lambda _k, _v: None,
    },
)


def _words(value: Any) -> list[str]:
    return [] if value is None else [word for word in text(value).split(" ") if word]


flat_value_mapper = Registry(
    "flat value mapper",
    {
        "split_words": lambda _: lambda _k, v: _words(v),
        "chars": lambda _: lambda _k, v: [] if v is None else list(text(v)),
        "dup": lambda n: lambda _k, v: [v] * int(n),
        "empty": lambda _: lambda _k, _v: [],
        "with_key": lambda _: lambda k, v: [fmt(k), fmt(v)],
    },
)


def _flat_on_value(spec: str) -> KeyValueFn:
    mapper = flat_value_mapper(spec)
    return lambda k, v: [(k, each) for each in mapper(k, v)]


flat_mapper = Registry(
    "flat mapper",
    {
        "words_as_keys": lambda _: lambda _k, v: [(word, v) for word in _words(v)],
        "on_value": _flat_on_value,
        "empty": lambda _: lambda _k, _v: [],
        "both_ways": lambda _: lambda k, v: [(k, v), (v, k)],
    },
)


def _test(check: Callable[[Any, str], bool]) -> Factory:
    """A predicate on the value that is false for None."""
    return lambda rest: lambda _k, v: v is not None and check(v, rest)


def _field_gt(value: Any, rest: str) -> bool:
    name, _, bound = rest.partition(":")
    member = field(value, name)
    return isinstance(member, int | float) and member > float(bound)


def _predicate_not(spec: str) -> KeyValueFn:
    inner = predicate(spec)
    return lambda k, v: not inner(k, v)


def _predicate_fail_if(rest: str) -> KeyValueFn:
    return lambda _k, v: (_fail_if(v, rest), True)[1]


predicate = Registry(
    "predicate",
    {
        "true": lambda _: lambda _k, _v: True,
        "false": lambda _: lambda _k, _v: False,
        "even": _test(lambda v, _: v % 2 == 0),
        "odd": _test(lambda v, _: v % 2 != 0),
        "gt": _test(lambda v, n: v > float(n)),
        "lt": _test(lambda v, n: v < float(n)),
        "len_gt": _test(lambda v, n: units(text(v)) > int(n)),
        "starts_with": _test(lambda v, x: text(v).startswith(x)),
        "contains": _test(lambda v, x: x in text(v)),
        "value_is": lambda x: lambda _k, v: fmt(v) == x,
        "key_is": lambda x: lambda k, _v: fmt(k) == x,
        "key_in": lambda xs: lambda k, _v: fmt(k) in xs.split(","),
        "value_null": lambda _: lambda _k, v: v is None,
        "key_null": lambda _: lambda k, _v: k is None,
        "field_gt": _test(_field_gt),
        "has_field": _test(lambda v, f: field(v, f) is not None),
        "not": _predicate_not,
        "fail_if": _predicate_fail_if,
    },
)
