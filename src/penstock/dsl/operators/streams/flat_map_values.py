"""Turns a value into any number of values. Node: ``nodes.streams.flat_map_values``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from penstock.dsl.operators.arity import number_of_arguments
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.result_types import serde_of_elements
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.processor.batch_function import batch_lists
from penstock.topology.nodes import FlatMapValues


def flat_map_stream_values(
    stream: Stream, fn: Callable[..., Iterable[Any]], name: str | None, *, batch: bool = False
) -> Stream:
    """Add the operator. Only an annotation says the serde of values; keys and partitions stay."""
    shapes = ("value",), ("key", "value")
    count = number_of_arguments("flat_map_values", "mapper", fn, *shapes)
    with_key = count == 2
    check_fields("flat_map_values", fn, stream.key_serde, stream.value_serde)
    element = None if batch else serde_of_elements(fn)
    if batch:
        fn = batch_lists("flat_map_values", fn, count)
    name = stream.graph.names.given_or_new(name, "KSTREAM-FLATMAPVALUES-")
    node = Operator(name, partial(FlatMapValues, fn=fn, with_key=with_key), changes_value=True)
    return stream.then(node, value_serde=element)
