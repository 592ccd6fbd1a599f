"""The keywords of joins as types, for the overloads that type checkers see.

A joiner takes two values, or the key and two values. Each form needs an overload of its own, or
the parameters of a lambda would be of no type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypedDict

from penstock.dsl.generics import K, KOther, SerdeLike, V, VOther, VOut
from penstock.dsl.options.join_options import Joined, StreamJoined, TableJoined
from penstock.dsl.options.naming import Named
from penstock.dsl.plan.materialize import StoreOptions


class _StreamKeywords(TypedDict, Generic[K, V, VOther], total=False):
    """The keywords of every join of a stream."""

    stream_joined: StreamJoined[K, V, VOther] | str | None
    name: str | Named | None
    value: SerdeLike[V] | None
    other_value: SerdeLike[VOther] | None


class StreamsJoinKeywords(_StreamKeywords[K, V, VOther], Generic[K, V, VOther], total=False):
    """The keywords of a join of two streams."""

    key: SerdeLike[K] | None


class StreamJoinKeywords(_StreamKeywords[K, V, VOther], Generic[K, V, KOther, VOther], total=False):
    """The keywords of a join of a stream with a stream, a table or a global table."""

    key: SerdeLike[K] | Callable[[K, V], KOther] | None
    joined: Joined[K, V, VOther] | str | None


class TableResultKeywords(TypedDict, Generic[VOut], total=False):
    """The keywords of every join of two tables."""

    materialized: StoreOptions | None
    name: str | Named | None
    value: SerdeLike[VOut] | None


class TableJoinKeywords(TableResultKeywords[VOut], Generic[K, V, KOther, VOut], total=False):
    """The keywords of a join of two tables that may be on a foreign key."""

    foreign_key: Callable[[V], KOther | None] | Callable[[K, V], KOther | None] | None
    table_joined: TableJoined[K, KOther] | str | None
