"""The named functions that fold values together: joiners, reducers, aggregators, mergers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.functions import Factory, Registry
from tests.oracle.values import fmt, order, plus, text, units

Fold = Callable[[Any, Any], Any]


def _sum(a: Any, b: Any) -> Any:
    """Adds, None being 0."""
    return plus(0 if a is None else a, 0 if b is None else b)


def _sub(a: Any, b: Any) -> Any:
    return _sum(a, None if b is None else -b)


def _max(a: Any, b: Any) -> Any:
    return _pick(a, b, first=a is not None and b is not None and order(a) >= order(b))


def _min(a: Any, b: Any) -> Any:
    return _pick(a, b, first=a is not None and b is not None and order(a) <= order(b))


def _pick(a: Any, b: Any, *, first: bool) -> Any:
    return a if b is None or first else b


def _glue(sign: str) -> Fold:
    return lambda a, b: fmt(a) + sign + fmt(b)


def _comma(a: Any, b: Any) -> str:
    return fmt(a) + "," + fmt(b)


def _always(function: Any) -> Factory:
    return lambda _: function


def _joiner_null_if_right(x: str) -> Any:
    return lambda _k, left, right: None if fmt(right) == x else fmt(left) + "|" + fmt(right)


#: Joiners take ``(key, left, right)``; the key is None unless the case asks for ``with_key``.
joiner = Registry(
    "joiner",
    {
        "concat_pipe": _always(lambda _k, left, right: f"{fmt(left)}|{fmt(right)}"),
        "key_concat_pipe": _always(lambda k, left, right: f"{fmt(k)}:{fmt(left)}|{fmt(right)}"),
        "left": _always(lambda _k, left, _right: left),
        "right": _always(lambda _k, _left, right: right),
        "sum": _always(lambda _k, left, right: _sum(left, right)),
        "pair": _always(lambda _k, left, right: {"left": left, "right": right}),
        "null": _always(lambda _k, _left, _right: None),
        "null_if_right": _joiner_null_if_right,
    },
)

reducer = Registry(
    "reducer",
    {
        "sum": _always(_sum),
        "sub": _always(_sub),
        "min": _always(_min),
        "max": _always(_max),
        "first": _always(lambda a, _b: a),
        "last": _always(lambda _a, b: b),
        "concat": _always(_glue("")),
        "concat_comma": _always(_comma),
        "concat_plus": _always(_glue("+")),
        "concat_minus": _always(_glue("-")),
        "null": _always(lambda _a, _b: None),
        "null_if": lambda x: lambda a, b: None if fmt(b) == x else _comma(a, b),
    },
)

initializer = Registry(
    "initializer",
    {
        "zero": _always(lambda: 0),
        "zero_double": _always(lambda: 0.0),
        "empty": _always(lambda: ""),
        "empty_object": _always(dict),
        "empty_array": _always(list),
        "const": lambda x: lambda: x,
        "const_long": lambda n: lambda: int(n),
        "null": _always(lambda: None),
    },
)


def _into_aggregate(a: Any, v: Any) -> Any:
    # A long aggregate takes longs only, as a cast to Long would fail in Java.
    if isinstance(a, int) and isinstance(v, float):
        raise TypeError(f"double {v!r} cannot be added to a long aggregate")
    return v


def _bump(counts: dict[str, int], member: str, step: int) -> dict[str, int]:
    changed = {**counts, member: counts.get(member, 0) + step}
    if changed[member] == 0:
        del changed[member]
    return changed


def _add_comma(a: Any, v: Any) -> str:
    return fmt(v) if a == "" else _comma(a, v)


#: Aggregators take ``(key, value, aggregate)`` and never change the aggregate in place.
aggregator = Registry(
    "aggregator",
    {
        "sum": _always(lambda _k, v, a: _sum(a, _into_aggregate(a, v))),
        "sub": _always(lambda _k, v, a: _sub(a, _into_aggregate(a, v))),
        "count": _always(lambda _k, _v, a: _sum(a, 1)),
        "uncount": _always(lambda _k, _v, a: _sub(a, 1)),
        "sum_len": _always(lambda _k, v, a: _sum(a, 0 if v is None else units(text(v)))),
        "concat": _always(lambda _k, v, a: fmt(a) + fmt(v)),
        "concat_comma": _always(lambda _k, v, a: _add_comma(a, v)),
        "concat_plus": _always(lambda _k, v, a: fmt(a) + "+" + fmt(v)),
        "concat_minus": _always(lambda _k, v, a: fmt(a) + "-" + fmt(v)),
        "tagged": lambda x: lambda _k, v, a: fmt(a) + x + fmt(v),
        "key_concat": _always(lambda k, v, a: f"{fmt(a)}{fmt(k)}:{fmt(v)};"),
        "collect": _always(lambda _k, v, a: [*a, v]),
        "count_map": _always(lambda _k, v, a: _bump(a, fmt(v), 1)),
        "uncount_map": _always(lambda _k, v, a: _bump(a, fmt(v), -1)),
        "max": _always(lambda _k, v, a: _max(a, v)),
        "min": _always(lambda _k, v, a: _min(a, v)),
        "last": _always(lambda _k, v, _a: v),
        "null_if": lambda x: lambda _k, v, a: None if fmt(v) == x else _comma(a, v),
    },
)


def _merge_counts(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    merged = a
    for member, count in b.items():
        merged = _bump(merged, member, count)
    return merged


#: Mergers take ``(key, first session's aggregate, second session's aggregate)``.
merger = Registry(
    "merger",
    {
        "sum": _always(lambda _k, a, b: _sum(a, b)),
        "max": _always(lambda _k, a, b: _max(a, b)),
        "min": _always(lambda _k, a, b: _min(a, b)),
        "concat": _always(lambda _k, a, b: fmt(a) + fmt(b)),
        "concat_comma": _always(lambda _k, a, b: ",".join(fmt(x) for x in (a, b) if x != "")),
        "concat_plus": _always(lambda _k, a, b: fmt(a) + "&" + fmt(b)),
        "collect": _always(lambda _k, a, b: [*a, *b]),
        "count_map": _always(lambda _k, a, b: _merge_counts(a, b)),
    },
)
