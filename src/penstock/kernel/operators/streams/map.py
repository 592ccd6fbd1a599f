"""Replaces keys and values of records. Node: ``topology.nodes.streams.map``."""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.kernel.executor import Executor, executes
from penstock.model.record import Headers
from penstock.topology.nodes.streams.map import Map


@executes(Map)
class MapExecutor(Executor[Map]):
    """Forwards exactly one record per record."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            pair = fn(key, value)
            if pair.__class__ is not tuple:
                pair = checked_pair(pair, "map")
            new_key, new_value = pair
            forward(new_key, new_value, timestamp, headers)

        self.process = process  # type: ignore[method-assign]


def checked_pair(
    pair: Any, operator: str, fix: str = "return a (key, value) pair"
) -> tuple[Any, Any]:
    """Return a pair if the result is a sequence of two; raise for a text of two characters."""
    if pair is None:
        raise NullArgumentError(
            "null-result",
            f"the function of {operator} returned None",
            fix="return a (key, value) pair for every record; filter records out before",
        )
    if not isinstance(pair, (tuple, list)):
        raise InvalidArgumentError(
            "not-a-pair",
            f"the function of {operator} returned {pair!r} of type {type(pair).__name__}"
            " where a (key, value) pair is wanted",
            fix=fix,
        )
    return tuple(pair)
