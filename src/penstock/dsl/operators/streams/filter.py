"""Keeps some records of a stream. As data: ``penstock.topology.nodes.streams.filter``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.returns import check_function
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.processor.batch_function import batch_mapper
from penstock.topology.nodes import Filter


def filter_stream(
    stream: Stream,
    predicate: Callable[..., Any],
    name: str | None,
    *,
    negate: bool,
    batch: bool = False,
) -> Stream:
    operator = "filter_not" if negate else "filter"
    if batch:
        count = number_of_arguments(operator, "predicate", predicate, ("value",), ("key", "value"))
        predicate = batch_mapper(operator, predicate, count, skips_key=count == 1)
    check_function(operator, "predicate", predicate, "key", "value")
    check_fields(operator, predicate, stream.key_serde, stream.value_serde)
    name = stream.graph.names.given_or_new(name, "KSTREAM-FILTER-")
    return stream.then(Operator(name, partial(Filter, predicate=predicate, negate=negate)))
