"""Operators that Kafka Streams no longer has: ``penstock.java`` has them, for ported programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.dsl.generics import K, SerdeLike, V
from penstock.dsl.operators.topics.sink import write_and_read_stream
from penstock.dsl.options.naming import Named, name_of
from penstock.dsl.options.stream_options import Produced, options_of

if TYPE_CHECKING:
    from penstock.dsl.faces.kstream import KStream


def branch(
    stream: KStream[K, V],
    *predicates: Callable[[K, V], bool],
    name: str | Named | None = None,
) -> list[KStream[K, V]]:
    """Return one stream per predicate. New programs call ``split``, which has a default branch."""
    split = stream.split(name)
    for predicate in predicates:
        split.branch(predicate)
    return list(split.no_default_branch().values())


def through(
    stream: KStream[K, V],
    topic: str,
    produced: Produced[K, V] | None = None,
    *,
    key: SerdeLike[K] | None = None,
    value: SerdeLike[V] | None = None,
    name: str | Named | None = None,
) -> KStream[K, V]:
    """Write to a topic of the user, and read it again.

    New programs call ``repartition``, which manages its topic itself, or ``to`` and ``stream``.
    """
    options = options_of(Produced, produced, key=key, value=value, name=name_of(name))
    return type(stream)(write_and_read_stream(stream._stream, topic, options))


#: By name: the operator, and what a new program calls.
OLDER_OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "branch": (branch, "split()"),
    "through": (through, "repartition(), or to() and stream()"),
}


def older_operator(stream: KStream[Any, Any], name: str) -> Callable[..., Any]:
    """Return the operator as a method of the stream, with a warning."""
    operator, present = OLDER_OPERATORS[name]
    warnings.warn(
        f"KStream.{name} is in penstock.java: write {name}(stream, …), or call {present}",
        DeprecationWarning,
        stacklevel=3,
    )
    return partial(operator, stream)
