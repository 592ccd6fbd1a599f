"""Turns a record into any number of records. As data: ``penstock.topology.nodes.flat_map``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import NullArgumentError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.map import checked_pair
from penstock.model.record import Headers
from penstock.topology.nodes.flat_map import FlatMap


@executes(FlatMap)
class FlatMapExecutor(Executor[FlatMap]):
    """Forwards each pair before it asks for the next one; all carry the record's timestamp."""

    def init(self) -> None:
        fn, forward = self.node.fn, self.forward

        def process(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
            for pair in not_none(fn(key, value), "flat_map"):
                if pair.__class__ is not tuple:
                    pair = checked_pair(pair, "flat_map")
                new_key, new_value = pair
                forward(new_key, new_value, timestamp, headers)

        self.process = process  # type: ignore[method-assign]


def not_none(results: Iterable[Any] | None, operator: str) -> Iterable[Any]:
    """Refuses None: in Kafka Streams too, no results are an empty iterable."""
    if results is None:
        raise NullArgumentError(
            "null-result",
            f"the function of {operator} returned None",
            fix="return an iterable; an empty one for no records",
        )
    return results
