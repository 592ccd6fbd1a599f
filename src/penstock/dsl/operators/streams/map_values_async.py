"""Replaces the value by an answer. As data: ``topology.nodes.streams.map_values_async``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.result_types import serde_of_result
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.model.time.duration import Duration, to_ms
from penstock.topology.nodes import MapValuesAsync


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """How calls are made, as the user has given it."""

    concurrency: int
    timeout: Duration
    retries: int
    backoff: Duration


def map_stream_values_async(
    stream: Stream, fn: Callable[..., Any], options: CallOptions, name: str | None
) -> Stream:
    """Add the operator. Afterwards the value serde is not known; keys and partitions stay."""
    shapes = ("value",), ("key", "value")
    with_key = number_of_arguments("map_values_async", "function", fn, *shapes) == 2
    name = stream.graph.names.given_or_new(name, "KSTREAM-MAPVALUES-ASYNC-")
    make = partial(
        MapValuesAsync,
        fn=fn,
        with_key=with_key,
        concurrency=_at_least(1, options.concurrency, "concurrency"),
        timeout_ms=_at_least(1, to_ms(options.timeout, "timeout"), "timeout"),
        retries=_at_least(0, options.retries, "retries"),
        backoff_ms=_at_least(0, to_ms(options.backoff, "backoff"), "backoff"),
    )
    return stream.then(Operator(name, make, changes_value=True), value_serde=serde_of_result(fn))


def _at_least(least: int, given: int, what: str) -> int:
    if given < least:
        raise InvalidArgumentError(
            "bad-call-option",
            f"map_values_async: {what} is {given}",
            fix=f"give {least} or more",
            at=caller_site(),
        )
    return given
