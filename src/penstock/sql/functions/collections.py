"""Arrays and maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.model.sql.errors import FunctionError
from penstock.model.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    SqlType,
    StructType,
)
from penstock.sql.casting import texter
from penstock.sql.functions.declare import scalar
from penstock.sql.values import distinct, key_of
from penstock.topology.java_order import string_hash


def ordered_keys(mapping: dict[Any, Any]) -> list[Any]:
    """Return the keys in the order of a Java ``HashMap``, which users can see in results."""
    if not all(isinstance(key, str) for key in mapping):
        return list(mapping)
    capacity = 1
    # Java's deserializer sizes the map by its number of entries. It grows when it is three quarters
    # full.
    while capacity < len(mapping) or len(mapping) > capacity * 0.75:
        capacity *= 2

    def bucket(key: str) -> int:
        value = string_hash(key)
        return (value ^ value >> 16) & capacity - 1

    return sorted(mapping, key=bucket)


_TWO_ARRAYS = "ARRAY<A>, ARRAY<A> -> ARRAY<A>"


@scalar("ARRAY_LENGTH", "ARRAY<A> -> INTEGER")
def array_length(array: list[Any]) -> int:
    """Count the elements of an array."""
    return len(array)


@scalar("ARRAY_CONTAINS", "ARRAY<A>, A -> BOOLEAN", takes_null=True)
def array_contains(array: list[Any] | None, wanted: Any) -> bool | None:
    """Return whether an array has an element."""
    return False if array is None else wanted in array


@scalar("ARRAY_DISTINCT", "ARRAY<A> -> ARRAY<A>")
def array_distinct(array: list[Any]) -> list[Any]:
    """Return every element once, in the order of first appearance."""
    return distinct(array)


@scalar("ARRAY_EXCEPT", _TWO_ARRAYS)
def array_except(left: list[Any], right: list[Any]) -> list[Any]:
    """Return the distinct elements of the first array that are not in the second."""
    without = {key_of(value) for value in right}
    return [value for value in distinct(left) if key_of(value) not in without]


@scalar("ARRAY_INTERSECT", _TWO_ARRAYS)
def array_intersect(left: list[Any], right: list[Any]) -> list[Any]:
    """Return the distinct elements that both arrays have, in the order of the first."""
    shared = {key_of(value) for value in right}
    return [value for value in distinct(left) if key_of(value) in shared]


@scalar("ARRAY_UNION", _TWO_ARRAYS)
def array_union(left: list[Any], right: list[Any]) -> list[Any]:
    """Return the distinct elements of both arrays."""
    return distinct([*left, *right])


@scalar("ARRAY_CONCAT", _TWO_ARRAYS, takes_null=True)
def array_concat(left: list[Any] | None, right: list[Any] | None) -> list[Any] | None:
    """Return all elements of both arrays; NULL counts as empty unless both are NULL."""
    return None if left is None and right is None else [*(left or ()), *(right or ())]


@scalar("ARRAY_REMOVE", "ARRAY<A>, A -> ARRAY<A>", takes_null=True)
def array_remove(array: list[Any] | None, unwanted: Any) -> list[Any] | None:
    """Return an array without the elements that equal a value."""
    return None if array is None else [value for value in array if value != unwanted]


@scalar("ARRAY_MAX", "ARRAY<A> -> A")
def array_max(array: list[Any]) -> Any:
    """Return the largest element that is not NULL."""
    return max((value for value in array if value is not None), default=None)


@scalar("ARRAY_MIN", "ARRAY<A> -> A")
def array_min(array: list[Any]) -> Any:
    """Return the smallest element that is not NULL."""
    return min((value for value in array if value is not None), default=None)


@scalar("ARRAY_SORT", "ARRAY<A> -> ARRAY<A>")
def array_sort(array: list[Any]) -> list[Any]:
    """Sort an array, NULLs last; 'DESC' reverses the order of the other elements."""
    return array_sort_by(array, "ASC") or []


@scalar("ARRAY_SORT", "ARRAY<A>, STRING -> ARRAY<A>", takes_null=True)
def array_sort_by(array: list[Any] | None, direction: str | None) -> list[Any] | None:
    words = {"ASC": False, "ASCENDING": False, "DESC": True, "DESCENDING": True}
    if array is None or direction is None or direction.upper() not in words:
        return None
    present = sorted((v for v in array if v is not None), reverse=words[direction.upper()])
    return present + [None] * (len(array) - len(present))


def _joinable(types: Sequence[Any]) -> Any:
    """Join the elements of an array into a text, with a comma or another delimiter."""
    element = types[0].element if isinstance(types[0], ArrayType) else None
    is_plain = isinstance(element, DecimalType) or element in _JOINED
    write = (texter(element) if element and is_plain else None) or _not_joined

    def join(array: list[Any] | None, delimiter: str | None = ",") -> str | None:
        if array is None:
            return None
        shown = ("null" if value is None else write(value) for value in array)
        return ("" if delimiter is None else delimiter).join(shown)

    return join


def _not_joined(value: Any) -> str:
    raise FunctionError("bad-argument", f"ARRAY_JOIN does not write {value!r}")


_JOINED = frozenset((BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING))
scalar(
    "ARRAY_JOIN",
    "ARRAY<A> -> STRING",
    "ARRAY<A>, STRING -> STRING",
    takes_null=True,
    is_typed=True,
)(_joinable)


@scalar("SLICE", "ARRAY<A>, INTEGER, INTEGER -> ARRAY<A>", takes_null=True)
def slice_(array: list[Any] | None, first: int | None, last: int | None) -> list[Any] | None:
    """Return the elements from one position to another, both included and counted from 1."""
    if array is None:
        return None
    start = 0 if first is None else first - 1
    end = len(array) if last is None else last
    return array[start:end] if 0 <= start <= end <= len(array) else None


@scalar("AS_MAP", "ARRAY<STRING>, ARRAY<A> -> MAP<STRING, A>")
def as_map(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    """Make a map of an array of keys and one of values; a key without a value has NULL."""
    missing = [None] * (len(keys) - len(values))
    return dict(zip(keys, [*values, *missing], strict=False))


@scalar("MAP_KEYS", "MAP<STRING, A> -> ARRAY<STRING>")
def map_keys(mapping: dict[Any, Any]) -> list[Any]:
    """Return the keys of a map."""
    return ordered_keys(mapping)


@scalar("MAP_VALUES", "MAP<STRING, A> -> ARRAY<A>")
def map_values(mapping: dict[Any, Any]) -> list[Any]:
    """Return the values of a map."""
    return [mapping[key] for key in ordered_keys(mapping)]


@scalar("MAP_UNION", "MAP<STRING, A>, MAP<STRING, A> -> MAP<STRING, A>", takes_null=True)
def map_union(left: dict[Any, Any] | None, right: dict[Any, Any] | None) -> dict[Any, Any] | None:
    """Return the entries of both maps; if both have a key, the second wins."""
    return None if left is None and right is None else {**(left or {}), **(right or {})}


def _entry_type(types: Sequence[Any]) -> SqlType:
    value = types[0].value if isinstance(types[0], MapType) else types[0]
    return ArrayType(StructType((Field("K", types[0].key), Field("V", value))))


@scalar("ENTRIES", "MAP<STRING, A>, BOOLEAN -> ARRAY<A>", returns=_entry_type)
def entries(mapping: dict[Any, Any], is_sorted: bool) -> list[dict[str, Any]]:
    """Return the entries of a map as structs with fields K and V, sorted by key on request."""
    keys = sorted(mapping) if is_sorted else ordered_keys(mapping)
    return [{"K": key, "V": mapping[key]} for key in keys]


@scalar("TRANSFORM", "ARRAY<A>, (A) => B -> ARRAY<B>")
def transform(array: list[Any], change: Any) -> list[Any]:
    """Apply a lambda to every element, or two to every key and value."""
    return [change(value) for value in array]


@scalar("TRANSFORM", "MAP<A, B>, (A, B) => C, (A, B) => D -> MAP<C, D>")
def transform_map(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    changed: dict[Any, Any] = {}
    for k, v in mapping.items():
        new = key(k, v)
        if new in changed:
            raise FunctionError("duplicate-key", f"the lambda returns the key {new!r} twice")
        changed[new] = value(k, v)
    return changed


@scalar("FILTER", "ARRAY<A>, (A) => BOOLEAN -> ARRAY<A>")
def filter_(array: list[Any], keep: Any) -> list[Any]:
    """Keep the elements or entries for which a lambda is true."""
    return [value for value in array if keep(value) is True]


@scalar("FILTER", "MAP<A, B>, (A, B) => BOOLEAN -> MAP<A, B>")
def filter_map(mapping: dict[Any, Any], keep: Any) -> dict[Any, Any]:
    return {k: v for k, v in mapping.items() if keep(k, v) is True}


@scalar("REDUCE", "ARRAY<A>, B, (B, A) => B -> B", takes_null=True)
def reduce_(array: list[Any] | None, start: Any, step: Any) -> Any:
    """Fold all elements or entries into one value, beginning with a start value."""
    if start is None or array is None:
        return start
    for value in array:
        start = step(start, value)
    return start


@scalar("REDUCE", "MAP<A, B>, C, (C, A, B) => C -> C", takes_null=True)
def reduce_map(mapping: dict[Any, Any] | None, start: Any, step: Any) -> Any:
    if start is None or mapping is None:
        return start
    for key in ordered_keys(mapping):
        start = step(start, key, mapping[key])
    return start
