"""Keeps some records of a stream. As data: ``penstock.topology.nodes.streams.filter``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.returns import check_function
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.topology.nodes import Filter


def filter_stream(
    stream: Stream, predicate: Callable[[Any, Any], bool], name: str | None, *, negate: bool
) -> Stream:
    operator = "filter_not" if negate else "filter"
    check_function(operator, "predicate", predicate, "key", "value")
    check_fields(operator, predicate, stream.key_serde, stream.value_serde)
    name = stream.graph.names.given_or_new(name, "KSTREAM-FILTER-")
    return stream.then(Operator(name, partial(Filter, predicate=predicate, negate=negate)))
