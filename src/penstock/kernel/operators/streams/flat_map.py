"""Turns a record into any number of records. Node: ``topology.nodes.streams.flat_map``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.operators.streams.map import checked_pair
from penstock.model.record import Headers
from penstock.topology.nodes.streams.flat_map import FlatMap

_PAIRS = "return an iterable of (key, value) pairs: [(key, value)] for a single one"


@executes(FlatMap)
class FlatMapExecutor(Executor[FlatMap]):
    """Forwards each pair before it asks for the next one; all have the record's timestamp."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            for pair in iterable(fn(key, value), "flat_map"):
                if pair.__class__ is not tuple:
                    pair = checked_pair(pair, "flat_map", _PAIRS)
                new_key, new_value = pair
                forward(new_key, new_value, timestamp, headers)

        self.process = process  # type: ignore[method-assign]


def iterable(results: Iterable[Any] | None, operator: str) -> Iterable[Any]:
    """Return results that can be iterated; raise for ``None``, as Kafka Streams does."""
    if results is None:
        raise NullArgumentError(
            "null-result",
            f"the function of {operator} returned None",
            fix="return an iterable; an empty one for no records",
        )
    if not hasattr(results, "__iter__"):
        raise InvalidArgumentError(
            "not-iterable",
            f"the function of {operator} returned {results!r}, which is not iterable",
            fix="return a list, or yield results one by one",
        )
    return results
