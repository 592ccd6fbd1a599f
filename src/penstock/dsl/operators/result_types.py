"""Infers serdes from what functions of users say about their results.

An annotation says it, or a class that is called as a function: ``map_values(Order)``. It counts
only where no serde is named and no default serde is set. Text needs none: it is the default.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Generator as GeneratorType
from functools import partial
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from penstock.errors import InvalidArgumentError
from penstock.serde.base import Serde
from penstock.serde.inferred import inferred
from penstock.serde.serdes import resolve_serde

_SERIES = (Iterable, Iterator, GeneratorType, list, tuple, set, frozenset)
_UNSAID = (str, object, type(None), Any)

Pair = tuple[Serde[Any] | None, Serde[Any] | None]


def serde_of_result(fn: Callable[..., Any]) -> Serde[Any] | None:
    """Return the serde of what the function returns; None if that is not said."""
    return _serde_of(_result(fn))


def serdes_of_pair(fn: Callable[..., Any]) -> Pair:
    """Return the serdes of key and value of a function that returns both."""
    return _pair(_result(fn))


def serde_of_elements(fn: Callable[..., Any]) -> Serde[Any] | None:
    """Return the serde of the values that the function returns or yields."""
    return _serde_of(_element(_result(fn)))


def serdes_of_pairs(fn: Callable[..., Any]) -> Pair:
    """Return the serdes of the pairs of key and value that the function returns or yields."""
    return _pair(_element(_result(fn)))


def serde_of_aggregate(
    initializer: Callable[[], Any], aggregator: Callable[..., Any]
) -> Serde[Any] | None:
    """Return the serde of an aggregate, by annotation or by what the initializer returns.

    The initializer is called once. It returns an empty aggregate and does nothing else.
    """
    said = serde_of_result(aggregator) or serde_of_result(initializer)
    if said is not None or not isinstance(_function(initializer), types.FunctionType):
        return said
    if _is_ours(initializer):
        return None
    try:
        start = initializer()
    except Exception:  # noqa: BLE001
        # It fails again with the first record, where the processing exception handler is asked.
        return None
    return _serde_of(type(start))


def _result(fn: Any) -> Any:
    """Return the type that a call returns; None if it is not known."""
    if isinstance(fn, type):
        return None if _is_ours(fn) else fn
    function = _function(fn)
    if not isinstance(function, types.FunctionType) or _is_ours(function):
        return None
    try:
        return get_type_hints(function).get("return")
    except Exception:  # noqa: BLE001
        # A name that only type checkers know. An annotation is a hint and never an error.
        return None


def _function(fn: Any) -> Any:
    while isinstance(fn, partial):
        fn = fn.func
    return getattr(fn, "__func__", fn)


def _is_ours(fn: Any) -> bool:
    return str(getattr(fn, "__module__", "")).split(".")[0] == "penstock"


def _serde_of(declared: Any) -> Serde[Any] | None:
    declared = _present(declared)
    if declared in _UNSAID or isinstance(declared, TypeVar) or _is_ours(declared):
        return None
    if get_origin(declared) in (Union, types.UnionType):
        return None
    try:
        return inferred(resolve_serde(declared))
    except InvalidArgumentError:
        return None


def _present(declared: Any) -> Any:
    """Return the type without None, which stands for no value."""
    if get_origin(declared) not in (Union, types.UnionType):
        return declared
    arms = [arm for arm in get_args(declared) if arm is not type(None)]
    return arms[0] if len(arms) == 1 else declared


def _pair(declared: Any) -> Pair:
    parts = get_args(declared)
    if get_origin(declared) is not tuple or len(parts) != 2 or Ellipsis in parts:
        return None, None
    return _serde_of(parts[0]), _serde_of(parts[1])


def _element(declared: Any) -> Any:
    declared = _present(declared)
    parts, origin = get_args(declared), get_origin(declared)
    if origin is tuple and (len(parts) != 2 or parts[1] is not Ellipsis):
        return None
    return parts[0] if parts and origin in _SERIES else None
